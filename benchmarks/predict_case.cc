// predict_case resnet18|mlp THREADS SECONDS [FOLDER]: measures predictions per second, one example
// at a time, and prints one JSON line. SECONDS 0 predicts once. With FOLDER it first saves the
// model there, so that the peers can use its weights.

#include <cstdlib>
#include <iostream>
#include <string>
#include <vector>

#include <trireme/trireme.h>

#include "measuring.h"

namespace tr = trireme;

namespace {

int predict(const std::string& name, int threads, double seconds, const std::string& folder) {
  tr::Program program(name);
  tr::Value x, logits;
  std::vector<std::int64_t> shape;
  if (name == "resnet18") {
    x = program.input("x", tr::f32, {tr::batch, 3, 224, 224});
    logits = tr::models::resnet(x, {.depth = 18, .classes = 1000});
    shape = {1, 3, 224, 224};
  } else {
    x = program.input("x", tr::f32, {tr::batch, 784});
    logits = tr::models::mlp(x, {.hidden = {512, 512}});
    shape = {1, 784};
  }
  tr::Session session(program, {.threads = threads});
  if (!folder.empty()) tr::save_model(program, session, folder, {.outputs = {logits}});

  const tr::Feeds feeds = {
      {"x", bench::made_up<float>(shape, 1, [](float u) { return 2 * u - 1; })}};
  tr::Tensor output;
  const auto step = [&](std::int64_t) { output = session.run(feeds, {logits})[0]; };
  bench::Timing timing;
  if (seconds > 0) timing = bench::measure(seconds, step);
  else step(0);
  std::string names;
  for (const tr::Value& parameter : program.parameters()) {
    if (parameter.name().find(".running_") != std::string::npos) continue;
    names += (names.empty() ? "\"" : ", \"") + parameter.name().substr(1) + "\"";
  }
  const float* first = output.data<float>();
  std::cout << "{\"name\": \"trireme\", \"case\": \"" << name << "\", \"threads\": " << threads
            << ", \"steps_per_second\": " << timing.steps_per_second
            << ", \"compile_seconds\": " << session.statistics().compile_ms / 1000
            << ", \"peak_mb\": " << bench::peak_memory_mb()
            << ", \"output\": " << bench::list({first, first + 4}) << ", \"parameters\": [" << names
            << "]}\n";
  if (std::getenv("TRIREME_PROFILE") != nullptr) std::cerr << session.profile_table();
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string name = argc > 1 ? argv[1] : "";
  if (argc < 4 || argc > 5 || (name != "resnet18" && name != "mlp")) {
    std::cerr << "usage: predict_case resnet18|mlp THREADS SECONDS [FOLDER]\n";
    return 2;
  }
  try {
    return predict(name, std::atoi(argv[2]), std::atof(argv[3]), argc == 5 ? argv[4] : "");
  } catch (const tr::Error& error) {
    std::cerr << "error: " << error.what() << '\n';
    return 1;
  }
}
