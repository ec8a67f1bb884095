#include "distributed/transport/frame_server.h"

#include <fmt/core.h>
#include <grpcpp/generic/async_generic_service.h>
#include <sched.h>

#include <atomic>
#include <deque>
#include <mutex>
#include <set>
#include <thread>

#include "base/error.h"
#include "distributed/coordination/credentials.h"
#include "distributed/transport/grpc_frame.h"
#include "distributed/transport/work_queue.h"

namespace trireme::distributed {
namespace {

using Clock = std::chrono::steady_clock;
using grpc::Status;
using grpc::StatusCode;

struct Counters {
  std::atomic<std::uint64_t> streams{0}, open{0}, requests{0}, answers{0}, bytes_in{0},
      bytes_out{0}, unauthenticated_peers{0}, malformed{0}, replayed{0}, corrupt{0}, broken{0},
      full{0}, waiting{0};
};

// That this process may use.
int processors() {
  cpu_set_t set;
  if (::sched_getaffinity(0, sizeof set, &set) == 0) return std::max(1, CPU_COUNT(&set));
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

Frame failure(Code code, const std::string& text) {
  Frame frame;
  frame.header.code = code;
  frame.payload.append(text);
  return frame;
}

}  // namespace

// One stream. Everything is guarded by the mutex; the state of the server is used only by threads
// of the server, which end before it does. Lives as long as operations of gRPC on it are under way
// (the server's set holds it) or an Answer is.
class Answer::Stream : public std::enable_shared_from_this<Answer::Stream> {
 public:
  Stream(FrameServer::State& server, std::shared_ptr<Counters> counters,
         grpc::ServerCompletionQueue* queue)
      : server_(server), counters_(std::move(counters)), queue_(queue), call_(&context_) {}

  void listen(grpc::AsyncGenericService& service);
  void answer(Frame frame, std::uint32_t request, std::size_t bytes, bool aside);
  void put_aside(std::size_t bytes);
  // Takes no more requests, and ends when those under way are answered.
  void drain();

 private:
  void accepted(bool ok);
  void read_done(bool ok);
  void written(bool ok);
  void finished();
  void done();

  // With the lock held:
  void take();
  void read_on();
  void write_on();
  void count_outgoing(std::size_t bytes);
  void finish(const Status& status);
  void refuse(const Status& status);
  void finish_if_drained();
  // Gives the lock back; ends the stream's life if nothing is under way.
  void settle(std::unique_lock<std::mutex> lock);

  FrameServer::State& server_;
  const std::shared_ptr<Counters> counters_;
  grpc::ServerCompletionQueue* const queue_;

  std::mutex mutex_;
  grpc::GenericServerContext context_;
  grpc::GenericServerAsyncReaderWriter call_;
  Peer peer_;
  int operations_ = 0;  // of gRPC, under way
  bool open_ = false, reading_ = false, writing_ = false, draining_ = false;
  bool ours_ = false;       // the end is our decision
  bool ended_ = false;      // nothing more is read or written, and the status is given,
  bool finishing_ = false;  // or it has been
  Status status_;
  std::uint32_t last_request_ = 0;
  int unanswered_ = 0, under_way_ = 0;
  std::size_t bytes_ = 0;  // of requests under way
  grpc::ByteBuffer message_;
  std::deque<grpc::ByteBuffer> outgoing_;
  std::size_t outgoing_bytes_ = 0;  // with the one that is being written
  std::size_t written_bytes_ = 0;   // of that one
  Tag accepted_{[this](bool ok) { accepted(ok); }}, read_{[this](bool ok) { read_done(ok); }},
      written_{[this](bool ok) { written(ok); }}, finished_{[this](bool) { finished(); }},
      done_{[this](bool) { done(); }};
};

struct FrameServer::State {
  State(const FrameServerOptions& o, Handler h) : options(o), handler(std::move(h)) {}

  void start();
  void stop(Clock::time_point deadline);
  void listen(grpc::ServerCompletionQueue* queue);
  Status admit(const grpc::GenericServerContext& context);
  void run(const Peer& peer, Arrived arrived, Answer answer);
  void remove(const std::shared_ptr<Answer::Stream>& stream);

