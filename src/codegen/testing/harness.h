#pragma once

// Memory for kernels under test, and comparison of codegens with the interpreter.

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "codegen/codegen.h"
#include "kernel_ir/kernel.h"

namespace trireme::codegen::testing {

// Buffers with a guarded border before and after each.
class Memory {
 public:
  // elements[i] is the length of buffer i. Content depends only on the seed: small numbers; floats
  // also contain zeros of both signs, infinities, NaN and subnormals.
  Memory(const kernel_ir::Kernel& kernel, std::vector<std::int64_t> elements, std::uint64_t seed);

  void* data(std::size_t buffer);
  std::vector<void*> pointers();
  template <class T>
  T* as(std::size_t buffer) {
    return static_cast<T*>(data(buffer));
  }

  // Returns "" if all buffers but scratch are equal bit by bit (NaN equals NaN) and all borders are
  // unchanged.
  std::string difference(const Memory& other) const;

 private:
  std::vector<kernel_ir::Buffer> buffers_;
  std::vector<std::int64_t> elements_;
  std::vector<std::vector<std::uint8_t>> bytes_;
};

// The targets that this machine can run: the host, and where it has them AVX2 and SSE2.
std::vector<Target> runnable_targets();

// Compiles once for every runnable target, then runs on memory of several sizes.
class Comparison {
 public:
  explicit Comparison(kernel_ir::Kernel kernel);

  // Runs iterations [0, end) by the interpreter and by compiled code, as a whole and in pieces.
  // Returns the first difference, or "".
  std::string run(const std::vector<std::int64_t>& sizes, const std::vector<std::int64_t>& elements,
                  std::int64_t end, std::uint64_t seed,
                  const std::function<void(Memory&)>& prepare = {});

 private:
  kernel_ir::Kernel kernel_;
  std::shared_ptr<CompiledKernel> oracle_;
  std::vector<std::shared_ptr<CompiledKernel>> compiled_;
  std::vector<std::string> names_;
};

}  // namespace trireme::codegen::testing
