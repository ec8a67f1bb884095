#pragma once

#include <functional>

#include "distributed/coordination/store.h"

namespace trireme::distributed {

struct MemoryStoreOptions {
  std::size_t history = 100000;  // changes that watches may still request
  // The clock of leases; std::chrono::steady_clock if empty. For tests.
  std::function<std::chrono::steady_clock::time_point()> now = {};
};

// A Store within one process. Its content ends with it.
std::unique_ptr<Store> make_memory_store(const MemoryStoreOptions& options = {});

}  // namespace trireme::distributed