  const FrameServerOptions options;
  const Handler handler;
  const std::shared_ptr<Counters> counters = std::make_shared<Counters>();
  grpc::AsyncGenericService service;
  std::vector<std::unique_ptr<grpc::ServerCompletionQueue>> queues;
  std::unique_ptr<grpc::Server> server;
  int port = 0, handlers = 0;
  std::unique_ptr<WorkQueue> work;
  std::vector<std::thread> threads;

  std::mutex mutex;
  std::condition_variable changed;
  std::set<std::shared_ptr<Answer::Stream>> streams;
  bool stopping = false;
};

// --- Answer

Answer& Answer::operator=(Answer&& other) noexcept {
  std::swap(stream_, other.stream_);
  std::swap(request_, other.request_);
  std::swap(bytes_, other.bytes_);
  std::swap(aside_, other.aside_);
  return *this;
}

Answer::~Answer() {
  if (stream_ != nullptr) (*this)(failure(Code::failed, "the server gave no answer"));
}

void Answer::operator()(Frame frame) {
  if (const auto stream = std::exchange(stream_, nullptr)) {
    stream->answer(std::move(frame), request_, bytes_, aside_);
  }
}

void Answer::put_aside() {
  if (stream_ != nullptr && !std::exchange(aside_, true)) stream_->put_aside(bytes_);
}

// --- A stream

void Answer::Stream::listen(grpc::AsyncGenericService& service) {
  const std::lock_guard lock(mutex_);
  ++operations_;
  context_.AsyncNotifyWhenDone(&done_);
  service.RequestCall(&context_, &call_, queue_, queue_, &accepted_);
}

void Answer::Stream::accepted(bool ok) {
  Status status;
  if (ok) {
    server_.listen(queue_);
    status = server_.admit(context_);  // locks the server, which comes before the stream
  }
  std::unique_lock lock(mutex_);
  --operations_;
  if (!ok) {
    ended_ = finishing_ = true;
  } else {
    ++operations_;  // done_
    if (status.ok()) {
      open_ = true;
      ++counters_->open;
      peer_ = {++counters_->streams, context_.peer(), {}, {}};
      for (const grpc::string_ref& name : context_.auth_context()->GetPeerIdentity()) {
        const std::string text(name.data(), name.size());
        const std::string role = role_named(text);
        (role.empty() ? peer_.name : peer_.role) = role.empty() ? text : role;
      }
      read_on();
    } else {
      refuse(status);
    }
  }
  settle(std::move(lock));
}

void Answer::Stream::read_on() {
  const FrameServerOptions& options = server_.options;
  if (reading_ || ended_ || draining_) return;
  if (under_way_ >= options.requests || (under_way_ > 0 && bytes_ >= options.bytes) ||
      outgoing_bytes_ >= options.answer_bytes) {
    ++counters_->full;
    return;
  }
  reading_ = true;
  ++operations_;
  call_.Read(&message_, &read_);
}

void Answer::Stream::read_done(bool ok) {
  std::unique_lock lock(mutex_);
  --operations_;
  reading_ = false;
  if (!ok) {
    finish(Status::OK);
  } else if (!ended_ && !draining_) {
    take();
    read_on();
  }
  settle(std::move(lock));
}

void Answer::Stream::take() {
  Arrived arrived;
  const std::size_t bytes = message_.Length();
  try {
    arrived = from_message(message_, server_.options.largest_frame);
  } catch (const Error& error) {
    ++counters_->malformed;
    refuse({StatusCode::INVALID_ARGUMENT, error.what()});
    return;
  }
  const std::uint32_t request = arrived.frame.header.request;
  if (request != last_request_ + 1) {
    ++counters_->replayed;
    refuse({StatusCode::INVALID_ARGUMENT,
            fmt::format("request {} behind request {}: it was sent twice, or others are missing",
                        request, last_request_)});
    return;
  }
  last_request_ = request;
  ++counters_->requests;
  counters_->bytes_in += bytes;
  ++unanswered_;
  ++under_way_;
  bytes_ += bytes;
  struct Work {
    Arrived arrived;
    Answer answer;
  };
  auto work =
      std::make_shared<Work>(Work{std::move(arrived), Answer(shared_from_this(), request, bytes)});
  server_.work->add(
      [this, work] { server_.run(peer_, std::move(work->arrived), std::move(work->answer)); });
}

void Answer::Stream::answer(Frame frame, std::uint32_t request, std::size_t bytes, bool aside) {
  frame.header.request = request;
  grpc::ByteBuffer message = to_message(frame, checksum_of(frame.payload));
  const std::lock_guard lock(mutex_);
  if (ended_) return;
  --unanswered_;
  if (!aside) {
    --under_way_;
    bytes_ -= bytes;
  }
  ++counters_->answers;
  counters_->bytes_out += message.Length();
  count_outgoing(message.Length());
  outgoing_.push_back(std::move(message));
  write_on();
  read_on();
}

void Answer::Stream::put_aside(std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  --under_way_;
  bytes_ -= bytes;
  read_on();
}

void Answer::Stream::write_on() {
  if (writing_ || ended_ || outgoing_.empty()) return;
  writing_ = true;
  ++operations_;
  const grpc::ByteBuffer message = std::move(outgoing_.front());
  outgoing_.pop_front();
  written_bytes_ = message.Length();
  grpc::WriteOptions options;
  if (!outgoing_.empty()) options.set_buffer_hint();
  call_.Write(message, options, &written_);
}

void Answer::Stream::written(bool ok) {
  std::unique_lock lock(mutex_);
  --operations_;
  writing_ = false;
  count_outgoing(-std::exchange(written_bytes_, 0));
  if (ended_) {
    if (!std::exchange(finishing_, true)) {
      ++operations_;
      call_.Finish(status_, &finished_);
    }
  } else if (!ok) {
    finish({StatusCode::UNAVAILABLE, "the stream is broken"});
  } else {
    write_on();
    read_on();
    finish_if_drained();
  }
  settle(std::move(lock));
}

// `bytes` more; less, if it is negative modulo 2^64.
void Answer::Stream::count_outgoing(std::size_t bytes) {
  outgoing_bytes_ += bytes;
  counters_->waiting += bytes;
}

void Answer::Stream::finish(const Status& status) {
  if (std::exchange(ended_, true)) return;
  if (open_) --counters_->open;
  status_ = status;
  outgoing_.clear();
  count_outgoing(written_bytes_ - outgoing_bytes_);
  if (writing_) return;  // when that is over
  finishing_ = true;
  ++operations_;
  call_.Finish(status_, &finished_);
}

void Answer::Stream::refuse(const Status& status) {
  ours_ = true;
  finish(status);
}

void Answer::Stream::finish_if_drained() {
  if (draining_ && unanswered_ == 0 && outgoing_.empty() && !writing_) {
    refuse({StatusCode::UNAVAILABLE, "the server stops"});
  }
}

void Answer::Stream::drain() {
  const std::lock_guard lock(mutex_);
  draining_ = true;
  if (open_) finish_if_drained();
}

void Answer::Stream::finished() {
  std::unique_lock lock(mutex_);
  --operations_;
  settle(std::move(lock));
}

void Answer::Stream::done() {
  std::unique_lock lock(mutex_);
  --operations_;
  if (!ours_ && context_.IsCancelled()) ++counters_->broken;
  settle(std::move(lock));
}

void Answer::Stream::settle(std::unique_lock<std::mutex> lock) {
  if (!finishing_ || operations_ > 0) return;
  lock.unlock();
  server_.remove(shared_from_this());
}

// --- The server

void FrameServer::State::start() {
  check_security(options.address, options.security);
  handlers = options.threads > 0 ? options.threads : processors();
  work = std::make_unique<WorkQueue>(handlers);
  grpc::ServerBuilder builder;
  builder.AddListeningPort(options.address, server_credentials(options.security), &port);
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, 5000);
  set_stream_arguments(
      [&](const char* name, int value) { builder.AddChannelArgument(name, value); },
      options.largest_frame);
  builder.SetMaxReceiveMessageSize(static_cast<int>(options.largest_frame + (64u << 10)));
  builder.RegisterAsyncGenericService(&service);
  const int waiting = options.queues > 0 ? options.queues : (handlers + 3) / 4;
  for (int i = 0; i < waiting; ++i) queues.push_back(builder.AddCompletionQueue());
  server = builder.BuildAndStart();
  if (server == nullptr || port == 0) {
    for (const auto& queue : queues) queue->Shutdown();
    fail_io(fmt::format("the address {} cannot be listened on", options.address));
  }
  for (const auto& queue : queues) {
    listen(queue.get());
    threads.emplace_back([&queue = *queue] {
      void* tag = nullptr;
      bool ok = false;
      while (queue.Next(&tag, &ok)) run_tag(tag, ok);
    });
  }
}

void FrameServer::State::listen(grpc::ServerCompletionQueue* queue) {
  const std::lock_guard lock(mutex);
  if (stopping) return;
  const auto stream = std::make_shared<Answer::Stream>(*this, counters, queue);
  streams.insert(stream);
  stream->listen(service);
}

Status FrameServer::State::admit(const grpc::GenericServerContext& context) {
  if (context.method() != method_of(options.service)) {
    ++counters->unauthenticated_peers;
    return {StatusCode::UNIMPLEMENTED, "another service listens there: " + options.service};
  }
  if (!has_token(context, options.security)) {
    ++counters->unauthenticated_peers;
    return {StatusCode::UNAUTHENTICATED, "the token of this job is required"};
  }
  if (counters->open >= static_cast<std::uint64_t>(options.streams)) {
    ++counters->unauthenticated_peers;
    return {StatusCode::RESOURCE_EXHAUSTED, "the server has as many streams as it takes"};
  }
  const std::lock_guard lock(mutex);
  return stopping ? Status(StatusCode::UNAVAILABLE, "the server stops") : Status::OK;
}

void FrameServer::State::run(const Peer& peer, Arrived arrived, Answer answer) {
  if (!arrived.intact()) {
    ++counters->corrupt;
    answer(failure(Code::corrupt, "the checksum of a frame does not fit"));
    return;
  }
  Code code = Code::failed;
  std::string text;
  try {
    handler(peer, std::move(arrived.frame), answer);
    return;
  } catch (const Error& error) {
    const bool asker = error.kind() == ErrorKind::usage || error.kind() == ErrorKind::data ||
                       error.kind() == ErrorKind::not_found;
    code = asker ? Code::refused : Code::failed;
    text = error.what();
  } catch (const std::exception& error) {
    text = error.what();
  }
  answer(failure(code, text));
}

void FrameServer::State::remove(const std::shared_ptr<Answer::Stream>& stream) {
  {
    const std::lock_guard lock(mutex);
    streams.erase(stream);
  }
  changed.notify_all();
}

void FrameServer::State::stop(Clock::time_point deadline) {
  std::set<std::shared_ptr<Answer::Stream>> open;
  {
    const std::lock_guard lock(mutex);
    if (std::exchange(stopping, true)) return;
    open = streams;
  }
  for (const auto& stream : open) stream->drain();
  open.clear();
  {
    std::unique_lock lock(mutex);
    changed.wait_until(lock, deadline, [this] { return streams.size() <= queues.size(); });
  }
  server->Shutdown(std::chrono::system_clock::now());
  {
    std::unique_lock lock(mutex);
    changed.wait(lock, [this] { return streams.empty(); });
  }
  work->stop();
  for (const auto& queue : queues) queue->Shutdown();
  for (std::thread& thread : threads) thread.join();
}

FrameServer::FrameServer(const FrameServerOptions& options, Handler handler)
    : state_(std::make_shared<State>(options, std::move(handler))) {
  if (options.largest_frame < kHeaderBytes || options.largest_frame > (64u << 20)) {
    fail_usage("frames of 48 bytes to 64 MiB can be taken");
  }
  state_->start();
}

FrameServer::~FrameServer() { stop(Clock::now()); }
void FrameServer::stop(Clock::time_point deadline) { state_->stop(deadline); }
int FrameServer::port() const { return state_->port; }
int FrameServer::threads() const { return state_->handlers; }

TransportStatistics FrameServer::statistics() const {
  const Counters& c = *state_->counters;
  return {c.streams,
          c.open,
          c.requests,
          c.answers,
          c.bytes_in,
          c.bytes_out,
          c.unauthenticated_peers,
          c.malformed,
          c.replayed,
          c.corrupt,
          c.broken,
          c.full,
          c.waiting};
}

}  // namespace trireme::distributed
