#pragma once

// Saves, loads, exports and ages the rows of a parameter server by orders of the leader.

#include <condition_variable>
#include <deque>
#include <mutex>
#include <string>
#include <thread>

#include "distributed/checkpoint/export.h"
#include "distributed/checkpoint/writer.h"
#include "distributed/control/orders.h"
#include "distributed/server/shard.h"

namespace trireme::distributed {

struct KeeperOptions {
  std::string name;    // of the process, as WriterOptions::server
  std::string folder;  // of checkpoints, on a shared file system
  std::string prefix;  // of the keys of checkpoints
};

// A separate thread executes the orders one after another.
class ServerKeeper {
 public:
  // All arguments outlive the keeper.
  ServerKeeper(Store& store, Shard& shard, const KeeperOptions& options);
  ~ServerKeeper();
  ServerKeeper(const ServerKeeper&) = delete;
  ServerKeeper& operator=(const ServerKeeper&) = delete;

  // Whether the frame is such an order; it is answered at its end. Orders of a deposed leader are
  // answered `stale`.
  bool handle(const Frame& request, Answer& answer);

 private:
  struct Order {
    Frame request;
    Answer answer;
  };
  void run();
  Frame obey(const Frame& request);
  void forget(const Frame& request);
  SaveReport save(const SaveOrder& order);
  LoadReport load(const LoadOrder& order);
  TickReport tick(const TickOrder& order);
  ExportReport export_rows(const ExportOrder& order);

  Store& store_;
  Shard& shard_;
  const KeeperOptions options_;
  std::mutex writer_mutex_;  // guards both:
  checkpoint::Writer writer_;
  checkpoint::Exporter exporter_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<Order> orders_;
  bool stop_ = false;
  std::thread thread_;
};

}  // namespace trireme::distributed
