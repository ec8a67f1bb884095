#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "trireme/dtype.h"
#include "trireme/export.h"
#include "trireme/shape.h"
#include "trireme/tensor.h"

namespace trireme {

// The inputs of a run: input name to Tensor.
using Feeds = std::map<std::string, Tensor>;

// A model compiled by compile_model() or `trireme compile`. It needs no compiler, so the small
// library Trireme::inference is enough. trireme.h is the same for C.
//
// Not thread-safe. Models are independent of each other, so each thread may load its own. predict()
// itself uses `threads` threads.
struct CompiledModelOptions {
  int threads = 0;  // 0: $TRIREME_NUM_THREADS, else the processors this process may use
};

class TRIREME_API CompiledModel {
 public:
  // Errors: not_found; io; data, naming the file, if a part is missing, damaged or of a newer
  // format; usage, if the model was compiled for another kind of machine.
  static CompiledModel load(const std::string& directory, const CompiledModelOptions& options = {});
  CompiledModel(CompiledModel&&) noexcept;
  CompiledModel& operator=(CompiledModel&&) noexcept;
  ~CompiledModel();

  struct Port {
    std::string name;
    DType dtype;
    // Symbols such as `batch` take their sizes from the feeds. A symbol that only outputs have is
    // known after the run.
    Shape shape;
    // For an input with the boundaries of sequences ("text.splits" for the packed rows "text", see
    // ragged.h): the symbol that counts the rows. Otherwise empty.
    std::string splits_of = {};
  };
  const std::string& name() const;
  const std::string& target() const;  // "x86-64-v3"
  const std::vector<Port>& inputs() const;
  const std::vector<Port>& outputs() const;
  const std::vector<std::string>& labels() const;

  // Runs the model and returns the outputs in order. The caller owns the returned Tensors: a later
  // run does not change them.
  // Errors: usage, for a feed that is missing, unknown or of the wrong dtype or shape.
  std::vector<Tensor> predict(const Feeds& feeds);

 private:
  struct State;
  explicit CompiledModel(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace trireme
