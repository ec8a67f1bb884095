// collective_member STORE PREFIX NAME [KEY=VALUE...]: one member of an elastic group, as a process
// that tests kill and stop. It sums gradients with a known mean, so that any lost, repeated or
// partial step shows in its state. When one member gets SIGTERM, all end with the same step. Keys:
// count (of values), least, timeout, settle, form, lease (milliseconds; the lease in seconds),
// pause (microseconds of the computation of a step). It prints one line for each event, with the
// time of the monotonic clock in nanoseconds at its end:
//
// - group GENERATION RANK SIZE COMMITTED TIME: agreed in a group
// - broken TIME: it lost a member
// - step COMMITTED GENERATION SIZE TIME: committed a step
// - again COMMITTED TIME: restored the state of another member within a step
// - done COMMITTED STATE TIME: STATE is "right", or describes the error

#include <fmt/core.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "distributed/collectives/bucketed_all_reduce.h"
#include "distributed/collectives/elastic_group.h"
#include "distributed/coordination/etcd_store.h"

namespace {

using namespace trireme::distributed;

std::atomic<int> end_wanted{0};  // set by a signal handler on any thread

std::int64_t now() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

template <class... Values>
void say(fmt::format_string<Values...> text, Values&&... values) {
  const std::string line = fmt::format(text, std::forward<Values>(values)...);
  std::printf("%s %lld\n", line.c_str(), static_cast<long long>(now()));
  std::fflush(stdout);
}

// Small integers: their sums and means are exact in any order.
float gradient_of(std::int64_t step, std::size_t i) {
  return static_cast<float>((static_cast<std::uint64_t>(step) * 7 + i * 3) % 13);
}

class Member {
 public:
  Member(Store& store, const std::string& prefix, const std::string& name,
         std::map<std::string, std::int64_t> numbers)
      : pause_(numbers["pause"]),
        state_(static_cast<std::size_t>(numbers["count"])),
        gradients_(state_.size()),
        buckets_({.bytes = std::max<std::size_t>(state_.size(), 4)}),  // four of them
        group_(store, options(prefix, name, numbers),
               {[this] { return save(); }, [this](auto bytes) { restore(bytes); }}) {}

  void run() {
    std::int64_t generation = 0;
    while (wanting_end_ == 0) {
      const std::shared_ptr<Group> group = group_.begin();
      if (group->generation() != generation) announce(*group, &generation);
      buckets_.begin(group);
      std::this_thread::sleep_for(std::chrono::microseconds(pause_));
      compute();
      if (!group_.step([&](const std::shared_ptr<Group>& g) { exchange(g, &generation); })) {
        say("again {}", group_.committed());
        wanting_end_ = 0;
        continue;
      }
      const std::size_t half = gradients_.size() / 2;
      buckets_.take(0, std::span(gradients_).first(half));
      buckets_.take(1, std::span(gradients_).subspan(half));
      for (std::size_t i = 0; i < state_.size(); ++i)
        state_[i] += static_cast<double>(gradients_[i]);
      say("step {} {} {}", group_.committed(), generation, size_);
    }
    say("done {} {}", group_.committed(), verdict());
  }

 private:
  static ElasticOptions options(const std::string& prefix, const std::string& name,
                                std::map<std::string, std::int64_t>& numbers) {
    ElasticOptions options;
    options.prefix = prefix;
    options.name = name;
    options.min_members = static_cast<std::size_t>(numbers["min_members"]);
    options.lease = numbers["lease"];
    options.settle = Milliseconds(numbers["settle"]);
    options.group.timeout = Milliseconds(numbers["timeout"]);
    options.group.form_timeout = Milliseconds(numbers["form"]);
    return options;
  }

  void announce(const Group& group, std::int64_t* generation) {
    *generation = group.generation();
    size_ = group.size();
    say("group {} {} {} {}", group.generation(), group.rank(), group.size(), group_.committed());
  }

  void compute() {
    const std::size_t half = gradients_.size() / 2;
    for (std::size_t i = 0; i < gradients_.size(); ++i) {
      gradients_[i] = gradient_of(group_.committed(), i);
    }
    buckets_.add(std::span(gradients_).first(half));
    buckets_.add(std::span(gradients_).subspan(half));
  }

  void exchange(const std::shared_ptr<Group>& group, std::int64_t* generation) {
    if (group->generation() != *generation) announce(*group, generation);
    try {
      buckets_.wait(group);
      wanting_end_ = end_wanted;
      group->all_reduce(std::span(&wanting_end_, 1));
    } catch (const GroupBroken&) {
      say("broken");
      throw;
    }
  }

  std::vector<std::byte> save() const {
    std::vector<std::byte> bytes(state_.size() * sizeof(double));
    std::memcpy(bytes.data(), state_.data(), bytes.size());
    return bytes;
  }
  void restore(std::span<const std::byte> bytes) {
    state_.resize(bytes.size() / sizeof(double));
    std::memcpy(state_.data(), bytes.data(), bytes.size());
  }

  std::string verdict() const {
    for (std::size_t i = 0; i < state_.size(); ++i) {
      double expected = 0;
      for (std::int64_t step = 0; step < group_.committed(); ++step) {
        expected += static_cast<double>(gradient_of(step, i));
      }
      if (state_[i] != expected) return fmt::format("{}:{}!={}", i, state_[i], expected);
    }
    return "right";
  }

  const std::int64_t pause_;
  std::vector<double> state_;
  std::vector<float> gradients_;
  BucketedAllReduce buckets_;
  int size_ = 0;
  std::int64_t wanting_end_ = 0;  // members, at the last step
  ElasticGroup group_;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) {
    std::fprintf(stderr, "usage: collective_member STORE PREFIX NAME [KEY=VALUE...]\n");
    return 2;
  }
  std::map<std::string, std::int64_t> numbers = {
      {"count", 1000},    {"min_members", 1}, {"lease", 5}, {"settle", 500},
      {"timeout", 10000}, {"form", 2000},     {"pause", 0}, {"token", 1}};
  for (int i = 4; i < argc; ++i) {
    const std::string text = argv[i];
    const std::size_t equals = std::min(text.find('='), text.size() - 1);
    numbers[text.substr(0, equals)] = std::atoll(text.c_str() + equals + 1);
  }
  std::signal(SIGTERM, [](int) { end_wanted = 1; });
  try {
    EtcdOptions etcd{.address = argv[1]};
    if (numbers["token"] != 0) etcd.security.token = "open sesame";
    const auto store = connect_etcd(etcd);
    Member(*store, argv[2], argv[3], numbers).run();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s: %s\n", argv[3], error.what());
    return 1;
  }
  return 0;
}
