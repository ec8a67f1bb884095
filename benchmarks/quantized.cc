// Compares a network of the model bank with the same network in bytes (quantize()).
//
//   quantized [--model resnet18|resnet20|mlp] [--batch N] [--threads N] [--rounds N]
//             [--target T] [--directory D]
//
// Runs both in turn and prints the medians of their times, their ratio, and how far apart their
// results are. With --target both are compiled ahead of time for that kind of machine.

#include <trireme/quantize.h>
#include <trireme/trireme.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <functional>
#include <string>
#include <vector>

#include "measuring.h"

namespace tr = trireme;

namespace {

struct Arguments {
  std::string model = "resnet18";
  std::int64_t batch = 1;
  int threads = 1, rounds = 50;
  std::string target, directory = "quantized-benchmark";
};

Arguments read(int argc, char** argv) {
  Arguments arguments;
  for (int i = 1; i < argc; i += 2) {
    const std::string key = argv[i], value = i + 1 < argc ? argv[i + 1] : "";
    if (key == "--model") arguments.model = value;
    else if (key == "--batch") arguments.batch = std::stoll(value);
    else if (key == "--threads") arguments.threads = std::stoi(value);
    else if (key == "--rounds") arguments.rounds = std::stoi(value);
    else if (key == "--target") arguments.target = value;
    else if (key == "--directory") arguments.directory = value;
    else {
      throw tr::Error(tr::ErrorKind::usage,
                      "unknown option " + key +
                          "\n  options  --model, --batch, --threads, --rounds, --target, "
                          "--directory");
    }
  }
  return arguments;
}

std::vector<std::int64_t> shape_of(const std::string& model) {
  if (model == "mlp") return {784};
  const std::int64_t size = model == "resnet18" ? 224 : 32;
  return {3, size, size};
}

tr::Program network(const std::string& model) {
  tr::Program program(model);
  tr::Shape shape{tr::batch};
  for (const std::int64_t size : shape_of(model)) shape.emplace_back(size);
  const tr::Value x = program.input("x", tr::f32, shape);
  if (model == "mlp") program.set_outputs({tr::models::mlp(x, {.hidden = {512, 512}})});
  else if (model == "resnet20") program.set_outputs({tr::models::resnet(x, {.depth = 20})});
  else program.set_outputs({tr::models::resnet(x, {.depth = 18, .classes = 1000})});
  return program;
}

tr::Tensor pictures(const std::string& model, std::int64_t batch, std::uint64_t seed) {
  std::vector<std::int64_t> shape = shape_of(model);
  shape.insert(shape.begin(), batch);
  return bench::made_up<float>(shape, seed, [](float u) { return 2 * u - 1; });
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

using Predict = std::function<tr::Tensor(const tr::Feeds&)>;

Predict compiled(tr::Model& model, const std::string& folder, const Arguments& arguments) {
  tr::compile_model(model, folder, {.target = arguments.target});
  auto loaded = std::make_shared<tr::CompiledModel>(
      tr::CompiledModel::load(folder, {.threads = arguments.threads}));
  return [loaded](const tr::Feeds& feeds) { return loaded->predict(feeds).at(0); };
}

void measure(const Arguments& arguments) {
  const tr::Program program = network(arguments.model);
  tr::Session session(program, {.threads = arguments.threads});
  tr::save_model(program, session, arguments.directory, {.outputs = program.outputs()});
  tr::Model model = tr::load_model(arguments.directory, {.threads = arguments.threads});
  tr::QuantizedModel quantized = tr::quantize(model, {{{"x", pictures(arguments.model, 4, 2)}}});
  Predict before = [&](const tr::Feeds& feeds) { return model.predict(feeds).at(0); };
  Predict after = [&](const tr::Feeds& feeds) { return quantized.model.predict(feeds).at(0); };
  if (!arguments.target.empty()) {
    before = compiled(model, arguments.directory + "/f32", arguments);
    after = compiled(quantized.model, arguments.directory + "/i8", arguments);
  }
  const tr::Feeds feeds{{"x", pictures(arguments.model, arguments.batch, 1)}};
  const tr::Tensor a = before(feeds), b = after(feeds);
  double error = 0, square = 0;
  for (std::int64_t i = 0; i < a.elements(); ++i) {
    const double right = double{a.data<float>()[i]};
    error += std::pow(right - double{b.data<float>()[i]}, 2);
    square += right * right;
  }
  std::vector<double> slow, fast;
  for (int round = 0; round < arguments.rounds; ++round) {
    const double start = bench::now();
    before(feeds);
    const double middle = bench::now();
    after(feeds);
    slow.push_back(middle - start);
    fast.push_back(bench::now() - middle);
  }
  std::printf("%s batch %lld, %d threads%s: f32 %.3f ms, i8 %.3f ms, ratio %.3f, error %.3g\n",
              arguments.model.c_str(), static_cast<long long>(arguments.batch), arguments.threads,
              arguments.target.empty() ? "" : (", " + arguments.target).c_str(), median(slow) * 1e3,
              median(fast) * 1e3, median(slow) / median(fast), std::sqrt(error / square));
  if (std::getenv("TRIREME_PROFILE") != nullptr) {
    std::printf("%s\n%s", model.session().profile_table().c_str(),
                quantized.model.session().profile_table().c_str());
  }
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
