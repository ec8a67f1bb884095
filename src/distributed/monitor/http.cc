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
#include <array>
#include <atomic>
#include <cstring>
#include <mutex>
#include <semaphore>
#include <set>
#include <thread>

#include "base/error.h"

namespace trireme::distributed {
namespace {

using Clock = std::chrono::steady_clock;

// One connection with limits on the time and the bytes to read.
class Limited : public httplib::Stream {
 public:
  Limited(int socket, Clock::time_point end, std::size_t max)
      : socket_(socket), end_(end), left_(max) {}

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
  std::array<char, 1024> buffer_;
  std::size_t begin_ = 0, size_ = 0;
  bool begun_ = false, answered_ = false;
};

// A few threads. Connections beyond `waiting` are not accepted, so that the kernel finally refuses
// them.
class Workers : public httplib::TaskQueue {
 public:
  Workers(int threads, int waiting)
      : room_(threads + waiting), threads_(static_cast<std::size_t>(threads)) {}
  void enqueue(std::function<void()> work) override {
    room_.acquire();
    threads_.enqueue([this, work = std::move(work)] {
      work();
      room_.release();
    });
  }
  void shutdown() override { threads_.shutdown(); }

 private:
  std::counting_semaphore<> room_;
  httplib::ThreadPool threads_;
};

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
    new_task_queue = [this] { return new Workers(options_.threads, options_.waiting); };
    set_address_family(AF_UNSPEC);
    set_socket_options([](socket_t socket) {  // the library's would share the port with others
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
    const SignalsBlocked blocked;
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
    {
      const std::lock_guard lock(mutex_);
      open_.insert(socket);
    }
    if (!stopping_) serve(socket);
    const std::lock_guard lock(mutex_);
    open_.erase(socket);
    ::close(socket);
    return true;
  }

  void serve(int socket) {
    Limited stream(socket, Clock::now() + options_.patience, options_.largest);
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
  int port_ = 0;
  std::atomic<bool> stopping_ = false, done_ = false;
  std::mutex mutex_;
  std::set<int> open_;  // connections that are being served
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
