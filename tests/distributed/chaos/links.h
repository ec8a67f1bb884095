#pragma once

// The connections of a job: a proxy before each process that others connect to, and one between
// each process and the store. Processes do not know them.

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "proxy.h"

namespace trireme::chaos {

class Links {
 public:
  explicit Links(std::string store) : store_(std::move(store)) {}

  // The addresses for a new process.
  struct Ends {
    std::string host, listens;  // as in RoleOptions
    std::string store;
  };
  // With a `host` there are no proxies: the process listens there and connects to others directly.
  Ends open(const std::string& role, const std::string& name, const std::string& host);
  void close(const std::string& name);  // it has ended
  // The store does not answer until `silent` is false again.
  void silence_store(bool silent);

  // The process with an address; empty if it is unknown.
  std::string at(const std::string& address) const;
  // The own addresses of listening processes, without proxies, by name.
  std::map<std::string, std::string> listening() const;
  struct Link {
    std::string name;
    std::shared_ptr<Proxy> proxy;
  };
  // One of the links; nothing if there are none.
  std::optional<Link> any(std::uint32_t which) const;

 private:
  struct Open {
    std::string name, address;  // `address`: where others connect
    std::string listens;
    std::vector<Link> links;
    std::shared_ptr<Proxy> store = {};  // one of the links
  };
  const std::string store_;
  bool silent_ = false;  // the store
  std::vector<Open> open_;
};

}  // namespace trireme::chaos
