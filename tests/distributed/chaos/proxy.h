#pragma once

// A connection between processes that a test makes slow, narrow, silent or cut: forwards bytes
// between a port and a target.

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

namespace trireme::chaos {

// The properties of both directions.
struct Wire {
  std::chrono::milliseconds delay{0};  // of each byte
  double rate = 0;      // bytes a second in each direction of each connection; 0: no limit
  bool silent = false;  // accepts connections and bytes, and forwards nothing until it ends
  bool cut = false;     // connections are reset, new ones too
};

// Thread-safe. IPv4 only.
class Proxy {
 public:
  // Listens at `address`, "127.0.0.2:0" for any port; the target need not listen yet. Errors: io if
  // the address is not available.
  Proxy(const std::string& address, const std::string& target);
  ~Proxy();  // resets all connections
  Proxy(const Proxy&) = delete;
  Proxy& operator=(const Proxy&) = delete;

  std::string address() const;
  void set(const Wire& wire);  // from now on, also for existing connections
  std::int64_t forwarded() const { return forwarded_; }  // bytes

 private:
  class Loop;
  void wake() const;

  std::string address_;
  int wake_ = -1;
  std::mutex mutex_;
  Wire wire_;
  std::atomic<bool> stop_ = false;
  std::atomic<std::int64_t> forwarded_ = 0;
  std::thread thread_;
};

}  // namespace trireme::chaos
