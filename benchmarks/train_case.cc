// train_case CASE THREADS SECONDS: measures training steps per second of one case of README.md and
// prints one JSON line. The programs of the peers generate the same data.
//
// train_case CASE THREADS check FOLDER: saves the initial parameters as a model in FOLDER and
// prints the losses of the first steps without dropout, for compare/check.py.

#include <cmath>
#include <cstdlib>
#include <iostream>
#include <string>
#include <vector>

#include "cases/case.h"

namespace tr = trireme;

namespace {

// README.md lists the names of the cases.
bench::Case make_case(const std::string& name, double dropout) {
  bench::Case dense = bench::make_dense(name, dropout), sequences = bench::make_sequences(name);
  if (!dense.batches.empty()) return dense;
  if (!sequences.batches.empty()) return sequences;
  std::cerr << "there is no case \"" << name
            << "\"\n  hint   benchmarks/README.md lists the cases\n";
  std::exit(2);
}

// Runs one training step and returns its loss, or 0 if the case has none.
float step(tr::Session& session, const bench::Case& c, std::int64_t i) {
  const tr::Feeds& feeds = c.batches[static_cast<std::size_t>(i) % c.batches.size()];
  const tr::RunOptions mode{.training = true, .updates = true};
  if (!c.loss) {
    session.run(feeds, {}, mode);
    return 0;
  }
  return session.run(feeds, {c.loss}, mode)[0].item<float>();
}

// Initializes the parameters before the first step, so that this time does not count as
// compilation.
void initialize_parameters(tr::Session& session, const tr::Program& program) {
  for (const tr::Value& parameter : program.parameters()) {
    session.parameter(parameter.name().substr(1));
  }
}

int check(const std::string& name, int threads, const std::string& folder) {
  bench::Case c = make_case(name, 0);
  tr::Session session(c.program, {.threads = threads});
  std::string names;
  for (const tr::Value& parameter : c.program.parameters()) {
    if (!bench::is_statistic(parameter)) {
      names += (names.empty() ? "\"" : ", \"") + parameter.name().substr(1) + "\"";
    }
  }
  if (c.loss) tr::save_model(c.program, session, folder, {.outputs = {c.loss}});
  c.add_updates();
  std::vector<float> losses;
  for (std::int64_t i = 0; i < 5; ++i) {
    losses.push_back(step(session, c, i));
    if (!c.loss) losses.back() = session.parameter("p0").data<float>()[0];
  }
  std::cout << "{\"case\": \"" << name << "\", \"losses\": " << bench::list(losses)
            << ", \"parameters\": [" << names << "]}\n";
  return 0;
}

int measure(const std::string& name, int threads, double seconds) {
  bench::Case c = make_case(name, 0.1);
  const double start = bench::now();
  c.add_updates();
  const double differentiated = bench::now() - start;
  tr::Session session(c.program, {.threads = threads});
  initialize_parameters(session, c.program);
  float last = 0;
  const bench::Timing timing =
      bench::measure(seconds, [&](std::int64_t i) { last = step(session, c, i); });
  std::cout << "{\"name\": \"trireme\", \"case\": \"" << name << "\", \"threads\": " << threads
            << ", \"steps_per_second\": " << timing.steps_per_second
            << ", \"first_step_seconds\": " << timing.first_step_seconds
            << ", \"compile_seconds\": " << differentiated + session.statistics().compile_ms / 1000
            << ", \"kernels_compiled\": " << session.statistics().kernels_compiled
            << ", \"peak_mb\": " << bench::peak_memory_mb() << ", \"loss\": " << last << "}\n";
  if (std::getenv("TRIREME_PROFILE") != nullptr) std::cerr << session.profile_table();
  return std::isfinite(last) ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    if (argc == 5 && std::string(argv[3]) == "check") {
      return check(argv[1], std::atoi(argv[2]), argv[4]);
    }
    if (argc == 4) return measure(argv[1], std::atoi(argv[2]), std::atof(argv[3]));
  } catch (const tr::Error& error) {
    std::cerr << "error: " << error.what() << '\n';
    return 1;
  }
  std::cerr << "usage: train_case CASE THREADS SECONDS, or CASE THREADS check FOLDER\n";
  return 2;
}
