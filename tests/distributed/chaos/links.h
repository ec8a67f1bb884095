#pragma once

// The wires of a job: a proxy in front of each process that others connect to, and one between each process and the store.
// Processes know nothing of it.

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "proxy.h"

namespace trireme::chaos {

class Links {
 public:
  // With a `host` that is not empty there are no proxies: processes listen there and reach each other as they are.
  Links(std::string store, std::string host) : store_(std::move(store)), host_(std::move(host)) {}

  // What a new process is told.
  struct Ends {
    std::string host, listens;  // as in RoleOptions
    std::string store;
  };
  Ends open(const std::string& role, const std::string& name);
  void close(const std::string& name);  // it has ended

  // Who is reached by an address; empty: nobody that is known.
  std::string at(const std::string& address) const;
  struct Link {
    std::string name;
    std::shared_ptr<Proxy> proxy;
  };
  // One of those that are there; nothing, if there are none.
  std::optional<Link> any(std::uint32_t which) const;

 private:
  struct Open {
    std::string name, address;  // the address that others connect to
    std::vector<Link> links;
  };
  const std::string store_, host_;
  std::vector<Open> open_;
};

}  // namespace trireme::chaos
