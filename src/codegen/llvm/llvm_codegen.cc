// Kernels to machine code: from the disk cache where they are known, else by LLVM, which is set up
// only when something must be compiled.

#include <chrono>
#include <map>
#include <mutex>

#include "codegen/codegen.h"
#include "codegen/llvm/loader.h"
#include "codegen/llvm/object.h"
#include "codegen/llvm/object_cache.h"
#include "codegen/llvm/parallel.h"

namespace trireme::codegen {
namespace {

using kernel_ir::Kernel;

class NativeKernel : public CompiledKernel {
 public:
  NativeKernel(KernelFunction function, std::shared_ptr<Loader> owner)
      : function_(function), owner_(std::move(owner)) {}
  void run(void* const* buffers, const std::int64_t* sizes, std::int64_t begin,
           std::int64_t end) const override {
    function_(buffers, sizes, begin, end);
  }

 private:
  KernelFunction function_;
  std::shared_ptr<Loader> owner_;
};

// One kernel to be made, with its maths expanded.
struct Job {
  std::string key;
  Kernel kernel;
  std::string object;
};

class LlvmCodegen : public Codegen {
 public:
  explicit LlvmCodegen(LlvmOptions options)
      : options_(std::move(options)), cache_(options_.cache_directory) {}

  std::vector<std::shared_ptr<CompiledKernel>> compile(
      const std::vector<const Kernel*>& kernels) override {
    const std::lock_guard lock(mutex_);
    std::vector<std::string> keys;
    std::map<std::string, Job> jobs;
    for (const Kernel* kernel : kernels) {
      verify(*kernel);
      Job job{.kernel = *kernel};
      expand_math(job.kernel);
      job.key = object_key(job.kernel, options_.target);
      keys.push_back(job.key);
      if (!loaded_.contains(job.key)) jobs.try_emplace(job.key, std::move(job));
    }
    std::vector<Job*> missing;
    for (auto& [key, job] : jobs) {
      if (std::optional<std::string> object = cache_.find(key)) {
        job.object = std::move(*object);
        ++statistics_.cached;
      } else {
        missing.push_back(&job);
      }
    }
    if (!missing.empty()) compile_missing(missing);
    for (const auto& [key, job] : jobs) load(job);

    std::vector<std::shared_ptr<CompiledKernel>> result;
    for (const std::string& key : keys) result.push_back(loaded_.at(key));
    return result;
  }

  const Target& target() const override { return options_.target; }
  CodegenStatistics statistics() const override {
    const std::lock_guard lock(mutex_);
    return statistics_;
  }

 private:
  void compile_missing(const std::vector<Job*>& missing) {
    const auto start = std::chrono::steady_clock::now();
    for_each_object(missing.size(), options_.threads, options_.target,
                    [&](ObjectCompiler& compiler, std::size_t i) {
                      missing[i]->object = compiler.compile(missing[i]->kernel);
                      cache_.keep(missing[i]->key, missing[i]->object);
                    });
    const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - start;
    statistics_.compiled += static_cast<int>(missing.size());
    statistics_.compile_ms += took.count();
  }

  void load(const Job& job) {
    if (loader_ == nullptr) loader_ = make_orc_loader(options_.target);
    loaded_[job.key] = std::make_shared<NativeKernel>(loader_->load(job.object), loader_);
  }

  LlvmOptions options_;
  ObjectCache cache_;
  mutable std::mutex mutex_;
  std::shared_ptr<Loader> loader_;
  std::map<std::string, std::shared_ptr<CompiledKernel>> loaded_;  // by key
  CodegenStatistics statistics_;
};

}  // namespace

std::unique_ptr<Codegen> make_llvm_codegen(LlvmOptions options) {
  return std::make_unique<LlvmCodegen>(std::move(options));
}

}  // namespace trireme::codegen
