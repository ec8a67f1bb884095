// Uses cpp-httplib. Its version in Debian limits neither the lines of a request nor its time, so it
// reads from a stream of ours that does.

#include "distributed/monitor/http.h"

#include <fmt/core.h>
#include <httplib.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <thread>

#include "base/error.h"
#include "distributed/monitor/request_reader.h"
#include "distributed/transport/work_queue.h"

namespace trireme::distributed {
namespace {

using Clock = std::chrono::steady_clock;

// One connection with limits on the time and the bytes to read.
class Limited : public httplib::Stream {
 public:
  // `arrived`: bytes that were read before.
  Limited(int socket, Clock::time_point end, std::size_t max, std::string arrived)
      : socket_(socket),
        end_(end),
        left_(max - std::min(max, arrived.size())),
        buffer_(std::move(arrived)),
        size_(buffer_.size()),
        begun_(size_ > 0) {
    buffer_.resize(std::max<std::size_t>(size_, 1024));
  }

  bool is_readable() const override { return begin_ < size_ || wait(POLLIN); }
  bool is_writable() const override { return wait(POLLOUT); }
  ssize_t read(char* to, std::size_t max) override {
    if (begin_ == size_ && !fill()) return -1;
    const std::size_t count = std::min(max, size_ - begin_);
    std::memcpy(to, buffer_.data() + begin_, count);
    begin_ += count;
    return static_cast<ssize_t>(count);
  }
  // Returns all of it, or -1.
  ssize_t write(const char* from, std::size_t size) override {
    answered_ = true;
    for (std::size_t done = 0; done < size;) {
      if (!wait(POLLOUT)) return -1;
      const ssize_t sent = ::send(socket_, from + done, size - done, MSG_NOSIGNAL | MSG_DONTWAIT);
      if (sent < 0 && errno != EAGAIN && errno != EINTR) return -1;
      done += static_cast<std::size_t>(std::max<ssize_t>(sent, 0));
    }
    return static_cast<ssize_t>(size);
  }
  void get_remote_ip_and_port(std::string&, int&) const override {}
  void get_local_ip_and_port(std::string&, int&) const override {}
  socket_t socket() const override { return socket_; }

  // For a request that the library dropped without a response.
  void refuse() {
    if (answered_ || !begun_) return;
    const std::string answer = fmt::format(
        "HTTP/1.1 {}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
        left_ == 0 ? "431 Request Header Fields Too Large"
                   : (Clock::now() >= end_ ? "408 Request Timeout" : "400 Bad Request"));
    end_ = Clock::now() + Milliseconds(100);
    write(answer.data(), answer.size());
  }
  // The client must receive the response before it learns that we did not read the whole request.
  void hang_up() {
    ::shutdown(socket_, SHUT_WR);
    end_ = std::min(end_, Clock::now() + Milliseconds(100));
    left_ = 64 * 1024;
    do {
      begin_ = size_ = 0;
    } while (fill());
  }

 private:
  bool wait(short what) const {
    pollfd file{socket_, what, 0};
    for (;;) {
      const auto left = std::chrono::ceil<Milliseconds>(end_ - Clock::now()).count();
      if (left <= 0) return false;
      const int ready = ::poll(&file, 1, static_cast<int>(left));
      if (ready > 0) return true;
      if (ready < 0 && errno != EINTR) return false;
    }
  }
  bool fill() {
    if (left_ == 0 || !wait(POLLIN)) return false;
    const ssize_t count =
        ::recv(socket_, buffer_.data(), std::min(buffer_.size(), left_), MSG_DONTWAIT);
    if (count <= 0) return false;
    begun_ = true;
    begin_ = 0;
    size_ = static_cast<std::size_t>(count);
    left_ -= size_;
    return true;
  }

  const int socket_;
  Clock::time_point end_;
  std::size_t left_;
  std::string buffer_;
  std::size_t begin_ = 0, size_ = 0;
  bool begun_ = false, answered_ = false;
};

// The thread of the library only accepts connections.
class Accepting : public httplib::TaskQueue {
 public:
  void enqueue(std::function<void()> work) override { work(); }
  void shutdown() override {}
};

// A few threads that answer requests. Requests beyond `waiting` are refused.
class Workers {
 public:
  Workers(int threads, int waiting) : max_(threads + waiting), threads_(threads) {}
  // Returns whether it takes the request.
  bool add(std::function<void()> work) {
    if (++count_ > max_) return --count_, false;
    threads_.add([this, work = std::move(work)] {
      work();
      --count_;
    });
    return true;
  }
  void stop() { threads_.stop(); }

 private:
  const int max_;
  std::atomic<int> count_ = 0;
  WorkQueue threads_;
};

// Whether the request is for a probe of the process, whose answer is small and made at once.
bool is_probe(const std::string& request) {
  const std::size_t path = request.find(' ');
  if (path == std::string::npos) return false;
  const std::string_view rest = std::string_view(request).substr(path + 1);
  return rest.starts_with("/healthz ") || rest.starts_with("/readyz ");
}

// Signals are for other threads.
class SignalsBlocked {
 public:
  SignalsBlocked() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

