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

// How an image becomes one example of an input f32[batch, channels, height, width] in [0, 1].
struct ImagePreprocessing {
  int channels = 1;
  std::int64_t height = 0;
  std::int64_t width = 0;
  // 1 - x: for dark ink on white paper if the model was trained on light on dark
  bool invert = false;
};
// Takes u8[h, w, 1 or 3], returns f32[channels, height, width].
TRIREME_API Tensor preprocess(const Tensor& image, const ImagePreprocessing& preprocessing);

struct SaveOptions {
  std::vector<Value> inputs = {};              // empty: all inputs that the outputs need
  std::vector<Value> outputs = {};             // at least one
  std::vector<std::string> output_names = {};  // empty: "output", or "output_0", "output_1" ...
  std::vector<std::string> labels = {};        // names of the classes that the first output scores
  std::map<std::string, ImagePreprocessing> preprocessing = {};  // by input name
  // How texts become ids, by input name, and how ids become texts, by output name. The vocabulary
  // is saved with the model.
  std::map<std::string, text::Encoder> text = {};
  // The data column that the first output predicts; `trireme eval` needs it.
  std::string target = {};
  // The metrics of `trireme eval`, in JSON, like [train] of a job (docs/reference/job.md):
  // {"loss": "mse", "metrics": ["rmse"]}. Empty: accuracy or mse.
  std::string measured = {};
  // How a corpus becomes examples, in JSON, like [data] text of a job: {"tokens": "bytes"}. Empty:
  // texts with labels.
  std::string samples = {};
  // How a CSV file becomes the inputs, in JSON: columns, words, means and deviations. Jobs with a
  // CSV file set it. Empty: as data::csv() without options.
  std::string table = {};
};

// Writes a folder: program.txt (the ops that the outputs need, without training),
// weights.safetensors and model.json. Atomic: written under another name next to `directory`, then
// renamed. An existing saved model is replaced; a folder with other contents is refused.
// Errors: usage, if an output needs an input that is not listed, or `measured` or `samples` is not
// JSON; io.
TRIREME_API void save_model(const Program& program, Session& session, const std::string& directory,
                            const SaveOptions& options);

// A saved model, ready to predict. Not thread-safe.
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
  const std::string& measured() const;  // as given when saving; may be empty
  const std::string& samples() const;   // as given when saving; may be empty
  const std::string& table() const;     // as given when saving; may be empty
  const std::map<std::string, ImagePreprocessing>& preprocessing() const;
  const std::map<std::string, text::Encoder>& text() const;  // by input or output name

  // Returns the outputs in order.
  // Errors: usage, as Session::run.
  std::vector<Tensor> predict(const Feeds& feeds);

  const Program& program() const;
  Session& session();

  // Returns a Model with the labels, texts and everything else of this one, and with a Program that
  // has the same inputs and outputs. Parameters have their initial values; the caller sets them.
  // Errors: usage, if inputs or outputs differ.
  Model with(Program program) const;

 private:
  friend TRIREME_API Model load_model(const std::string&, const SessionOptions&);
  struct State;
  explicit Model(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

// Errors: not_found; io; data, naming the file, if a part is damaged or does not match the others.
TRIREME_API Model load_model(const std::string& directory, const SessionOptions& options = {});

// Saves a Model again, perhaps after changes, in the same format. Errors: io.
TRIREME_API void save_model(Model& model, const std::string& directory);

// --- Models that write texts --------------------------------------------------------------------
// Models such as translators: one text input, and the outputs "target" (ids of texts), its splits
// and a score for each text. Jobs with the model `translator` save such models.

TRIREME_API bool writes_texts(const Model& model);

struct WrittenText {
  std::string text;
  double score = 0;  // as in nn::beam_search(): a log probability, larger is better
};
// Returns the text that the model writes for each input text; runs `batch` texts at a time.
// Errors: usage, if the model does not write texts; data, as Encoder.
TRIREME_API std::vector<WrittenText> write_texts(Model& model,
                                                 const std::vector<std::string>& texts,
                                                 std::int64_t batch = 100);

}  // namespace trireme
