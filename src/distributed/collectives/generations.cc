#include "distributed/collectives/generations.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>

#include "base/error.h"
#include "distributed/collectives/liveness_listener.h"

namespace trireme::distributed {
namespace {

constexpr const char* kRole = "ring";
constexpr Milliseconds kStopPoll{50};  // between two looks at whether to stop
constexpr Milliseconds kConflictRetryDelay{10};

// Returns the number before `end` in the text, or nothing.
std::optional<std::int64_t> number_before(char end, std::string_view& text) {
  std::int64_t number = 0;
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || number < 1 || rest == text.data() + text.size() || *rest != end) {
    return std::nullopt;
  }
  text.remove_prefix(static_cast<std::size_t>(rest - text.data()) + 1);
  return number;
}

}  // namespace

int Generation::rank_of(const std::string& name) const {
  const auto own = std::find_if(members.begin(), members.end(),
                                [&](const Seat& seat) { return seat.name == name; });
  return own == members.end() ? -1 : static_cast<int>(own - members.begin());
}

std::string text_of(const Generation& generation) {
  std::string text = std::to_string(generation.number);
  for (const Seat& seat : generation.members) text += fmt::format(" {}:{}", seat.since, seat.name);
  return text;
}

Generation generation_of(const std::string& key, const std::string& text) {
  const std::string ended = text + " ";
  std::string_view rest = ended;
  const auto refuse = [&]() {
    fail_data(fmt::format("the key {} holds no generation: \"{}\"", key, text));
  };
  const std::optional<std::int64_t> number = number_before(' ', rest);
  if (!number) refuse();
  Generation generation{*number, {}};
  while (!rest.empty()) {
    const std::optional<std::int64_t> since = number_before(':', rest);
    const std::size_t end = rest.find(' ');
    if (!since || *since > *number || end == 0 || end == std::string_view::npos) refuse();
    generation.members.push_back({std::string(rest.substr(0, end)), *since});
    rest.remove_prefix(end + 1);
  }
  return generation;
}

Generations::Generations(Store& store, const GenerationOptions& options)
    : store_(store),
      options_(options),
      generation_key_(options.prefix + "generation"),
      next_prefix_(options.prefix + "next/"),
      member_prefix_(process_prefix(options.prefix, kRole)) {
  if (options.name.empty() || options.name.find_first_of("/ ") != std::string::npos) {
    fail_usage(fmt::format("\"{}\" is no name of a member: no '/', no space, and not empty",
                           options.name));
  }
  if (options_.own_thread) thread_ = std::thread([this] { run(); });
}

Generations::~Generations() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  stopped_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void Generations::join(const LeaseKeeper& lease) {
  ProcessRegistry(store_, options_.prefix)
      .join({.name = options_.name, .role = kRole, .address = options_.address}, lease);
}

Generation Generations::current() const {
  const std::lock_guard lock(mutex_);
  if (failure_ != nullptr) std::rethrow_exception(failure_);
  return current_;
}

bool Generations::called() const {
  const std::lock_guard lock(mutex_);
  const auto next = present_.find(current_.number + 1);
  return next != present_.end() && !next->second.empty();
}

std::string Generations::next_prefix(std::int64_t number) const {
  return fmt::format("{}{}/", next_prefix_, number);
}

// The caller holds the mutex.
Condition Generations::still_current() const {
  return {generation_key_, Condition::Of::modified, Condition::Is::equal, {}, revision_};
}

void Generations::answer(const LeaseKeeper& lease) {
  Transaction say;
  std::int64_t number = 0;
  {
    const std::lock_guard lock(mutex_);
    number = current_.number + 1;
    if (answered_ == number) return;
    say.when = {still_current()};
    say.then = {Put{next_prefix(number) + options_.name, "", lease.id()}};
  }
  if (!store_.commit(say).succeeded) return;  // there is a newer one, which follow() will see
  const std::lock_guard lock(mutex_);
  answered_ = number;
  answered_at_ = Clock::now();
}

std::optional<Milliseconds> Generations::propose() {
  std::map<std::string, std::string> missing;
  std::set<std::string> old;
  bool lives = false;
  Transaction propose;
  Generation next;
  Clock::time_point until;
  {
    const std::lock_guard lock(mutex_);
    next.number = current_.number + 1;
    if (answered_ != next.number) return std::nullopt;
    until = answered_at_ + options_.settle;
    for (const Seat& seat : current_.members) old.insert(seat.name);
    lives = std::any_of(alive_.begin(), alive_.end(),
                        [&](const auto& member) { return old.contains(member.first); });
    missing = alive_;
    missing.insert(unsure_.begin(), unsure_.end());
    propose.when = {still_current()};
  }
  bool survives = false;
  std::map<std::string, std::int64_t> present;  // when they answered
  const std::string prefix = next_prefix(next.number);
  for (const Entry& entry : store_.list(prefix).entries) {
    const std::string name = entry.key.substr(prefix.size());
    present[name] = entry.created;
    missing.erase(name);
    survives = survives || old.contains(name);
    // One that vanishes before the commit costs time, as one that vanishes after it: the others
    // form another generation. So a store need not compare more than it can.
    if (propose.when.size() < kMaxActions) propose.when.push_back(unchanged(entry));
  }
  if (present.size() < options_.min_members || (lives && !survives)) return std::nullopt;
  const auto left = std::chrono::duration_cast<Milliseconds>(until - Clock::now());
  if (!missing.empty() && left.count() > 0 && !all_gone(missing)) return left;
  next.members = seats(present);
  propose.then = {Put{generation_key_, text_of(next), 0}, Erase{next_prefix_, true}};
  if (store_.commit(propose).succeeded) return std::nullopt;
  return kConflictRetryDelay;
}

