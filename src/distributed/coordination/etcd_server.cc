#include "distributed/coordination/etcd_server.h"

#include <fmt/core.h>

#include <atomic>
#include <map>
#include <mutex>

#include "base/error.h"
#include "distributed/coordination/credentials.h"
#include "distributed/coordination/etcd_messages.h"
#include "distributed/coordination/rpc.h"

namespace trireme::distributed {
namespace {

using grpc::ServerContext;
using grpc::Status;
using grpc::StatusCode;

constexpr Milliseconds kPoll{100};  // how soon a stream notices that it has been ended

// What all services share.
struct Common {
  Store& store;
  Security security;
  std::atomic<std::int64_t> refused{0};
  std::atomic<bool> stopping{false};

  Status check(const ServerContext& context) {
    if (has_token(context, security)) return Status::OK;
    ++refused;
    return {StatusCode::UNAUTHENTICATED, "the token of this job is required"};
  }

  template <class Body>
  Status answer(const ServerContext& context, Body&& body) {
    if (const Status status = check(context); !status.ok()) return status;
    try {
      body();
      return Status::OK;
    } catch (const Unavailable& error) {
      return {StatusCode::UNAVAILABLE, error.what()};
    } catch (const Error& error) {
      const auto code = error.kind() == ErrorKind::not_found ? StatusCode::NOT_FOUND
                        : error.kind() == ErrorKind::usage || error.kind() == ErrorKind::data
                            ? StatusCode::INVALID_ARGUMENT
                            : StatusCode::INTERNAL;
      return {code, error.what()};
    } catch (const std::exception& error) {
      return {StatusCode::INTERNAL, error.what()};
    }
  }
};

// Keys: each method is a transaction.
std::string range(Store& store, const std::string& request) {
  return etcd::to_range_response(store.commit({.then = {etcd::from_range_request(request)}}));
}

std::string handle_put(Store& store, const std::string& request) {
  return etcd::to_put_response(store.commit({.then = {etcd::from_put_request(request)}}));
}

std::string erase(Store& store, const std::string& request) {
  const Erase erase = etcd::from_delete_request(request);
  const Outcome outcome = store.commit({.then = {Get{erase.key, erase.prefix}, erase}});
  return etcd::to_delete_response(outcome, static_cast<std::int64_t>(outcome.got.at(0).size()));
}

std::string transact(Store& store, const std::string& request) {
  const Transaction transaction = etcd::from_txn_request(request);
  return etcd::to_txn_response(transaction, store.commit(transaction));
}

// How many seconds each lease was granted, for answers say so.
class Leases {
 public:
  std::string grant(Store& store, const std::string& request) {
    etcd::Numbers numbers = etcd::from_numbers(request);
    if (numbers[etcd::kGrantId] != 0) fail_usage("leases have numbers of the server's here");
    const std::int64_t seconds = numbers[etcd::kGrantSeconds], id = store.grant(seconds);
    const std::lock_guard lock(mutex_);
    seconds_[id] = seconds;
    return etcd::to_numbers({{etcd::kGrantedId, id}, {etcd::kGrantedSeconds, seconds}});
  }
  std::string keep_alive(Store& store, const std::string& request) {
    const std::int64_t id = etcd::from_numbers(request)[etcd::kId];
    const bool lives = store.keep_alive(id);
    const std::lock_guard lock(mutex_);
    const std::int64_t seconds = lives ? seconds_[id] : 0;
    if (!lives) seconds_.erase(id);
    return etcd::to_numbers({{etcd::kAnswerId, id}, {etcd::kAnswerSeconds, seconds}});
  }

 private:
  std::mutex mutex_;
  std::map<std::int64_t, std::int64_t> seconds_;
};

// One watch for each stream, until either side ends it.
void watch(Common& common, ServerContext& context, ServerStream& stream) {
  Message message;
  if (!stream.Read(&message)) return;
  etcd::WatchRequest request = etcd::from_watch_request(message.bytes);
  const std::int64_t now = common.store.commit({}).revision;
  if (request.from == 0) request.from = now + 1;
  const auto watch = common.store.watch(request.prefix, request.from);
  etcd::WatchResponse response{now, true};
  bool open = stream.Write({etcd::to_watch_response(response)});
  while (open && !context.IsCancelled() && !common.stopping) {
    Events events = watch->wait(kPoll);
    if (events.events.empty() && !events.compacted) continue;
    response = {common.store.commit({}).revision};
    response.cancelled = events.compacted;
    response.compacted = events.compacted ? response.revision : 0;
    response.events = std::move(events.events);
    open = stream.Write({etcd::to_watch_response(response)}) && !response.cancelled;
  }
}

}  // namespace

struct EtcdServer::State {
  State(Store& store, const EtcdServerOptions& options) : common{store, options.security} {
    add("/etcdserverpb.KV/Range", range);
    add("/etcdserverpb.KV/Put", handle_put);
    add("/etcdserverpb.KV/DeleteRange", erase);
    add("/etcdserverpb.KV/Txn", transact);
    add("/etcdserverpb.Lease/LeaseGrant",
        [this](Store& store, const std::string& request) { return leases.grant(store, request); });
    add("/etcdserverpb.Lease/LeaseRevoke", [](Store& store, const std::string& request) {
      store.revoke(etcd::from_numbers(request)[etcd::kId]);
      return std::string();
    });
    service.add_stream("/etcdserverpb.Lease/LeaseKeepAlive",
                       [this](ServerContext& context, ServerStream& stream) {
                         return common.answer(context, [&] { keep_alive(stream); });
                       });
    service.add_stream("/etcdserverpb.Watch/Watch",
                       [this](ServerContext& context, ServerStream& stream) {
                         return common.answer(context, [&] { watch(common, context, stream); });
                       });
  }

  template <class Body>
  void add(const char* path, Body body) {
    service.add(path, [this, body](ServerContext& context, const std::string& request,
                                   std::string* response) {
      return common.answer(context, [&] { *response = body(common.store, request); });
    });
  }

  void keep_alive(ServerStream& stream) {
    Message request;
    while (stream.Read(&request)) {
      if (!stream.Write({leases.keep_alive(common.store, request.bytes)})) return;
    }
  }

  Common common;
  Leases leases;
  Service service;
  int port = 0;
  std::unique_ptr<grpc::Server> server;
};

EtcdServer::EtcdServer(Store& store, const EtcdServerOptions& options)
    : state_(std::make_unique<State>(store, options)) {
  check_security(options.address, options.security);
  grpc::ServerBuilder builder;
  builder.AddListeningPort(options.address, server_credentials(options.security), &state_->port);
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
  builder.SetMaxReceiveMessageSize(4 << 20);
  builder.RegisterService(&state_->service);
  state_->server = builder.BuildAndStart();
  if (state_->server == nullptr || state_->port == 0) {
    fail(ErrorKind::io, fmt::format("the address {} cannot be listened on", options.address));
  }
}

EtcdServer::~EtcdServer() {
  state_->common.stopping = true;
  state_->server->Shutdown(std::chrono::system_clock::now() + 2 * kPoll);
  state_->server->Wait();
}

int EtcdServer::port() const { return state_->port; }
std::int64_t EtcdServer::refused() const { return state_->common.refused; }

}  // namespace trireme::distributed
