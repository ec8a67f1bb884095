#include "unauthenticated_peers.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <random>
#include <thread>
#include <vector>

#include "distributed/coordination/credentials.h"
#include "distributed/coordination/rpc.h"
#include "distributed/coordination/store.h"
#include "distributed/placement/authority.h"
#include "distributed/transport/frame.h"
#include "tcp.h"

namespace trireme::chaos {

using namespace distributed;

namespace {

constexpr Milliseconds kAnswer{3000};   // in which a process that is there answers
constexpr Milliseconds kCounted{3000};  // and has counted
constexpr std::uint8_t kNoOperation = 200;

// What a process has refused since its start.
struct Counters {
  std::int64_t unauthenticated_peers = 0, malformed = 0, replayed = 0, corrupt = 0;
  std::int64_t frames() const { return malformed + replayed + corrupt; }
  std::string text() const {
    return fmt::format("{} unauthenticated_peers, {} malformed, {} replayed, {} corrupt",
                       unauthenticated_peers, malformed, replayed, corrupt);
  }
};

std::optional<std::int64_t> counter(const std::string& page, const std::string& name) {
  const std::string line = "\ntrireme_transport_" + name + "_total ";
  const std::size_t at = page.find(line);
  if (at == std::string::npos) return std::nullopt;
  return static_cast<std::int64_t>(std::strtod(page.c_str() + at + line.size(), nullptr));
}

std::optional<Counters> counters_of(const Target& target) {
  const std::string page = tell(
      target.metrics, "GET /metrics HTTP/1.0\r\nHost: " + target.metrics + "\r\n\r\n", kAnswer);
  const auto unauthenticated_peers = counter(page, "unauthenticated_peers"),
             malformed = counter(page, "malformed"), replayed = counter(page, "replayed"),
             corrupt = counter(page, "corrupt");
  if (!unauthenticated_peers || !malformed || !replayed || !corrupt) return std::nullopt;
  return Counters{*unauthenticated_peers, *malformed, *replayed, *corrupt};
}

// A frame without a request.
std::string frame(std::uint32_t request, const std::string& payload) {
  Header header;
  header.op = kNoOperation;
  header.request = request;
  const auto bytes = encode_header(header, payload.size(), checksum_of(Payload(payload)));
  return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size()) + payload;
}

class Visitor {
 public:
  Visitor(const Target& target, const Security& security, std::uint64_t seed)
      : target_(target), security_(security), random_(seed) {}

  Visit run() {
    Visit result{target_.name};
    const std::optional<Counters> before = counters_of(target_);
    if (!before) return result;
    call_without_token();
    send_bytes();
    send_frames();
    result.wrong = wrong_;
    result.text = "expected refusals: " + wanted_.text();
    std::optional<Counters> after;
    for (const auto until = std::chrono::steady_clock::now() + kCounted;;) {
      after = counters_of(target_);
      if (!after || (result.compared = shows(*before, *after))) break;
      if (std::chrono::steady_clock::now() > until) break;
      std::this_thread::sleep_for(Milliseconds(20));
    }
    if (after) result.text += fmt::format("; before {}, after {}", before->text(), after->text());
    // A target that was stopped or disconnected meanwhile has not seen everything.
    if (after && !disturbed_ && !result.compared) {
      result.wrong +=
          (result.wrong.empty() ? "" : "; ") + std::string("the counters do not show it");
      result.compared = true;
    }
    if (disturbed_) result.compared = false;
    return result;
  }

 private:
  // A process of another job that took over the port is not authenticated either.
  bool shows(const Counters& before, const Counters& after) const {
    return after.unauthenticated_peers >=
               before.unauthenticated_peers + wanted_.unauthenticated_peers &&
           after.malformed >= before.malformed + wanted_.malformed &&
           after.replayed >= before.replayed + wanted_.replayed &&
           after.corrupt >= before.corrupt + wanted_.corrupt &&
           after.frames() == before.frames() + wanted_.frames() + damaged_;
  }

  // Garbage, and garbage after the start of HTTP/2.
  void send_bytes() {
    const std::string preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
    const std::string settings("\0\0\0\4\0\0\0\0\0", 9);
    const std::string huge("\xff\xff\xff\1\4\0\0\0\1", 9);  // headers of 16 MiB that never come
    for (const std::string& bytes :
         {garbage(), preface + garbage(), preface + settings + garbage(), preface + settings + huge,
          preface.substr(0, 10), std::string("GET / HTTP/1.1\r\n\r\n")}) {
      tell(target_.address, bytes, Milliseconds(200));
    }
  }
  std::string garbage() {
    std::string bytes(1 + random_() % 3000, '\0');
    for (char& c : bytes) c = static_cast<char>(random_());
    return bytes;
  }

