#pragma once

// Turns kernel IR into something that runs. Two implementations: llvm/ and interpreter/ (the
// oracle).

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "kernel_ir/kernel.h"

namespace trireme::codegen {

using KernelFunction = void (*)(void* const* buffers, const std::int64_t* sizes, std::int64_t begin,
                                std::int64_t end);

// A kernel that can be called; safe to call from several threads at once.
class CompiledKernel {
 public:
  virtual ~CompiledKernel() = default;
  virtual void run(void* const* buffers, const std::int64_t* sizes, std::int64_t begin,
                   std::int64_t end) const = 0;
  // Of a kernel that an ObjectCodegen has made: its function in the object file; else empty.
  virtual std::string symbol() const { return {}; }
};

// The machine that code is generated for. Its vector width determines the lanes of a kernel, so the
// compiler reads it before it builds kernels.
struct Target {
  std::string triple;
  std::string cpu;
  std::string features;
  int vector_bytes = 32;
  // The sums of products that the machine has instructions for: of pairs of i16, or also of four
  // unsigned or signed bytes by signed ones.
  enum class Products : std::uint8_t { pairs, unsigned_bytes, signed_bytes };
  Products products = Products::pairs;
  int vector_registers() const;
  int lanes(DType type) const;  // vector_bytes / size_of(type), at least 1, at most 64 bytes
  std::string str() const;
};
Target host_target();
// Returns a kind of machine by name, such as "x86-64-v3" or "aarch64". Error(usage) with the list.
Target named_target(const std::string& name);

struct CodegenStatistics {
  int compiled = 0;  // kernels turned into code by this process
  int cached = 0;    // kernels found in the disk cache
  double compile_ms = 0;
};

class Codegen {
 public:
  virtual ~Codegen() = default;
  // All kernels of one program at once, so that the work can be shared and cached.
  virtual std::vector<std::shared_ptr<CompiledKernel>> compile(
      const std::vector<const kernel_ir::Kernel*>& kernels) = 0;
  virtual const Target& target() const = 0;
  virtual CodegenStatistics statistics() const = 0;
};

struct LlvmOptions {
  Target target = host_target();
  std::string cache_directory;  // empty: no disk cache
  int threads = 1;              // for compiling several kernels at once
};
std::unique_ptr<Codegen> make_llvm_codegen(LlvmOptions options);

// Keeps the code that it generates instead of loading it, because it may be for another machine.
// The kernels that it returns cannot run. Equal kernels have the same symbol.
class ObjectCodegen : public Codegen {
 public:
  // Relocatable object files by the symbol that each defines.
  virtual const std::map<std::string, std::string>& objects() const = 0;
};
std::unique_ptr<ObjectCodegen> make_object_codegen(Target target, int threads = 1);

std::unique_ptr<Codegen> make_interpreter(Target target = host_target());

// Returns cache_directory() of base/cache.h, and creates it if it is missing. Returns "" if there
// is no such directory and it cannot be created.
std::string default_cache_directory();

}  // namespace trireme::codegen
