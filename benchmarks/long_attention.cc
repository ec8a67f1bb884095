// long_attention FORM STEPS HEADS SECONDS: a training step (Adam) of causal self-attention over one
// sequence of STEPS rows with heads of 64 columns; FORM is `masked`, which stores the scores, or
// `blockwise`. Prints a JSON line.

#include <cmath>
#include <cstdlib>
#include <iostream>
#include <string>

#include "measuring.h"
#include "trireme/trireme.h"

namespace tr = trireme;
namespace nn = trireme::nn;

namespace {

int measure(const std::string& form, std::int64_t steps, std::int64_t heads, double seconds) {
  tr::Program program("long_attention");
  const std::int64_t width = 64 * heads;
  const tr::Value x = program.input("x", tr::f32, {tr::batch, steps, width});
  const tr::Value y = nn::multi_head_attention(
      x, x, x, {.heads = heads, .causal = true, .blockwise = form == "blockwise"});
  const tr::Value loss = tr::mean((y - x) * (y - x));
  tr::minimize(loss, tr::Adam{.learning_rate = 1e-3});
  tr::Session session(program, {.threads = 2});
  const tr::Feeds feeds{
      {"x", bench::made_up<float>({1, steps, width}, 1, [](float u) { return 2 * u - 1; })}};
  float last = 0;
  const bench::Timing timing = bench::measure(seconds, [&](std::int64_t) {
    last = session.run(feeds, {loss}, {.training = true, .updates = true})[0].item<float>();
  });
  std::cout << "{\"form\": \"" << form << "\", \"steps\": " << steps << ", \"heads\": " << heads
            << ", \"seconds_per_step\": " << 1 / timing.steps_per_second
            << ", \"peak_mb\": " << bench::peak_memory_mb() << ", \"loss\": " << last << "}\n";
  return std::isfinite(last) ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string form = argc == 5 ? argv[1] : "";
  if (form != "masked" && form != "blockwise") {
    std::cerr << "usage: long_attention masked|blockwise STEPS HEADS SECONDS\n";
    return 2;
  }
  try {
    return measure(form, std::atoll(argv[2]), std::atoll(argv[3]), std::atof(argv[4]));
  } catch (const tr::Error& error) {
    std::cerr << "error: " << error.what() << '\n';
    return 1;
  }
}
