#include "distributed/coordination/etcd_store.h"

#include <fmt/core.h>

#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <thread>

#include "base/error.h"
#include "distributed/coordination/credentials.h"
#include "distributed/coordination/etcd_messages.h"
#include "distributed/coordination/rpc.h"

namespace trireme::distributed {
namespace {

using Clock = std::chrono::steady_clock;
constexpr Milliseconds kBetweenAttempts{100};

// A channel that no thread polls does not reconnect, so each store keeps a stream open: see
// KeepAlives.
std::shared_ptr<grpc::Channel> make_channel(const EtcdOptions& options) {
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(16 << 20);
  return secure_channel(options.address, options.security, arguments);
}

// Calls that are repeated until stop(). Another thread can cancel the context of the running call.
class Attempts {
 public:
  explicit Attempts(const EtcdOptions& options) : security_(options.security) {}

  // Returns the context of an attempt; null after stop().
  grpc::ClientContext* begin() {
    std::unique_lock lock(mutex_);
    if (context_ != nullptr) stopped_.wait_for(lock, kBetweenAttempts, [this] { return stop_; });
    if (stop_) return nullptr;
    context_ = std::make_unique<grpc::ClientContext>();
    context_->set_wait_for_ready(true);
    add_token(*context_, security_);
    return context_.get();
  }
  void stop() {
    const std::lock_guard lock(mutex_);
    stop_ = true;
    if (context_ != nullptr) context_->TryCancel();
    stopped_.notify_all();
  }

 private:
  const Security security_;
  std::mutex mutex_;
  std::condition_variable stopped_;
  bool stop_ = false;
  std::unique_ptr<grpc::ClientContext> context_;
};

// The one stream on which a store keeps all its leases. A thread of its own writes, so that no
// caller waits for a network that takes nothing.
class KeepAlives {
 public:
  KeepAlives(const std::shared_ptr<grpc::Channel>& channel, const EtcdOptions& options)
      : method_("/etcdserverpb.Lease/LeaseKeepAlive", channel, true),
        timeout_(options.timeout),
        attempts_(options),
        thread_([this] { run(); }),
        writer_([this] { write(); }) {}
  ~KeepAlives() {
    attempts_.stop();
    thread_.join();
    {
      const std::lock_guard lock(mutex_);
      stop_ = true;
    }
    changed_.notify_all();
    writer_.join();
  }

  bool keep(std::int64_t lease) {
    const auto until = Clock::now() + timeout_;
    std::unique_lock lock(mutex_);
    if (!changed_.wait_until(lock, until, [this] { return stream_ != nullptr; }))
      fail_unavailable();
    const std::uint64_t attempt = attempt_;
    const std::uint64_t asked = ++asked_[lease];
    requests_.push_back(lease);
    changed_.notify_all();
    const bool answered = changed_.wait_until(
        lock, until, [&] { return attempt_ != attempt || answers_[lease].count >= asked; });
    if (!answered || attempt_ != attempt) fail_unavailable();
    return answers_[lease].seconds > 0;
  }

 private:
  struct Answer {
    std::uint64_t count = 0;
    std::int64_t seconds = 0;
  };

  [[noreturn]] void fail_unavailable() const {
    throw Unavailable("etcd: the lease could not be kept alive: no answer in time");
  }

  void run() {
    while (grpc::ClientContext* context = attempts_.begin()) {
      const std::unique_ptr<ClientStream> stream = method_.open(context);
      {
        const std::lock_guard lock(mutex_);
        stream_ = stream.get();
        ++attempt_;
        asked_.clear();
        answers_.clear();
        requests_.clear();
      }
      changed_.notify_all();
      Message response;
      while (stream->Read(&response) && take(response.bytes)) {
      }
      context->TryCancel();  // ends a write, too
      {
        std::unique_lock lock(mutex_);
        stream_ = nullptr;
        ++attempt_;
        changed_.notify_all();
        changed_.wait(lock, [this] { return !writing_; });
      }
      stream->Finish();
    }
  }

  // Writes requests in order. The stream exists as long as `writing_`.
  void write() {
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [this] { return stop_ || (stream_ != nullptr && !requests_.empty()); });
      if (stop_) return;
      const std::int64_t lease = requests_.front();
      requests_.pop_front();
      ClientStream* const stream = stream_;
      writing_ = true;
      lock.unlock();
      stream->Write({etcd::to_numbers({{etcd::kId, lease}})});  // if it fails, the stream ends
      lock.lock();
      writing_ = false;
      changed_.notify_all();
    }
  }

  // Whether the stream goes on: it does not after what is no message.
  bool take(const std::string& response) {
    try {
      etcd::Numbers numbers = etcd::from_numbers(response);
      const std::lock_guard lock(mutex_);
      Answer& answer = answers_[numbers[etcd::kAnswerId]];
      ++answer.count;
      answer.seconds = numbers[etcd::kAnswerSeconds];
    } catch (const Error&) {
      return false;
    }
    changed_.notify_all();
    return true;
  }

