#pragma once

// A few text pages over HTTP/1.1, for Prometheus, Kubernetes and curl.

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
// Pages by path. Several threads may call them at once; an exception is answered with 500.
using Pages = std::map<std::string, std::function<Page()>>;

// "/metrics"; "/healthz" and "/readyz" (200 or 503), which say whether the process is alive and
// whether it takes part; "/" identifies the process. Registry and health outlive the pages.
Pages monitor_pages(const Registry& registry, const Health& health, const std::string& who);

struct HttpOptions {
  std::string host = "127.0.0.1";
  int port = 0;     // 0: any free port
  int threads = 2;  // most requests at once; `waiting` others wait, and more are refused. Probes
                    // (/healthz, /readyz) have a thread of their own.
  int waiting = 16;
  std::size_t connections = 256;  // whose requests have not arrived; more close the oldest ones
  Milliseconds patience{3000};    // most time for reading a request and writing its answer
  std::size_t largest = 4096;     // bytes of a request
};

// Answers GET and HEAD, one request per connection. Refuses requests that are too long, too slow or
// not HTTP; they do not delay others.
class HttpServer {
 public:
  // Everything that the pages read outlives the server. Errors: io if the address is not available.
  HttpServer(const HttpOptions& options, Pages pages);
  ~HttpServer();  // ends requests in progress
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  int port() const;

 private:
  class Endpoint;
  std::unique_ptr<Endpoint> endpoint_;
};

}  // namespace trireme::distributed
