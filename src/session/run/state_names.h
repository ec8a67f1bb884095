#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "ir/program.h"
#include "trireme/state.h"

namespace trireme {

// The parameters of the network, without the state of optimizers: parameters that are not trained,
// and that only ops of updates read.
std::vector<const ir::Parameter*> network_parameters(const ir::Program& program);

// The names of parameters and modules in a StateDict.
class StateNames {
 public:
  // Errors: usage, as load_state_dict().
  StateNames(const ir::Program& program, const LoadOptions& options);

  // The tensors that the parameter is made of, with their full names in the StateDict. Without
  // terms: `name` is the whole parameter.
  struct Source {
    std::string name;
    ir::TorchSource torch;
  };
  Source source_of(const ir::Parameter& parameter) const;
  // Tensors of the StateDict that no parameter needs.
  std::vector<std::string> ignored() const;

 private:
  // What names of tensors of a layer begin with: "encoder.layers.0."
  std::string prefix_of(std::string_view layer, char separator) const;

  const ir::Program& program_;
  const LoadOptions& options_;
  std::map<std::string, std::string, std::less<>> module_of_;  // by the path of the layer
};

}  // namespace trireme