  Method method_;
  const Milliseconds timeout_;
  Attempts attempts_;
  std::mutex mutex_;
  std::condition_variable changed_;
  ClientStream* stream_ = nullptr;  // while it is open
  std::uint64_t attempt_ = 0;
  std::map<std::int64_t, std::uint64_t> asked_;  // of this stream
  std::map<std::int64_t, Answer> answers_;
  std::deque<std::int64_t> requests_;  // leases to write
  bool writing_ = false, stop_ = false;
  std::thread thread_, writer_;
};

class EtcdWatch : public Watch {
 public:
  EtcdWatch(const std::shared_ptr<grpc::Channel>& channel, const EtcdOptions& options,
            std::string prefix, std::int64_t from)
      : method_("/etcdserverpb.Watch/Watch", channel, true),
        prefix_(std::move(prefix)),
        next_(std::max<std::int64_t>(from, 1)),
        attempts_(options),
        thread_([this] { run(); }) {}
  ~EtcdWatch() override {
    attempts_.stop();
    thread_.join();
  }

  Events wait(Milliseconds timeout) override {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, timeout, [this] { return !seen_.events.empty() || seen_.compacted; });
    return std::exchange(seen_, {});
  }

 private:
  void run() {
    while (grpc::ClientContext* context = attempts_.begin()) {
      const std::unique_ptr<ClientStream> stream = method_.open(context);
      if (stream->Write({etcd::to_watch_request({prefix_, next_})})) {
        Message response;
        while (stream->Read(&response) && take(response.bytes)) {
        }
        context->TryCancel();
      }
      stream->Finish();
    }
  }

  // Whether the stream goes on.
  bool take(const std::string& bytes) {
    etcd::WatchResponse response;
    try {
      response = etcd::from_watch_response(bytes);
    } catch (const Error&) {
      return false;  // and begins again where it was
    }
    const std::lock_guard lock(mutex_);
    if (response.compacted > 0) {
      seen_ = {{}, true};
      next_ = std::max(response.revision, response.compacted) + 1;
      changed_.notify_all();
    }
    if (response.cancelled) return false;
    for (Event& event : response.events) {
      next_ = event.entry.modified + 1;
      seen_.events.push_back(std::move(event));
    }
    if (!response.events.empty()) changed_.notify_all();
    return true;
  }

  Method method_;
  const std::string prefix_;
  std::int64_t next_;  // only the thread's
  std::mutex mutex_;
  std::condition_variable changed_;
  Events seen_;
  Attempts attempts_;
  std::thread thread_;
};

class EtcdStore : public Store {
 public:
  explicit EtcdStore(const EtcdOptions& options)
      : options_(options),
        channel_(make_channel(options)),
        transact_("/etcdserverpb.KV/Txn", channel_),
        grant_("/etcdserverpb.Lease/LeaseGrant", channel_),
        revoke_("/etcdserverpb.Lease/LeaseRevoke", channel_),
        keep_alives_(channel_, options) {}

  Outcome commit(const Transaction& transaction) override {
    check(transaction);
    return etcd::from_txn_response(call("commit", transact_, etcd::to_txn_request(transaction)));
  }

  std::int64_t grant(std::int64_t seconds) override {
    check_lease(seconds);
    const std::string request = etcd::to_numbers({{etcd::kGrantSeconds, seconds}});
    return etcd::from_numbers(call("grant a lease", grant_, request))[etcd::kGrantedId];
  }

  bool keep_alive(std::int64_t lease) override { return keep_alives_.keep(lease); }

  void revoke(std::int64_t lease) override {
    try {
      call("revoke a lease", revoke_, etcd::to_numbers({{etcd::kId, lease}}));
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::not_found) throw;
    }
  }

  std::unique_ptr<Watch> watch(const std::string& prefix, std::int64_t from) override {
    return std::make_unique<EtcdWatch>(channel_, options_, prefix, from);
  }

 private:
  std::string call(const char* what, const Method& method, const std::string& request) {
    grpc::ClientContext context;
    context.set_wait_for_ready(true);
    context.set_deadline(std::chrono::system_clock::now() + options_.timeout);
    add_token(context, options_.security);
    std::string response;
    const grpc::Status status = method.call(&context, request, &response);
    if (status.ok()) return response;
    const std::string text =
        fmt::format("etcd at {}: {}: {}", options_.address, what, status.error_message());
    switch (status.error_code()) {
      case grpc::StatusCode::NOT_FOUND: fail(ErrorKind::not_found, text);
      case grpc::StatusCode::INVALID_ARGUMENT:
      case grpc::StatusCode::OUT_OF_RANGE: fail_usage(text);
      case grpc::StatusCode::UNAUTHENTICATED:
      case grpc::StatusCode::PERMISSION_DENIED: fail(ErrorKind::io, text);
      default: throw Unavailable(text);
    }
  }

  const EtcdOptions options_;
  std::shared_ptr<grpc::Channel> channel_;
  Method transact_, grant_, revoke_;
  KeepAlives keep_alives_;
};

}  // namespace

std::unique_ptr<Store> connect_etcd(const EtcdOptions& options) {
  check_store_security(options.address, options.security);
  return std::make_unique<EtcdStore>(options);
}

}  // namespace trireme::distributed