// Asks each member once per generation.
bool Generations::all_gone(const std::map<std::string, std::string>& missing) {
  bool all = true;
  for (const auto& [name, entry] : missing) {
    {
      const std::lock_guard lock(mutex_);
      const auto known = gone_.find(name);
      if (known != gone_.end()) {
        all = all && known->second;
        continue;
      }
    }
    const bool gone = is_gone(process_of(member_prefix_ + name, entry).address);
    all = all && gone;
    const std::lock_guard lock(mutex_);
    gone_[name] = gone;
  }
  return all;
}

// Members of the current generation keep their order; new ones follow in the order of their
// answers.
std::vector<Seat> Generations::seats(const std::map<std::string, std::int64_t>& present) const {
  const std::lock_guard lock(mutex_);
  std::vector<Seat> seats, more;
  for (const Seat& seat : current_.members) {
    if (present.contains(seat.name)) seats.push_back(seat);
  }
  for (const auto& [name, answered] : present) {
    if (current_.rank_of(name) < 0) more.push_back({name, current_.number + 1});
  }
  std::sort(more.begin(), more.end(),
            [&](const Seat& a, const Seat& b) { return present.at(a.name) < present.at(b.name); });
  seats.insert(seats.end(), more.begin(), more.end());
  return seats;
}

void Generations::run() {
  while (follow(kStopPoll)) {
    if (watch_ != nullptr) continue;
    std::unique_lock lock(mutex_);
    if (stopped_.wait_for(lock, kConflictRetryDelay, [this] { return stop_; })) return;
  }
}

void Generations::poll() { follow(Milliseconds(0)); }

// Takes changes, or reads everything again without a watch. Returns whether to go on.
bool Generations::follow(Milliseconds timeout) {
  {
    const std::lock_guard lock(mutex_);
    if (stop_ || failure_ != nullptr) return false;
  }
  try {
    if (watch_ == nullptr) read();
    else take(timeout);
    return true;
  } catch (const Unavailable&) {
    watch_.reset();
  } catch (const Error&) {
    const std::lock_guard lock(mutex_);
    failure_ = std::current_exception();
  }
  if (options_.on_change) options_.on_change();
  return true;
}

void Generations::read() {
  const Store::Listing listing = store_.list(options_.prefix);
  std::unique_ptr<Watch> watch = store_.watch(options_.prefix, listing.revision + 1);
  {
    const std::lock_guard lock(mutex_);
    present_.clear();
    alive_.clear();
    answered_ = 0;
    for (const Entry& entry : listing.entries) apply({false, entry});
  }
  watch_ = std::move(watch);
  if (options_.on_change) options_.on_change();
}

void Generations::take(Milliseconds timeout) {
  const Events events = watch_->wait(timeout);
  if (events.compacted) {
    watch_.reset();
  } else {
    const std::lock_guard lock(mutex_);
    for (const Event& event : events.events) apply(event);
  }
  if ((events.compacted || !events.events.empty()) && options_.on_change) options_.on_change();
}

// The caller holds the mutex.
void Generations::apply(const Event& event) {
  const std::string& key = event.entry.key;
  if (key == generation_key_) {
    current_ = event.erased ? Generation{} : generation_of(key, event.entry.value);
    revision_ = event.erased ? 0 : event.entry.modified;
    gone_.clear();
    unsure_.clear();
    present_.erase(present_.begin(), present_.upper_bound(current_.number));
  } else if (key.starts_with(next_prefix_)) {
    std::string_view name = std::string_view(key).substr(next_prefix_.size());
    const std::optional<std::int64_t> number = number_before('/', name);
    if (!number) fail_data(fmt::format("the key {} tells no generation", key));
    if (*number <= current_.number) return;
    if (!event.erased) {
      present_[*number].emplace(name);
      if (name == options_.name && answered_ != *number) {
        answered_ = *number;
        answered_at_ = Clock::now();
      }
    } else {
      present_[*number].erase(std::string(name));
      if (name == options_.name && answered_ == *number) answered_ = 0;
    }
  } else if (key.starts_with(member_prefix_)) {
    const std::string name = key.substr(member_prefix_.size());
    if (event.erased) {
      // While the store was unavailable, the lease of a living member may have expired; it gets a
      // new one.
      if (current_.rank_of(name) >= 0 && alive_.contains(name)) unsure_[name] = alive_[name];
      alive_.erase(name);
    } else {
      unsure_.erase(name);
      alive_[name] = event.entry.value;
    }
  }
}

}  // namespace trireme::distributed
