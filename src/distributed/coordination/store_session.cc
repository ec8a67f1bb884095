#include "distributed/coordination/store_session.h"

#include <utility>

#include "base/error.h"

namespace trireme::distributed {
namespace {

constexpr Milliseconds kLeasePoll{100};  // between two looks at whether the lease is still there

}  // namespace

StoreSession::StoreSession(Store& store, std::int64_t seconds, Enter enter)
    : store_(store),
      seconds_(seconds),
      enter_(std::move(enter)),
      lease_(std::make_shared<const LeaseKeeper>(store, LeaseOptions{.seconds = seconds})),
      first_lease_(lease_->id()) {
  enter_(*lease_);
  entered_ = true;
  thread_ = std::thread([this] { run(); });
}

StoreSession::~StoreSession() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  wake_.notify_all();
  thread_.join();
}

StoreSession::Lease StoreSession::lease() const {
  const std::lock_guard lock(mutex_);
  return lease_;
}

bool StoreSession::lost() const { return lease()->lost(); }

std::int64_t StoreSession::absences() const {
  const std::lock_guard lock(mutex_);
  return absences_;
}

void StoreSession::check() const {
  const std::lock_guard lock(mutex_);
  if (failure_) std::rethrow_exception(failure_);
}

void StoreSession::become(Enter enter) {
  const std::lock_guard work(work_);
  enter_ = std::move(enter);
  entered_ = false;
  enter_(*lease());
  entered_ = true;
}

void StoreSession::with(const Enter& work) {
  const std::lock_guard lock(work_);
  work(*lease());
}

void StoreSession::run() {
  for (;;) {
    {
      std::unique_lock lock(mutex_);
      if (wake_.wait_for(lock, kLeasePoll, [this] { return stop_; })) return;
    }
    try {
      poll();
    } catch (const Unavailable&) {  // at the next look
    } catch (const Error& error) {
      if (error.kind() == ErrorKind::not_found) continue;  // the lease has ended, as it says soon
      const std::lock_guard lock(mutex_);
      failure_ = std::current_exception();
      return;
    }
  }
}

// A lease may exist without its keys: the store may have become unavailable in between.
void StoreSession::poll() {
  const std::lock_guard work(work_);
  if (lease()->ended()) {
    {
      // Before anybody can see that this process is back.
      const std::lock_guard lock(mutex_);
      if (entered_) ++absences_;
    }
    entered_ = false;
    Lease next = std::make_shared<const LeaseKeeper>(store_, LeaseOptions{.seconds = seconds_});
    const std::lock_guard lock(mutex_);
    lease_.swap(next);
  }
  if (!entered_) {
    written_.clear();
    enter_(*lease());
    entered_ = true;
  }
  write_published();
}

void StoreSession::publish(const std::string& key, std::string value) {
  const std::lock_guard lock(mutex_);
  published_[key] = std::move(value);
}

void StoreSession::write_published() {
  std::map<std::string, std::string> published;
  {
    const std::lock_guard lock(mutex_);
    published = published_;
  }
  for (auto& [key, value] : published) {
    std::string& written = written_[key];
    if (written == value) continue;
    store_.put(key, value, lease()->id());
    written = std::move(value);
  }
}

}  // namespace trireme::distributed