  void call_without_token() {
    Security other{.token = "wrong"};
    if (security_.certificate.empty()) {
      expect(talk({frame(1, "?")}, other), grpc::StatusCode::UNAUTHENTICATED, "a wrong token");
      expect(talk({frame(1, "?")}, {}), grpc::StatusCode::UNAUTHENTICATED, "no token");
      wanted_.unauthenticated_peers += 2;
      return;
    }
    // These fail in the handshake, which is not counted.
    expect(talk({frame(1, "?")}, other), grpc::StatusCode::UNAVAILABLE, "no certificate");
    Security wrong = make_credentials(1, seconds_since_1970());
    expect(talk({frame(1, "?")}, wrong), grpc::StatusCode::UNAVAILABLE,
           "another job's certificate");
    wrong.authority = security_.authority;  // trusts the job, which does not trust it
    expect(talk({frame(1, "?")}, wrong), grpc::StatusCode::UNAVAILABLE, "a wrong certificate");
  }

  void send_frames() {
    const std::string good = frame(1, "good");
    std::string version = good;
    version[4] = 9;
    std::vector<std::string> bad = {"",        "no frame at all",  std::string(60, 'x'),
                                    version,   good.substr(0, 40), good.substr(0, 50),
                                    good + "!"};
    if (random_() % 4 == 0) bad.push_back(frame(1, std::string(kLargestFrame, 'x')));
    for (const std::string& message : bad) {
      expect(talk({message}, security_), grpc::StatusCode::INVALID_ARGUMENT, "a malformed frame");
      ++wanted_.malformed;
    }
    expect(talk({good, frame(2, "b"), frame(2, "b")}, security_),
           grpc::StatusCode::INVALID_ARGUMENT, "a replayed frame");
    expect(talk({frame(7, "of another stream")}, security_), grpc::StatusCode::INVALID_ARGUMENT,
           "a frame of another stream");
    wanted_.replayed += 2;
    std::string damaged = good;
    damaged.back() = 'D';
    expect(talk({damaged}, security_), grpc::StatusCode::OK, "a damaged frame");
    ++wanted_.corrupt;
    for (int i = 0; i < 8; ++i) send_flipped(good);
  }
  // One bit is flipped, anywhere: it is noticed in one way or another.
  void send_flipped(std::string bytes) {
    const std::size_t bit = random_() % (8 * bytes.size());
    bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ (1 << bit % 8));
    const Talk talked = talk({bytes}, security_);
    const bool refused = talked.status.error_code() == grpc::StatusCode::INVALID_ARGUMENT;
    expect(talked, refused ? grpc::StatusCode::INVALID_ARGUMENT : grpc::StatusCode::OK,
           "a frame with a bit that is wrong");
    ++damaged_;
  }

  struct Talk {
    grpc::Status status;
    std::vector<std::string> answers;
  };
  Talk talk(const std::vector<std::string>& messages, const Security& as) {
    // A target that did not answer once is not asked again: it is stopped or disconnected.
    if (disturbed_) return {{grpc::StatusCode::UNAVAILABLE, ""}, {}};
    const auto channel = secure_channel(target_.address, as, {});
    const std::string path = "/trireme.Transport/" + target_.service;  // outlives the method
    const Method method(path.c_str(), channel, true);
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + kAnswer);
    add_token(context, as);
    const auto stream = method.open(&context);
    Talk talk;
    for (const std::string& message : messages) stream->Write({message});
    stream->WritesDone();
    for (Message answer; stream->Read(&answer);) talk.answers.push_back(answer.bytes);
    talk.status = stream->Finish();
    return talk;
  }
  // Every running target answers so; another answer means that another fault disturbs it.
  void expect(const Talk& talk, grpc::StatusCode code, const std::string& what) {
    const grpc::StatusCode got = talk.status.error_code();
    if (got != code &&
        (got == grpc::StatusCode::UNAVAILABLE || got == grpc::StatusCode::DEADLINE_EXCEEDED)) {
      disturbed_ = true;
      return;
    }
    std::string taken;
    for (const std::string& answer : talk.answers) {
      const Code said = decode_frame(Payload(answer)).frame.header.code;
      if (said == Code::ok || said == Code::duplicate) taken = name_of(said);
    }
    if (got == code && taken.empty()) return;
    if (!wrong_.empty()) wrong_ += "; ";
    wrong_ += fmt::format("{} was answered {} {}: {}", what, static_cast<int>(got), taken,
                          talk.status.error_message());
  }

  const Target target_;
  const Security security_;
  std::mt19937_64 random_;
  Counters wanted_;
  std::int64_t damaged_ = 0;  // frames that count as any of three
  bool disturbed_ = false;
  std::string wrong_;
};

}  // namespace

Visit visit(const Target& target, const Security& security, std::uint64_t seed) {
  return Visitor(target, security, seed).run();
}

void Strangers::start(FindTarget find, const Security& security, std::uint64_t seed) {
  visit_ = std::async(std::launch::async, [find = std::move(find), security, seed]() -> Visit {
    try {
      const std::optional<Target> target = find();
      return target ? visit(*target, security, seed) : Visit{"none"};
    } catch (const Unavailable&) {
      return {"none"};
    }
  });
}

std::optional<Visit> Strangers::over(bool wait) {
  if (!visit_.valid()) return std::nullopt;
  if (!wait && visit_.wait_for(Milliseconds(0)) != std::future_status::ready) return std::nullopt;
  return visit_.get();
}

}  // namespace trireme::chaos
