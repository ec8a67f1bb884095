#include "distributed/coordination/etcd_messages.h"

#include "fuzz.h"

// Messages of etcd, of whatever sort the first byte says; a transaction is the same after it was
// written again.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace trireme::distributed::etcd;
  return fuzz(data, size, [](std::string_view bytes) {
    if (bytes.empty()) return;
    const char kind = bytes[0];
    bytes.remove_prefix(1);
    switch (kind) {
      case 0: {
        const std::string once = to_txn_request(from_txn_request(bytes));
        if (to_txn_request(from_txn_request(once)) != once) __builtin_trap();
        break;
      }
      case 1: from_txn_response(bytes); break;
      case 2:
        from_put_request(bytes);
        from_delete_request(bytes);
        from_range_request(bytes);
        break;
      case 3: from_numbers(bytes); break;
      case 4: from_watch_request(bytes); break;
      default: from_watch_response(bytes); break;
    }
  });
}
