#pragma once

// The wires of a job: a proxy in front of each process that others connect to, and one between each
// process and the store. Processes know nothing of it.

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

  // What a new process is told.
  struct Ends {
    std::string host, listens;  // as in RoleOptions
    std::string store;
  };
  // With a `host` that is not empty there are no proxies: the process listens there and reaches
  // others as they are.
  Ends open(const std::string& role, const std::string& name, const std::string& host);
  void close(const std::string& name);  // it has ended
  // Nobody gets an answer from the store, until it does again.
  void silence_store(bool silent);

  // Who is reached by an address; empty: nobody that is known.
  std::string at(const std::string& address) const;
  // Where processes listen themselves, without a proxy between, by name; of those that do.
  std::map<std::string, std::string> listening() const;
  struct Link {
    std::string name;
    std::shared_ptr<Proxy> proxy;
  };
  // One of those that are there; nothing, if there are none.
  std::optional<Link> any(std::uint32_t which) const;

 private:
  struct Open {
    std::string name, address;  // the address that others connect to
    std::string listens;
    std::vector<Link> links;
    std::shared_ptr<Proxy> store = {};  // one of the links
  };
  const std::string store_;
  bool silent_ = false;  // the store
  std::vector<Open> open_;
};

}  // namespace trireme::chaos
