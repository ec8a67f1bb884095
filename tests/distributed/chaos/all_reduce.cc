#include <fmt/core.h>

#include <chrono>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <thread>

#include "base/error.h"
#include "distributed/collectives/elastic_group.h"
#include "distributed/control/group_member.h"
#include "distributed/control/testing/count_trainer.h"
#include "tasks.h"
#include "together.h"

namespace trireme::chaos {

using namespace distributed;

namespace {

using Steady = std::chrono::steady_clock;
constexpr Milliseconds kPause{5}, kWork{45}, kPublished{250};

long long now() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(Steady::now().time_since_epoch())
      .count();
}

std::string concluded_key(const RoleOptions& options) { return options.prefix + "concluded"; }

// The job is over, or this process must leave, before its group has begun.
class EndsHere {};

class Member {
 public:
  Member(Store& store, const RoleOptions& options, const CountJob& job)
      : store_(store),
        options_(options),
        job_(job),
        member_(store, options),
        tasks_(store, network_, options, CountTrainer::kTask),
        keeper_(store, {.prefix = options.prefix,
                        .name = options.name,
                        .folder = job.folder,
                        .stop = options.stop}),
        counts_(static_cast<std::size_t>(job.records)),
        group_(store, group_options(),
               {[this] { return save(); }, [this](auto b) { restore(b); },
                [this](std::int64_t generation) { return found(generation); }}) {}

  void run() try {
    while (!options_.stop()) {
      member_.stay();
      tasks_.fill();
      enter(*group_.begin());
      if (!take_step()) continue;  // another member's counts were taken: the batch again
      std::this_thread::sleep_for(tasks_.batch() ? work_time(job_, kWork) : kPause);
      tasks_.next();
      if (batches_ > 0) continue;
      if (tasks_.all_done()) return conclude();
      if (rank_ == 0) keeper_.save_if_asked(group_.committed(), [this] { return save(); });
    }
  } catch (const EndsHere&) {
  }

 private:
  ElasticOptions group_options() const {
    ElasticOptions options;
    options.prefix = options_.prefix + "group/";
    options.name = options_.name;
    options.group.address = own_ip(options_);
    options.group.timeout = Milliseconds(3000);
    options.group.form_timeout = Milliseconds(2000);
    return options;
  }
  // No member with counts remains, or there was none yet.
  std::int64_t found(std::int64_t generation) {
    if (store_.get(concluded_key(options_))) throw EndsHere();
    const std::optional<GroupStart> start = keeper_.found(generation);
    if (!start) throw EndsHere();
    std::fill(counts_.begin(), counts_.end(), 0.0);
    if (start->checkpoint > 0) restore(keeper_.load(*start, counts_.size() * sizeof(double)));
    return start->committed;
  }
  void enter(const Group& group) {
    if (group.generation() != told_) tasks_.forget_before(keeper_.start().rollbacks);
    rank_ = group.rank();
    tell(group);
  }
  // Ones for the records of the batch, and the number of members with a batch, summed over all
  // members.
  bool take_step() {
    std::vector<double> sums;
    const bool done = group_.step([&](const std::shared_ptr<Group>& group) {
      sums.assign(counts_.size() + 1, 0);
      if (const auto* records = tasks_.batch()) {
        for (const std::uint64_t record : *records) sums[record] = 1;
        sums.back() = 1;
      }
      try {
        tell(*group);
        group->all_reduce(std::span(sums));
      } catch (const GroupBroken&) {
        std::printf("broken %lld\n", now());
        std::fflush(stdout);
        throw;
      }
    });
    if (!done) return false;
    for (std::size_t i = 0; i < counts_.size(); ++i) counts_[i] += sums[i];
    batches_ = sums.back();
    return true;
  }
  // Prints the members of the group, after changes and regularly.
  void tell(const Group& group) {
    if (group.generation() == told_ && Steady::now() < next_) return;
    std::printf("group %lld %d %lld\n", static_cast<long long>(group.generation()), group.size(),
                group.generation() == told_ ? 0 : now());
    std::fflush(stdout);
    told_ = group.generation();
    next_ = Steady::now() + kPublished;
  }
  // A member without counts joined after the others had ended.
  void conclude() {
    if (std::accumulate(counts_.begin(), counts_.end(), 0.0) == 0) return;
    const std::string file = job_.folder + "/counts." + options_.name;
    std::filesystem::create_directories(job_.folder);
    std::ofstream(file, std::ios::binary)
        .write(reinterpret_cast<const char*>(counts_.data()),
               static_cast<std::streamsize>(counts_.size() * sizeof(double)));
    store_.put(concluded_key(options_), options_.name);
  }
  std::vector<std::byte> save() const {
    std::vector<std::byte> bytes(counts_.size() * sizeof(double));
    std::memcpy(bytes.data(), counts_.data(), bytes.size());
    return bytes;
  }
  void restore(std::span<const std::byte> bytes) {
    if (bytes.size() != counts_.size() * sizeof(double)) fail_data("counts of another job");
    std::memcpy(counts_.data(), bytes.data(), bytes.size());
  }

  Store& store_;
  const RoleOptions& options_;
  const CountJob& job_;
  distributed::Network network_;
  Attendance member_;
  Batches tasks_;
  GroupMember keeper_;
  int rank_ = 0;
  std::vector<double> counts_;
  double batches_ = 0;  // of the last step
  std::int64_t told_ = 0;
  Steady::time_point next_ = {};
  ElasticGroup group_;
};

}  // namespace

void count_by_all_reduce(const RoleOptions& options, const CountJob& job) {
  const std::unique_ptr<Store> store = open_store(options);
  if (store->get(concluded_key(options))) return;
  Member(*store, options, job).run();
}

std::vector<double> counts_in(const std::string& file, std::int64_t records) {
  std::vector<double> counts(static_cast<std::size_t>(records));
  const auto bytes = static_cast<std::streamsize>(counts.size() * sizeof(double));
  std::ifstream stream(file, std::ios::binary);
  stream.read(reinterpret_cast<char*>(counts.data()), bytes);
  if (stream.gcount() != bytes) fail_data(file + " ends too early");
  return counts;
}

}  // namespace trireme::chaos
