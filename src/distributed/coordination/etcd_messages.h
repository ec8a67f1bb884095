#pragma once

// Converts messages of etcd, version 3, between the types of Store and bytes. Names and numbers of
// fields are those of its public interface (rpc.proto). Errors of all from_...(): data for bytes
// that are not a message; usage for requests that Store does not support, such as a range of keys
// without a common prefix. Uses protozero, because no process can load both libprotobuf and
// libsentencepiece of Debian, which contains an older version (docs/reference/dependencies.md).

#include <map>
#include <string>
#include <string_view>

#include "distributed/coordination/store.h"

namespace trireme::distributed::etcd {

// --- KV: Txn, Range, Put, DeleteRange
std::string to_txn_request(const Transaction& transaction);
Transaction from_txn_request(std::string_view bytes);
std::string to_txn_response(const Transaction& transaction, const Outcome& outcome);
Outcome from_txn_response(std::string_view bytes);

Get from_range_request(std::string_view bytes);
std::string to_range_response(const Outcome& outcome);  // of its first Get
Put from_put_request(std::string_view bytes);
std::string to_put_response(const Outcome& outcome);
Erase from_delete_request(std::string_view bytes);
std::string to_delete_response(const Outcome& outcome, std::int64_t erased);

// --- Lease: messages with only integers, by field number
enum LeaseField {
  kGrantSeconds = 1,
  kGrantId = 2,
  kGrantedId = 2,
  kGrantedSeconds = 3,
  kId = 1,
  kAnswerId = 2,
  kAnswerSeconds = 3
};
using Numbers = std::map<int, std::int64_t>;
std::string to_numbers(const Numbers& numbers);
Numbers from_numbers(std::string_view bytes);

// --- Watch
struct WatchRequest {
  std::string prefix;
  std::int64_t from = 0;  // 0: from now on
};
std::string to_watch_request(const WatchRequest& request);
WatchRequest from_watch_request(std::string_view bytes);
struct WatchResponse {
  std::int64_t revision = 0;
  bool created = false, cancelled = false;
  std::int64_t compacted = 0;  // if not 0: the history before this revision is lost
  std::vector<Event> events = {};
};
std::string to_watch_response(const WatchResponse& response);
WatchResponse from_watch_response(std::string_view bytes);

}  // namespace trireme::distributed::etcd
