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
  void run(void* const*, const std::int64_t*, std::int64_t, std::int64_t) const override {
    fail_internal("a kernel that was compiled ahead of time is run by its compiler");
  }
};

class KeepingCodegen : public ObjectCodegen {
 public:
  KeepingCodegen(Target target, int threads) : target_(std::move(target)), threads_(threads) {}

  std::vector<std::shared_ptr<CompiledKernel>> compile(
      const std::vector<const Kernel*>& kernels) override {
    const auto start = std::chrono::steady_clock::now();
    std::map<std::string, Kernel> missing;
    for (const Kernel* kernel : kernels) {
      verify(*kernel);
      Kernel expanded = *kernel;
      expand_math(expanded);
      symbols_.push_back("trireme_kernel_" + object_key(expanded, target_));
      if (!objects_.contains(symbols_.back())) missing.emplace(symbols_.back(), expanded);
    }
    make(missing);
    const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - start;
    statistics_.compiled += static_cast<int>(missing.size());
    statistics_.compile_ms += took.count();
    return {kernels.size(), std::make_shared<ElsewhereKernel>()};
  }

  const Target& target() const override { return target_; }
  CodegenStatistics statistics() const override { return statistics_; }
  const std::vector<std::string>& symbols() const override { return symbols_; }
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
  std::vector<std::string> symbols_;
  std::map<std::string, std::string> objects_;
  CodegenStatistics statistics_;
};

}  // namespace

std::unique_ptr<ObjectCodegen> make_object_codegen(Target target, int threads) {
  return std::make_unique<KeepingCodegen>(std::move(target), threads);
}

}  // namespace trireme::codegen