 private:
  sigset_t before_;
};

}  // namespace

class HttpServer::Endpoint : public httplib::Server {
 public:
  Endpoint(const HttpOptions& options, Pages pages) : options_(options), pages_(std::move(pages)) {
    new_task_queue = [] { return new Accepting(); };
    set_address_family(AF_UNSPEC);
    set_socket_options([this](socket_t socket) {  // the library's would share the port with others
      listening_ = socket;
      const int yes = 1;
      ::setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    });
    set_pre_routing_handler([this](const httplib::Request& request, httplib::Response& response) {
      answer(request, response);
      return HandlerResponse::Handled;
    });
    port_ = options.port == 0 ? bind_to_any_port(options.host)
                              : (bind_to_port(options.host, options.port) ? options.port : -1);
    if (port_ <= 0) {
      fail_io(fmt::format(
          "{}:{} is not available for metrics: does another process use it? Port 0 takes "
          "any that is free",
          options.host, options.port));
    }
    // The library has room for 5 connections that it has not accepted. Beyond that, clients try
    // again after a second.
    ::listen(listening_, SOMAXCONN);
    const SignalsBlocked blocked;
    workers_.emplace(options.threads, options.waiting);
    probes_.emplace(1, options.waiting);
    reader_.emplace(RequestReader::Options{options.connections, options.largest, options.patience},
                    [this](ArrivedRequest request) { take(std::move(request)); });
    thread_ = std::thread([this] { run(); });
  }

  ~Endpoint() override {
    stopping_ = true;
    {
      const std::lock_guard lock(mutex_);
      for (const int socket : open_) ::shutdown(socket, SHUT_RDWR);
    }
    while (!done_) {
      if (is_running()) stop();
      std::this_thread::sleep_for(Milliseconds(1));
    }
    thread_.join();
    reader_.reset();
    workers_->stop();
    probes_->stop();
    for (const int socket : open_) ::close(socket);
  }

  int port() const { return port_; }

 private:
  // Listens again if something other than stop() ended it.
  void run() {
    for (bool bound = true; !stopping_;) {
      if (bound) listen_after_bind();
      if (stopping_) break;
      std::this_thread::sleep_for(Milliseconds(200));
      bound = bind_to_port(options_.host, port_);
    }
    done_ = true;
  }

  bool process_and_close_socket(socket_t socket) override {
    reader_->add(socket);
    return true;
  }

  // Probes have a worker of their own, so that they do not wait for clients of other pages.
  void take(ArrivedRequest request) {
    const int socket = request.socket;
    {
      const std::lock_guard lock(mutex_);
      open_.insert(socket);
    }
    Workers& workers = is_probe(request.bytes) ? *probes_ : *workers_;
    const auto arrived = std::make_shared<ArrivedRequest>(std::move(request));
    const bool taken = workers.add([this, arrived] {
      if (!stopping_) serve(*arrived);
      close(arrived->socket);
    });
    if (!taken) close(socket);
  }

  void close(int socket) {
    const std::lock_guard lock(mutex_);
    open_.erase(socket);
    ::close(socket);
  }

  void serve(ArrivedRequest& request) {
    Limited stream(request.socket, request.end, options_.largest, std::move(request.bytes));
    try {
      bool closed = false;
      // Ranges would allow a small request to ask for the same part many times.
      process_request(stream, true, closed,
                      [](httplib::Request& request) { request.ranges.clear(); });
    } catch (const std::exception&) {  // of the library's, such as of a pattern that is too long
    }
    stream.refuse();
    stream.hang_up();
  }

  void answer(const httplib::Request& request, httplib::Response& response) const {
    const auto page = pages_.find(request.path);
    Page result;
    if (request.method != "GET" && request.method != "HEAD") {
      response.set_header("Allow", "GET, HEAD");
      result = {.status = 405, .text = "only GET and HEAD\n"};
    } else if (page == pages_.end()) {
      result = {.status = 404, .text = "there is:"};
      for (const auto& [path, make] : pages_) result.text += " " + path;
      result.text += "\n";
    } else {
      try {
        result = page->second();
      } catch (const std::exception& error) {
        result = {.status = 500, .text = std::string(error.what()) + "\n"};
      }
    }
    response.status = result.status;
    response.set_content(result.text, result.type);
  }

  const HttpOptions options_;
  const Pages pages_;
  int port_ = 0, listening_ = -1;
  std::atomic<bool> stopping_ = false, done_ = false;
  std::mutex mutex_;
  std::set<int> open_;  // connections whose requests have arrived
  std::optional<Workers> workers_, probes_;
  std::optional<RequestReader> reader_;
  std::thread thread_;
};

HttpServer::HttpServer(const HttpOptions& options, Pages pages)
    : endpoint_(std::make_unique<Endpoint>(options, std::move(pages))) {}
HttpServer::~HttpServer() = default;
int HttpServer::port() const { return endpoint_->port(); }

Pages monitor_pages(const Registry& registry, const Health& health, const std::string& who) {
  Pages pages;
  pages["/metrics"] = [&registry] {
    return Page{.type = "text/plain; version=0.0.4; charset=utf-8", .text = registry.text()};
  };
  const auto page_of = [&health](Means means) {
    return [&health, means] {
      const Health::Report report = health.report(means);
      return Page{.status = report.well ? 200 : 503, .text = report.text()};
    };
  };
  pages["/healthz"] = page_of(Means::not_alive);
  pages["/readyz"] = page_of(Means::not_ready);
  pages["/"] = [who] { return Page{.text = who}; };
  return pages;
}

}  // namespace trireme::distributed
