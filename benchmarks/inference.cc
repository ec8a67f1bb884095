// Compares a compiled model with the Session that it comes from: ResNet-20 of the model bank on
// synthetic images of 32 x 32.
//
//   inference [--batch N] [--threads N] [--target T] [--rounds N] [--directory D]
//
// Runs both in turn, and prints the medians of their processor times and the largest difference of
// their results.

#include <trireme/trireme.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string>
#include <vector>

#include "measuring.h"

namespace tr = trireme;

namespace {

double cpu_seconds() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

struct Arguments {
  std::int64_t batch = 1;
  int threads = 1, rounds = 200;
  std::string target = "native", directory = "inference-benchmark";
};

Arguments read(int argc, char** argv) {
  Arguments arguments;
  for (int i = 1; i < argc; i += 2) {
    const std::string key = argv[i], value = i + 1 < argc ? argv[i + 1] : "";
    if (key == "--batch") arguments.batch = std::stoll(value);
    else if (key == "--threads") arguments.threads = std::stoi(value);
    else if (key == "--rounds") arguments.rounds = std::stoi(value);
    else if (key == "--target") arguments.target = value;
    else if (key == "--directory") arguments.directory = value;
    else {
      throw tr::Error(tr::ErrorKind::usage,
                      "unknown option " + key +
                          "\n  options  --batch, --threads, --rounds, --target, --directory");
    }
  }
  return arguments;
}

void measure(const Arguments& arguments) {
  tr::Program program("resnet20");
  const tr::Value image = program.input("image", tr::f32, {tr::batch, 3, 32, 32});
  const tr::Value scores = softmax(tr::models::resnet(image, {.depth = 20}));
  tr::Session session(program, {.threads = arguments.threads});
  tr::save_model(program, session, arguments.directory, {.outputs = {scores}});
  tr::Model model = tr::load_model(arguments.directory, {.threads = arguments.threads});
  const std::string folder = arguments.directory + "/compiled";
  tr::compile_model(model, folder, {.target = arguments.target});
  tr::CompiledModel compiled = tr::CompiledModel::load(folder, {.threads = arguments.threads});

  const tr::Tensor pictures =
      bench::made_up<float>({arguments.batch, 3, 32, 32}, 1, [](float u) { return 2 * u - 1; });
  const tr::Feeds feeds{{"image", pictures}};
  const tr::Tensor a = model.predict(feeds).at(0), b = compiled.predict(feeds).at(0);
  double difference = 0;
  for (std::int64_t i = 0; i < a.elements(); ++i) {
    difference = std::max(difference, std::abs(double{a.data<float>()[i]} - b.data<float>()[i]));
  }
  std::vector<double> session_seconds, compiled_seconds;
  for (int round = 0; round < arguments.rounds; ++round) {
    const double start = cpu_seconds();
    model.predict(feeds);
    const double middle = cpu_seconds();
    compiled.predict(feeds);
    session_seconds.push_back(middle - start);
    compiled_seconds.push_back(cpu_seconds() - middle);
  }
  std::printf(
      "resnet20 batch %lld, %d threads, %s: full library %.3f ms, inference library %.3f ms, "
      "ratio: %.3f, apart: %.2g\n",
      static_cast<long long>(arguments.batch), arguments.threads, compiled.target().c_str(),
      median(session_seconds) * 1e3, median(compiled_seconds) * 1e3,
      median(compiled_seconds) / median(session_seconds), difference);
}

}  // namespace

int main(int argc, char** argv) {
  try {
    measure(read(argc, argv));
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "error: %s\n", error.what());
    return 1;
  }
}
