#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "trireme/export.h"
#include "trireme/program.h"
#include "trireme/session.h"
#include "trireme/tensor.h"
#include "trireme/text.h"

namespace trireme {

// How a picture becomes one example of an input f32[batch, channels, height, width] in [0, 1].
struct ImagePreprocessing {
  int channels = 1;
  std::int64_t height = 0;
  std::int64_t width = 0;
  bool invert = false;  // 1 - x: for dark ink on white paper where the model saw light on dark
};
// image: u8[h, w, 1 or 3]. Gives f32[channels, height, width].
TRIREME_API Tensor preprocess(const Tensor& image, const ImagePreprocessing& preprocessing);

struct SaveOptions {
  std::vector<Value> inputs = {};              // empty: whatever the outputs need
  std::vector<Value> outputs = {};             // at least one
  std::vector<std::string> output_names = {};  // empty: "output", or "output_0", "output_1" ...
  std::vector<std::string> labels = {};        // of the classes that the first output scores
  std::map<std::string, ImagePreprocessing> preprocessing = {};  // by input
  // How texts become ids, by input, and ids texts, by output; the vocabulary is saved beside the model.
  std::map<std::string, text::Encoder> text = {};
  std::string target =
      {};  // the data column that the first output predicts; lets `trireme eval` work
  // What `trireme eval` measures, in JSON, as [train] of a job says it (docs/reference/job.md):
  // {"loss": "mse", "metrics": ["rmse"]}. Empty: accuracy or mse.
  std::string measured = {};
  // How a corpus becomes examples, in JSON, as [data] text of a job says it: {"tokens": "bytes", "next": true}.
  // Empty: texts with labels.
  std::string samples = {};
};

// Writes a folder: program.txt (what the outputs need and nothing of training), weights.safetensors
// and model.json. All or nothing: made under another name beside `directory`, then renamed. A saved
// model that stands there is replaced; a folder of anything else is refused.
// Errors: usage, if an output needs an input that is not listed, or `measured` or `samples` is not JSON; io.
TRIREME_API void save_model(const Program& program, Session& session, const std::string& directory,
                            const SaveOptions& options);

// A saved model, ready to predict. Not safe for several threads at once.
class TRIREME_API Model {
 public:
  Model(Model&&) noexcept;
  Model& operator=(Model&&) noexcept;
  ~Model();

  struct Port {
    std::string name;
    DType dtype;
    Shape shape;
  };
  const std::string& name() const;
  const std::vector<Port>& inputs() const;
  const std::vector<Port>& outputs() const;
  const std::vector<std::string>& labels() const;
  const std::string& target() const;
  const std::string& measured() const;  // as it was saved; empty if it was saved without
  const std::string& samples() const;   // the same
  const std::map<std::string, ImagePreprocessing>& preprocessing() const;
  const std::map<std::string, text::Encoder>& text() const;  // by input or output

  // The outputs in order. Errors: usage, as Session::run.
  std::vector<Tensor> predict(const Feeds& feeds);

  const Program& program() const;
  Session& session();

 private:
  friend TRIREME_API Model load_model(const std::string&, const SessionOptions&);
  struct State;
  explicit Model(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

// Errors: not_found; io; data, naming the file, where a part is damaged or does not fit the others.
TRIREME_API Model load_model(const std::string& directory, const SessionOptions& options = {});

// --- Models that write texts, such as translations: one input, of texts, and the outputs "target", ids of texts, its
// splits and a score of each. Jobs with the model `translator` save such ones.

TRIREME_API bool writes_texts(const Model& model);

struct WrittenText {
  std::string text;
  double score = 0;  // as nn::beam_search() has it: a logarithm, larger is better
};
// What the model writes for each text; `batch` of them are run together. Errors: usage, if it is no such model; data,
// as Encoder.
TRIREME_API std::vector<WrittenText> write_texts(Model& model,
                                                 const std::vector<std::string>& texts,
                                                 std::int64_t batch = 100);

}  // namespace trireme
