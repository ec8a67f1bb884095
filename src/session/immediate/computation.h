#pragma once

// Parts of traces that are compiled, and run again with other inputs.

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "codegen/codegen.h"
#include "device/device.h"
#include "runtime/executor.h"
#include "session/immediate/structure.h"
#include "trireme/tensor.h"

namespace trireme::immediate {

// The device and the code generator of a thread, made when they are first used.
struct Engine {
  device::Device& device();
  codegen::Codegen& code();
  std::int64_t compiled = 0, runs = 0, kernels = 0;

 private:
  std::unique_ptr<device::Device> device_;
  std::unique_ptr<codegen::Codegen> code_;
};

// Not safe for use by several threads at once. The Engine outlives it.
class Computation {
 public:
  // `inputs`: names of arguments of the main block, in the order of run(). Does not keep the
  // Program.
  Computation(Engine& engine, const ir::Program& program,
              const std::vector<const ir::Value*>& fetches, std::vector<std::string> inputs);

  // Returns the fetches. The inputs have the dtypes and shapes of their arguments.
  std::vector<Tensor> run(const std::vector<Tensor>& inputs, std::uint64_t seed);

 private:
  Engine& engine_;
  std::vector<std::string> inputs_;
  std::vector<ir::Type> fetches_;
  std::unique_ptr<runtime::Executor> executor_;
  runtime::Bindings bindings_;
  std::int64_t kernels_ = 0;
};

// Compiled parts by structure. The numbers of constants are compiled in, until another recording of
// the same structure has other numbers: those that differ become inputs.
class Computations {
 public:
  explicit Computations(Engine& engine) : engine_(engine) {}

  // `tensors`: what the arguments of the main block hold, by their index.
  std::vector<Tensor> run(const ir::Program& program, const std::vector<const ir::Value*>& fetches,
                          const std::vector<Tensor>& tensors, std::uint64_t seed);

 private:
  struct Entry {
    std::vector<double> numbers;
    std::vector<bool> open;  // of each number: it is an input
    std::unique_ptr<Computation> computation;
    std::uint64_t used = 0;  // when last
  };

  void compile(Entry& entry, const ir::Program& program, const Structure& structure,
               const std::vector<const ir::Value*>& fetches);
  void forget_oldest();

  Engine& engine_;
  std::unordered_map<std::string, Entry> entries_;
  std::uint64_t uses_ = 0;
  std::string key_memory_;  // kept from run to run: keys have kilobytes
};

}  // namespace trireme::immediate
