// Kernels to object files that are kept: for a machine that need not be this one.

#include <chrono>
#include <utility>

#include "base/error.h"
#include "codegen/codegen.h"
#include "codegen/llvm/object.h"
#include "codegen/llvm/object_cache.h"
#include "codegen/llvm/parallel.h"

namespace trireme::codegen {
namespace {

using kernel_ir::Kernel;

class ElsewhereKernel : public CompiledKernel {
 public:
  explicit ElsewhereKernel(std::string symbol) : symbol_(std::move(symbol)) {}
  void run(void* const*, const std::int64_t*, std::int64_t, std::int64_t) const override {
    fail_internal("a kernel that was compiled ahead of time is run by its compiler");
  }
  std::string symbol() const override { return symbol_; }

 private:
  std::string symbol_;
};

class KeepingCodegen : public ObjectCodegen {
 public:
  KeepingCodegen(Target target, int threads) : target_(std::move(target)), threads_(threads) {}

  std::vector<std::shared_ptr<CompiledKernel>> compile(
      const std::vector<const Kernel*>& kernels) override {
    const auto start = std::chrono::steady_clock::now();
    std::map<std::string, Kernel> missing;
    std::vector<std::shared_ptr<CompiledKernel>> made;
    for (const Kernel* kernel : kernels) {
      verify(*kernel);
      Kernel expanded = *kernel;
      expand_math(expanded);
      const std::string symbol = "trireme_kernel_" + object_key(expanded, target_);
      if (!objects_.contains(symbol)) missing.emplace(symbol, expanded);
      made.push_back(std::make_shared<ElsewhereKernel>(symbol));
    }
    make(missing);
    const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - start;
    statistics_.compiled += static_cast<int>(missing.size());
    statistics_.compile_ms += took.count();
    return made;
  }

  const Target& target() const override { return target_; }
  CodegenStatistics statistics() const override { return statistics_; }
  const std::map<std::string, std::string>& objects() const override { return objects_; }

 private:
  void make(const std::map<std::string, Kernel>& missing) {
    std::vector<std::pair<const Kernel*, std::string*>> jobs;
    for (const auto& [symbol, kernel] : missing) jobs.emplace_back(&kernel, &objects_[symbol]);
    std::vector<std::string> names;
    for (const auto& [symbol, kernel] : missing) names.push_back(symbol);
    for_each_object(jobs.size(), threads_, target_, [&](ObjectCompiler& compiler, std::size_t i) {
      *jobs[i].second = compiler.compile(*jobs[i].first, names[i]);
    });
  }

  Target target_;
  int threads_;
  std::map<std::string, std::string> objects_;
  CodegenStatistics statistics_;
};

}  // namespace

std::unique_ptr<ObjectCodegen> make_object_codegen(Target target, int threads) {
  return std::make_unique<KeepingCodegen>(std::move(target), threads);
}

}  // namespace trireme::codegen
