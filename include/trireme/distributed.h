#pragma once

// Training a Program of one's own by many processes. The program stays as it is for one process, but for three lines:
//
//   int main() {
//     tr::Program program("clicks");
//     tr::Value loss = ...;                                  // any network
//     tr::Member member = tr::Member::join({.distribution = {.mode = tr::Distribution::Mode::asynchronous}});
//     tr::Trainer trainer(program, member.distribute(program, {.loss = loss, .optimizer = tr::Adagrad{}}));
//     member.train(trainer, tr::data::made_clicks(...).shuffle(1).batch(256), {.epochs = 2});
//     if (member.is_chief()) {                               // one of those that have trained
//       std::cout << trainer.evaluate(...) << '\n';
//       member.save(trainer, "clicks", {.outputs = {sigmoid(logits)}});
//     }
//   }
//
//   ./clicks                                                        one process, as with Trainer::fit()
//   trireme launch --program ./clicks --trainers 4 --servers 2      four that train, and two parameter servers
//
// Link Trireme::distributed. docs/how-to/distributed-training.md, "Train a program of your own", tells what happens when a process dies.

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
  // Where parameter servers write checkpoints; relative to the working directory, which all processes share. Empty:
  // the Program's name with "-checkpoints".
  std::string checkpoints = {};
  // Where they write exports, if Distribution::export_seconds asks for some; likewise, with "-exports".
  std::string exports = {};
};

// All processes of a job say the same.
struct MemberTraining {
  int epochs = 1;
  // Called after each of this process's own steps, counted from 1.
  std::function<void(std::int64_t step, double loss)> after_step = {};
};

// This process as one of those that train a Program together; one for a process. Started by `trireme launch --program` it finds the
// others by its environment (TRIREME_JOB_*); started by hand it is a job of one process, without network, whose steps
// are those of Trainer::fit().
//
// It outlives the Trainer. Its end tells the others that the chief is done, unless an exception is the reason for it:
// then another process takes the chief's place, as for any that dies. Not for several threads at once.
class TRIREME_API Member {
 public:
  // Waits for the job's store. In a launched process SIGTERM then asks train() to end in good order, SIGINT and
  // SIGPIPE are ignored. Errors: usage, for options that fit neither each other nor the job's servers; Unavailable as
  // Error(io), when nobody answers.
  static Member join(MemberOptions options = {});
  ~Member();
  Member(Member&&) noexcept;
  Member& operator=(Member&&) = delete;

  bool is_launched() const;
  // How many processes share the steps of an epoch as the job began, for schedules: 1 alone.
  int trainers() const;

  // What the Trainer is to be made with, instead of `options`. Making it rewrites the Program: all_reduce puts the exchange
  // of gradients before the optimizer; the other modes keep parameters on servers, where those that are looked up with
  // a sparse gradient become tables, and servers do what the optimizer says; a Value that is looked-up rows itself is then
  // replaced and not to be used any more, other than what was made of it. Once; the Program outlives the member.
  // Errors: usage, for what many processes cannot keep to in that mode: docs/reference/distributed-jobs.md, "Job keys per mode"
  TrainerOptions distribute(Program& program, TrainerOptions options);

  // Once. Trains until all processes have learned all epochs together: each batch is learned by one of them. Also ends, early,
  // when this process is asked to leave. Batches are the same in all processes, as is `training`.
  // Errors: usage; io, when servers or master are gone for minutes; what Trainer::step throws.
  void train(Trainer& trainer, const data::Batches& batches, const MemberTraining& training = {});

  // Whether this process is the one that tests and saves: of those that train() has brought to the end, one.
  bool is_chief() const;

  // The model as one process would save it: fetches tables from servers first; afterwards the Trainer trains no more.
  // Of the chief. False, and a line that says so: tables of more than 4 GiB together stay in the servers' checkpoints and exports.
  // Errors: as Trainer::save.
  bool save(Trainer& trainer, const std::string& directory, const SaveOptions& options);

 private:
  struct State;
  explicit Member(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace trireme
