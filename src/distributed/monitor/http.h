#pragma once

// A few pages of text for whoever asks by HTTP/1.1: for looking at a process, by Prometheus, by
// Kubernetes, by curl.

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "distributed/coordination/store.h"
#include "distributed/monitor/health.h"
#include "distributed/monitor/registry.h"

namespace trireme::distributed {

struct Page {
  int status = 200;
  std::string type = "text/plain; charset=utf-8";
  std::string text = {};
};
// By their paths. Called by several threads at once; what they throw is answered with 500.
using Pages = std::map<std::string, std::function<Page()>>;

// "/metrics"; "/healthz" and "/readyz" (200 or 503): whether it is alive, and whether it takes
// part, too; "/" (who it is). Registry and health outlive the pages.
Pages monitor_pages(const Registry& registry, const Health& health, const std::string& who);

struct HttpOptions {
  std::string host = "127.0.0.1";
  int port = 0;  // any that is free
  int threads =
      2;  // so many requests at once; `waiting` others wait, all others before they are let in
  int waiting = 16;
  Milliseconds patience{3000};  // in which a request has come and its answer is taken, or it ends
  std::size_t largest = 4096;   // bytes of a request
};

// Answers GET and HEAD, one request of each connection. What is longer, slower or no HTTP is
// refused, and does not keep others from being answered.
class HttpServer {
 public:
  // What the pages read outlives the server. Errors: io, if the address cannot be had.
  HttpServer(const HttpOptions& options, Pages pages);
  ~HttpServer();  // ends what is under way
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  int port() const;

 private:
  class Endpoint;
  std::unique_ptr<Endpoint> endpoint_;
};

}  // namespace trireme::distributed
