#pragma once

// What a trainer's thread asks parameter servers by.

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "distributed/coordination/store.h"
#include "distributed/server/marks.h"
#include "distributed/server/protocol.h"
#include "distributed/server/slot_map.h"
#include "distributed/server/spread.h"
#include "distributed/table/table.h"
#include "distributed/transport/connection.h"

namespace trireme::distributed {

struct ServerView {
  SlotMap map;
  std::vector<std::string> addresses;  // of the map's servers
};

struct ClientOptions {
  std::function<ServerView()>
      view;  // the newest; asked for at first, and when servers say that ours is old
  Security security = {};
  // Of this client alone, among all that ever were in the job: such as the revision at which it
  // joined.
  std::uint32_t sender = 0;
  Milliseconds deadline{30000};  // of a call, with all attempts
  Milliseconds attempt{5000};    // of one request
  int depth = 32;                // requests under way at each server: what waits for a long link
  std::size_t part_bytes = 1u << 20;  // larger requests are cut, if they can be
  Spread spread = spread_by_size;     // the same in all processes of the job
};

struct ClientStatistics {
  std::uint64_t requests = 0;    // parts of calls
  std::uint64_t again = 0;       // of these, asked again
  std::uint64_t duplicates = 0;  // answers that said it had been done
  std::uint64_t maps = 0;        // how often the map was read
};

// The generation that a step belonged to is over, or its servers have changed: learn the new one,
// and repeat the step.
class StaleGeneration : public Error {
 public:
  explicit StaleGeneration(const std::string& message) : Error(ErrorKind::io, message) {}
};

// What a push is known by, so that it is applied once.
struct PushId {
  // The client's next: for pushes that nobody else will ever repeat.
  static PushId next() { return {}; }
  // Batch `batch` of a task, both from 0: whoever has the task after somebody else makes the same
  // batches, in the same order; the epoch counts passes over all tasks.
  static PushId of_task(std::uint32_t task, std::uint32_t epoch, std::uint32_t batch) {
    return {true, task, number_of_batch(epoch, batch)};
  }
  bool is_task = false;
  std::uint32_t number = 0;
  std::uint64_t sequence = 0;
};

struct DenseParameter {
  std::uint32_t number = 0;
  DenseDeclaration declaration;
  std::span<const float> weights;  // at first
};

class Call;

// A call under way. The client and what was passed by pointer outlive it. One that is let go is not
// asked for again.
class Underway {
 public:
  Underway(Underway&&) noexcept;
  Underway& operator=(Underway&&) noexcept;
  ~Underway();
  // Until it is done. Errors: as of the client's calls. After Unavailable it may be called again,
  // and goes on.
  void wait();

 private:
  friend class ParameterClient;
  struct State;
  explicit Underway(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

// One for each thread. Errors of all calls: Unavailable, by the deadline; usage, for what servers
// refuse; io.
class ParameterClient {
 public:
  // The map is read when it is first needed. The network outlives the client.
  ParameterClient(Network& network, const ClientOptions& options);
  ~ParameterClient();

  // Declares tables on all servers; again with the same options changes nothing. Errors: usage, if
  // it was declared with others.
  void declare(std::uint32_t number, const TableDeclaration& declaration);
  // All dense parameters of the job, in the order of their numbers; the first client's weights
  // count.
  void declare(const std::vector<DenseParameter>& parameters);

  // As SparseTable::lookup, update, add_deltas and count. An id that is named several times travels
  // once. Admission counts it once for each call.
  void lookup(std::uint32_t table, std::span<const Id> ids, float* rows,
              Create create = Create::yes) {
    prefetch(table, ids, rows, create).wait();
  }
  void push(std::uint32_t table, std::span<const Id> ids, const float* gradients,
            const UpdateStep& step, const PushId& id = PushId::next()) {
    start_push(table, ids, gradients, step, id).wait();
  }
  void push_deltas(std::uint32_t table, std::span<const Id> ids, const float* deltas,
                   const PushId& id = PushId::next()) {
    start_push(table, ids, deltas, {}, id).wait();
  }
  void count(std::uint32_t table, std::span<const Id> ids, const float* counts,
             const PushId& id = PushId::next()) {
    start_count(table, ids, counts, id).wait();
  }

  // The same, without waiting: rows are written during wait(). Between a push that is under way and
  // the newest one at most 62 others may have been started, so that servers can tell what they have
  // seen. Errors: usage.
  [[nodiscard]] Underway prefetch(std::uint32_t table, std::span<const Id> ids, float* rows,
                                  Create create = Create::yes);
  [[nodiscard]] Underway start_push(std::uint32_t table, std::span<const Id> ids,
                                    const float* values, const UpdateStep& step,
                                    const PushId& id = PushId::next());
  [[nodiscard]] Underway start_count(std::uint32_t table, std::span<const Id> ids,
                                     const float* counts, const PushId& id = PushId::next());

  // Whole dense parameters.
  void pull(std::uint32_t number, float* weights) { start_pull(number, weights).wait(); }
  void push(std::uint32_t number, const float* gradient, const UpdateStep& step,
            const PushId& id = PushId::next()) {
    start_push(number, gradient, step, id).wait();
  }
  // The same, without waiting, as of rows; the floats are read and written until wait() has
  // returned.
  [[nodiscard]] Underway start_pull(std::uint32_t number, float* weights);
  [[nodiscard]] Underway start_push(std::uint32_t number, const float* gradient,
                                    const UpdateStep& step, const PushId& id = PushId::next());

  // Which member of which generation this client is. What it pushes is of that generation, and
  // refused (StaleGeneration) in others. Synchronous tables need it; without, pushes are of any
  // generation.
  void join(std::uint32_t generation, std::uint32_t rank);
  // The step, from 1, that pushes to synchronous tables and parameters belong to from now on.
  void begin_step(std::uint64_t step);
  // Waits until all members have finished this step, which is then applied. `examples`: how many
  // this member's gradients are sums over; then what is applied is the mean over those of all
  // members, whose number is returned. 0 by all: gradients are added up as they are. Errors:
  // StaleGeneration.
  std::uint64_t finish_step(std::uint64_t examples = 0);

  // The sum of all servers' digests of their slots.
  std::uint64_t digest(std::uint32_t table);
  ClientStatistics statistics() const;

 private:
  friend class Underway;
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace trireme::distributed
