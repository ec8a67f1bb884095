#include "distributed/control/server_clients.h"

#include <fmt/core.h>

#include <algorithm>
#include <sstream>

#include "base/error.h"

namespace trireme::distributed {
namespace {

constexpr Milliseconds kServerReplyTimeout{5000};  // to what takes no time
constexpr Milliseconds kServerPoll{100};           // between two looks at whether a server is gone

}  // namespace

std::uint64_t number_of(const std::string& text, const std::string& name) {
  std::uint64_t sum = 0;
  bool found = false;
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    if (word != name) continue;
    std::uint64_t number = 0;
    if (!(words >> number)) break;
    sum += number;
    found = true;
  }
  if (!found) fail_data("a server does not report its " + name);
  return sum;
}

Frame order(Op op, std::string payload) {
  Frame frame;
  frame.header.op = static_cast<std::uint8_t>(op);
  if (!payload.empty()) frame.payload = Payload(std::move(payload));
  return frame;
}

void ServerClients::aim(const std::vector<std::string>& addresses, std::uint64_t epoch) {
  epoch_ = epoch;
  std::vector<std::shared_ptr<Connection>> next;
  for (const std::string& address : addresses) {
    const auto known = std::find_if(servers_.begin(), servers_.end(),
                                    [&](const auto& each) { return each->address() == address; });
    next.push_back(
        known != servers_.end()
            ? *known
            : std::make_shared<Connection>(network_, ConnectionOptions{.address = address,
                                                                       .service = kParameterService,
                                                                       .security = security_}));
  }
  servers_ = std::move(next);
}

// A connection waits until its server returns. A replaced server does not return, at least not at
// this address.
Frame ServerClients::answer(std::size_t server, Pending& pending) const {
  const std::string& address = servers_[server]->address();
  while (!pending.wait(in(kServerPoll))) {
    if (gone_(server, address)) {
      throw Unavailable(fmt::format("server {} at {} is gone", server, address));
    }
  }
  Frame answer = pending.get();
  const Code code = answer.header.code;
  if (code == Code::ok) return answer;
  if (code == Code::stale) throw Deposed();
  const std::string text =
      fmt::format("server {} at {}: {} {}", server, address, name_of(code), answer.payload.text());
  if (code == Code::busy || code == Code::no_space || code == Code::corrupt) {
    throw Unavailable(text);
  }
  fail_io(text);
}

std::vector<Frame> ServerClients::ask_all(const std::function<Frame(std::size_t server)>& request,
                                          Milliseconds timeout) {
  const Deadline deadline = in(timeout);
  std::vector<Pending> pending;
  for (std::size_t i = 0; i < servers_.size(); ++i) {
    Frame frame = request(i);
    frame.header.sequence = epoch_;
    pending.push_back(servers_[i]->send(std::move(frame), deadline));
  }
  std::vector<Frame> answers;
  for (std::size_t i = 0; i < pending.size(); ++i) answers.push_back(answer(i, pending[i]));
  return answers;
}

Frame ServerClients::ask(std::size_t server, Frame request, Milliseconds timeout) {
  request.header.sequence = epoch_;
  Pending pending = servers_.at(server)->send(std::move(request), in(timeout));
  return answer(server, pending);
}

void ServerClients::set_map(const SlotMap& map) {
  ask_all([&](std::size_t) { return order(Op::set_map, map.to_bytes()); }, kServerReplyTimeout);
}

void ServerClients::set_map(std::size_t server, const SlotMap& map) {
  ask(server, order(Op::set_map, map.to_bytes()), kServerReplyTimeout);
}

void ServerClients::set_members(std::uint32_t generation, std::size_t members) {
  ask_all(
      [&](std::size_t) {
        Frame frame = order(Op::set_members);
        frame.header.generation = generation;
        frame.header.count = static_cast<std::uint32_t>(members);
        return frame;
      },
      kServerReplyTimeout);
}

std::uint64_t ServerClients::rows() {
  std::uint64_t rows = 0;
  for (const Frame& answer :
       ask_all([](std::size_t) { return order(Op::statistics); }, kServerReplyTimeout)) {
    const std::string text = answer.payload.text();
    if (text.find(" rows ") != std::string::npos) rows += number_of(text, "rows");
  }
  return rows;
}

std::uint32_t ServerClients::generation() {
  std::uint64_t highest = 0;
  for (const Frame& answer :
       ask_all([](std::size_t) { return order(Op::statistics); }, kServerReplyTimeout)) {
    highest = std::max(highest, number_of(answer.payload.text(), "generation"));
  }
  return static_cast<std::uint32_t>(highest);
}

ServerClients::Progress ServerClients::progress(int servers) {
  Progress lowest{UINT64_MAX, UINT64_MAX};
  const std::vector<Frame> answers =
      ask_all([](std::size_t) { return order(Op::statistics); }, kServerReplyTimeout);
  for (std::size_t i = 0; i < std::min(answers.size(), static_cast<std::size_t>(servers)); ++i) {
    const std::string text = answers[i].payload.text();
    lowest.step = std::min(lowest.step, number_of(text, "step"));
    lowest.updates = std::min(lowest.updates, number_of(text, "updates"));
  }
  return answers.empty() || servers == 0 ? Progress{} : lowest;
}

void ServerClients::begin_at(int server, std::uint32_t generation, std::size_t members,
                             const Progress& progress) {
  Frame frame = order(Op::set_members);
  frame.header.generation = generation;
  frame.header.count = static_cast<std::uint32_t>(members);
  std::uint64_t* const numbers = frame.payload.extend<std::uint64_t>(2);
  numbers[0] = progress.step;
  numbers[1] = progress.updates;
  ask(static_cast<std::size_t>(server), std::move(frame), kServerReplyTimeout);
}

}  // namespace trireme::distributed
