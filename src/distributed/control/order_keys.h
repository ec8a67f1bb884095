#pragma once

// The keys of orders that the leader of a job executes. All orders are below one prefix, so that
// each process follows them by one watch (job/job_orders.h).

#include <string>

namespace trireme::distributed {

inline std::string orders_prefix(const std::string& job) { return job + "orders/"; }
// The wanted number of servers, if it differs from the first one. When surplus servers have no data
// any more, the key drained_key() of each exists, and they may end.
inline std::string wanted_servers_key(const std::string& job) {
  return orders_prefix(job) + "servers";
}
inline std::string drained_prefix(const std::string& job) {
  return orders_prefix(job) + "drained/";
}
inline std::string drained_key(const std::string& job, int place) {
  return drained_prefix(job) + std::to_string(place);
}
// With any value: a last checkpoint is requested.
inline std::string last_wanted_key(const std::string& job) {
  return orders_prefix(job) + "checkpoint";
}
inline std::string last_checkpoint_key(const std::string& job) {
  return orders_prefix(job) + "last-checkpoint";
}

}  // namespace trireme::distributed
