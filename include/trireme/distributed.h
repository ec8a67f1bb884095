#pragma once

// Trains your own Program with many processes. Compared with one process, only three lines change:
//
//   int main() {
//     tr::Program program("clicks");
//     tr::Value loss = ...;  // any network
//     tr::Member member = tr::Member::join(
//         {.distribution = {.mode = tr::Distribution::Mode::asynchronous}});
//     tr::Trainer trainer(program, member.distribute(
//         program, {.loss = loss, .optimizer = tr::Adagrad{}}));
//     member.train(trainer, tr::data::synthetic_clicks(...).shuffle(1).batch(256), {.epochs = 2});
//     if (member.is_chief()) {  // one of the training processes
//       std::cout << trainer.evaluate(...) << '\n';
//       member.save(trainer, "clicks", {.outputs = {sigmoid(logits)}});
//     }
//   }
//
//   ./clicks                                                     one process, like Trainer::fit()
//   trireme launch --program ./clicks --trainers 4 --servers 2   4 trainers, 2 parameter servers
//
// Link Trireme::distributed. docs/how-to/distributed-training.md, "Train a program of your own",
// describes what happens when a process fails.

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "trireme/data.h"
#include "trireme/export.h"
#include "trireme/job.h"
#include "trireme/program.h"
#include "trireme/saved_model.h"
#include "trireme/trainer.h"

namespace trireme {

struct MemberOptions {
  Distribution distribution = {};  // how processes train together: as [distributed] of a job file
  // The folder of the parameter servers for checkpoints, relative to the working directory, which
  // all processes share. Empty: the name of the Program with "-checkpoints".
  std::string checkpoints = {};
  // Their folder for exports, if Distribution::export_seconds is above 0. Empty: with "-exports".
  std::string exports = {};
};

// Must be equal in all processes of a job.
struct MemberTraining {
  int epochs = 1;
  // Called after each step of this process, counted from 1.
  std::function<void(std::int64_t step, double loss)> after_step = {};
};

// This process as a member of a training job; at most one in a process. If `trireme launch
// --program` started it, it finds the others through its environment (TRIREME_JOB_*). Otherwise it
// is a job of one process without network, with the same steps as Trainer::fit().
//
// It outlives the Trainer. Its destructor notifies the others that the chief is done, except during
// an exception: then another process becomes the chief, as after any failure. Not thread-safe.
class TRIREME_API Member {
 public:
  // Waits for the store of the job. In a launched process, SIGTERM then makes train() end properly,
  // and SIGINT and SIGPIPE are ignored. Errors: usage for options that do not match each other or
  // the servers of the job; Unavailable, an Error(io), if there is no answer.
  static Member join(MemberOptions options = {});
  ~Member();
  Member(Member&&) noexcept;
  Member& operator=(Member&&) = delete;

  bool is_launched() const;
  // The name of this process in the job, such as "trainer_1", for its messages and files. Empty if
  // alone. Processes join and leave, so they have no ranks; a replacement gets a new name.
  std::string name() const;
  // The number of processes that share the steps of an epoch at the start of the job, for
  // schedules; 1 if alone.
  int trainers() const;

  // Returns the options for the Trainer, to use instead of `options`, and rewrites the Program.
  // all_reduce inserts the exchange of gradients before the optimizer. The other modes keep
  // parameters on servers, which run the optimizer; embeddings with a sparse gradient become
  // tables. A Value that is the result of such a lookup is then replaced and must not be used any
  // more; Values computed from it stay valid. Call it once; the Program outlives the member.
  // Errors: usage for options that the mode does not support: docs/reference/distributed-jobs.md,
  // "Job keys per mode".
  TrainerOptions distribute(Program& program, TrainerOptions options);

  // Trains until the processes together have trained all epochs; each batch is trained by one of
  // them. Returns earlier if this process is requested to leave. `batches` and `training` must be
  // equal in all processes. Call it once. Errors: usage; io if servers or the master are
  // unavailable for minutes; errors of Trainer::step.
  void train(Trainer& trainer, const data::Batches& batches, const MemberTraining& training = {});

  // Returns whether this process tests and saves: one of the processes whose train() has finished.
  bool is_chief() const;

  // Saves the model as one process would. Fetches tables from servers first; afterwards the Trainer
  // cannot train any more. For the chief. If the tables have more than 4 GiB in total, returns
  // false and prints a line: they stay in the checkpoints and exports of the servers. Errors: as
  // Trainer::save.
  bool save(Trainer& trainer, const std::string& directory, const SaveOptions& options);

  // How this member ends if its destructor should not decide it. finish() notifies the others that
  // the chief is done, as the destructor does, and throws its errors: Unavailable. abandon() makes
  // another process the chief, as an exception does. After either, the destructor does neither.
  void finish();
  void abandon() noexcept;

 private:
  struct State;
  explicit Member(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace trireme
