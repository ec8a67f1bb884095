#include "distributed/collectives/testing/ranks.h"

#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace trireme::distributed::testing {

void run_ranks(Store& store, int ranks, const std::function<void(Group&)>& work,
               const GroupOptions& options) {
  std::mutex mutex;
  std::exception_ptr first;
  std::vector<std::thread> threads;
  for (int rank = 0; rank < ranks; ++rank) {
    threads.emplace_back([&, rank] {
      try {
        Group group(store, "test/", 1, rank, ranks, options);
        work(group);
      } catch (...) {
        const std::lock_guard lock(mutex);
        if (first == nullptr) first = std::current_exception();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  if (first != nullptr) std::rethrow_exception(first);
}

void run_ranks(int ranks, const std::function<void(Group&)>& work, const GroupOptions& options) {
  const auto store = make_memory_store();
  run_ranks(*store, ranks, work, options);
}

}  // namespace trireme::distributed::testing
