#pragma once

// The client of parameter servers, for a thread of a trainer.

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "distributed/coordination/store.h"
#include "distributed/server/dedup_table.h"
#include "distributed/server/protocol.h"
#include "distributed/server/slot_map.h"
#include "distributed/server/spread.h"
#include "distributed/table/table.h"
#include "distributed/transport/connection.h"

namespace trireme::distributed {

struct ServerView {
  SlotMap map;
  std::vector<std::string> addresses;  // of the servers of the map
};

struct ClientOptions {
  std::function<ServerView()>
      view;  // returns the newest; called first, and when a server reports that ours is old
  Security security = {};
  // Unique among all clients of the job so far, for example the revision at which it joined.
  std::uint32_t sender = 0;
  Milliseconds deadline{30000};  // of a call with all its attempts
  Milliseconds attempt{5000};    // of one request
  int depth = 32;                // requests in flight at each server, which hide a long latency
  std::size_t part_bytes = 1u << 20;  // larger requests are cut if possible
  Spread spread = spread_by_size;     // the same in all processes of the job
};

struct ClientStatistics {
  std::uint64_t requests = 0;    // parts of calls
  std::uint64_t again = 0;       // repeated ones
  std::uint64_t duplicates = 0;  // answers that the request had been applied before
  std::uint64_t maps = 0;        // reads of the map
};

// The generation of a step has ended, or its servers have changed: join the new one and repeat the
// step.
class StaleGeneration : public Error {
 public:
  explicit StaleGeneration(const std::string& message) : Error(ErrorKind::io, message) {}
};

// The identity of a push, so that it is applied once.
struct PushId {
  // The next number of the client: for pushes that no other client repeats.
  static PushId next() { return {}; }
  // Batch `batch` of a task, both from 0. A later owner of the task makes the same batches in the
  // same order. The epoch counts passes over all tasks.
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
  std::span<const float> weights;  // initial values
};

class Call;

// A call in progress. The client and all pointer arguments outlive it. A destroyed one is not
// repeated.
class Underway {
 public:
  Underway(Underway&&) noexcept;
  Underway& operator=(Underway&&) noexcept;
  ~Underway();
  // Waits for the end. Errors: as the calls of the client. After Unavailable it may be called again
  // and continues.
  void wait();

 private:
  friend class ParameterClient;
  struct State;
  explicit Underway(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

// One for each thread. Errors of all calls: Unavailable at the deadline; usage for refused
// requests; io.
class ParameterClient {
 public:
  // Reads the map at its first use. The network outlives the client.
  ParameterClient(Network& network, const ClientOptions& options);
  ~ParameterClient();

  // Declares a table on all servers; repeating it with the same options has no effect. Errors:
  // usage for a different earlier declaration.
  void declare(std::uint32_t number, const TableDeclaration& declaration);
  // Declares all dense parameters of the job by their numbers. The weights of the first client are
  // used.
  void declare(const std::vector<DenseParameter>& parameters);

  // As SparseTable::lookup, update, add_deltas and count. Repeated ids are sent once. Admission
  // counts them once for each call.
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

  // The same without waiting: wait() writes the rows. At most 62 other pushes may start between a
  // push in flight and the newest one, so that servers can remember them. Errors: usage.
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
  // The same without waiting; the floats are used until wait() returns.
  [[nodiscard]] Underway start_pull(std::uint32_t number, float* weights);
  [[nodiscard]] Underway start_push(std::uint32_t number, const float* gradient,
                                    const UpdateStep& step, const PushId& id = PushId::next());

  // Sets the generation and the rank of this client. Its pushes belong to this generation and are
  // refused (StaleGeneration) in others. Synchronous tables need it; without it, pushes belong to
  // any generation.
  void join(std::uint32_t generation, std::uint32_t rank);
  // Sets the step, from 1, of later pushes to synchronous tables and parameters.
  void begin_step(std::uint64_t step);
  // Waits until all members have finished this step, which is then applied. `examples`: the
  // gradients of this member are sums over this number of examples. Then the mean over the examples
  // of all members is applied, and their number is returned. If all pass 0, gradients are added
  // unchanged. Errors: StaleGeneration.
  std::uint64_t finish_step(std::uint64_t examples = 0);

  // The sum of the digests of the slots of all servers.
  std::uint64_t digest(std::uint32_t table);
  ClientStatistics statistics() const;

 private:
  friend class Underway;
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace trireme::distributed
