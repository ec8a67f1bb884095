#include "codegen/llvm/parallel.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace trireme::codegen {

void for_each_object(std::size_t count, int threads, const Target& target,
                     const std::function<void(ObjectCompiler& compiler, std::size_t i)>& make) {
  std::atomic<std::size_t> next{0};
  std::mutex failed;
  std::exception_ptr failure;
  const auto work = [&] {
    try {
      ObjectCompiler compiler(target);
      for (std::size_t i = next++; i < count; i = next++) make(compiler, i);
    } catch (...) {
      const std::lock_guard lock(failed);
      failure = std::current_exception();
    }
  };
  const auto wanted = static_cast<std::size_t>(std::max(1, threads));
  std::vector<std::thread> helpers;
  for (std::size_t i = 1; i < std::min(wanted, count); ++i) helpers.emplace_back(work);
  work();
  for (std::thread& helper : helpers) helper.join();
  if (failure) std::rethrow_exception(failure);
}

}  // namespace trireme::codegen
