#pragma once

// The part of a parameter server that saves, loads and exports what it holds, and lets it grow old,
// by the leader's orders.

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
  std::string folder;  // of checkpoints, on a file system that all servers see
  std::string prefix;  // of the checkpoints' keys
};

// Orders are done one after the other by a thread of its own.
class ServerKeeper {
 public:
  // All outlive the keeper.
  ServerKeeper(Store& store, Shard& shard, const KeeperOptions& options);
  ~ServerKeeper();
  ServerKeeper(const ServerKeeper&) = delete;
  ServerKeeper& operator=(const ServerKeeper&) = delete;

  // Whether the frame is such an order; then it is answered when it is done. Orders of a leader
  // that another one has followed are answered `stale`.
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
  std::mutex writer_mutex_;  // of both:
  checkpoint::Writer writer_;
  checkpoint::Exporter exporter_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<Order> orders_;
  bool stop_ = false;
  std::thread thread_;
};

}  // namespace trireme::distributed
