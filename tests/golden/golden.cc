#include "golden.h"

#include <filesystem>

#include "base/error.h"
#include "base/file.h"
#include "base/safetensors.h"
#include "base/testing/noise.h"
#include "data/columns.h"
#include "trireme/trireme.h"

namespace trireme::golden {
namespace {

// A small network on pictures: its saved model, what it predicts, and what it is compiled to. Of
// the compiled model the machine code is left out, and so are the checksums, which cover it.
void write_model(const std::string& folder, Safetensors& expected) {
  Program program("golden");
  const Value image = program.input("image", f32, {batch, 1, 6, 6});
  Value x = nn::batch_norm(nn::conv2d(image, {.channels = 3, .kernel = 3}));
  x = nn::linear(nn::flatten(nn::relu(x)), {.units = 4});
  Session session(program);
  unsigned seed = 1;
  for (const Value& parameter : program.parameters()) {
    const std::string name = parameter.name().substr(1);
    const double low = name.ends_with("running_var") ? 0.5 : -0.5;
    session.set_parameter(name, noise(session.parameter(name).shape(), ++seed, low, low + 1));
  }
  const std::string directory = folder + "/" + kModel, compiled = folder + "/compiled.whole";
  save_model(program, session, directory,
             {.inputs = {image},
              .outputs = {softmax(x)},
              .output_names = {"scores"},
              .labels = {"north", "east", "south \"s\"", "west"},
              .preprocessing = {{"image", {.channels = 1, .height = 6, .width = 6}}},
              .target = "label"});
  Model model = load_model(directory);
  expected.tensors["image"] = noise({5, 1, 6, 6}, 99, 0, 1);
  expected.tensors["scores"] = model.predict({{"image", expected.tensors["image"]}})[0];
  compile_model(model, compiled, {.target = "x86-64-v3"});
  make_directories(folder + "/" + kCompiled);
  for (const std::string file : {"/plan.json", "/constants.safetensors"}) {
    std::filesystem::rename(compiled + file, folder + "/" + kCompiled + file);
  }
  std::filesystem::remove_all(compiled);
}

void write_rows(const std::string& folder, Safetensors& expected) {
  constexpr std::int64_t kRows = 12;
  const Tensor x = noise({kRows, 4}, 7), weights = noise({4}, 8);
  Tensor picture(f32, {kRows, 1, 2, 3}), job(i64, {kRows}), target(f32, {kRows, 1});
  for (std::int64_t row = 0; row < kRows; ++row) {
    for (std::int64_t i = 0; i < 6; ++i) {
      picture.data<float>()[row * 6 + i] = static_cast<float>((row * 37 + i * 11) % 256) / 255.0f;
    }
    job.data<std::int64_t>()[row] = row % 3;
    for (std::int64_t i = 0; i < 4; ++i) {
      target.data<float>()[row] += x.data<float>()[row * 4 + i] * weights.data<float>()[i];
    }
  }
  const data::Column jobs{.name = "job", .ids = 3, .words = {"", "cook", "black smith"}};
  data::write_records(folder + "/" + kRecords,
                      data::from_columns({{data::Column{.name = "x"}, x},
                                          {data::Column{.name = "picture"}, picture},
                                          {jobs, job},
                                          {data::Column{.name = "target"}, target}}));
  expected.tensors["rows/x"] = x;
  expected.tensors["rows/picture"] = picture;
  expected.tensors["rows/job"] = job;
  expected.tensors["rows/target"] = target;
}

// A Program that returns its loss, a checkpoint of its training, and what the training ends with.
void write_checkpoint(const std::string& folder, Safetensors& expected) {
  Program program("golden");
  const Value x = program.input("x", f32, {batch, 4}),
              target = program.input("target", f32, {batch, 1});
  const Value hidden = nn::linear(x, {.units = 5, .activation = nn::tanh});
  program.set_outputs({mean(nn::mse(nn::linear(hidden, {.units = 1}), target))});
  const std::string text = program.str();
  write_file_atomically(folder + "/" + kTraining, text);
  const data::Batches rows = data::records(folder + "/" + kRecords).shuffle(kSeed).batch(kBatch);
  for (const int steps : {kInterrupted, 0}) {
    Program copy = Program::parse(text);
    Trainer trainer(copy,
                    {.loss = copy.outputs()[0], .optimizer = Adam{.learning_rate = kLearningRate}});
    trainer.fit(rows, {.epochs = kEpochs, .max_steps = steps, .progress = false});
    if (steps > 0) trainer.save_checkpoint(folder + "/" + kCheckpoint);
    for (const Value& parameter : copy.parameters()) {
      const std::string name = parameter.name().substr(1);
      expected.tensors["trained/" + name] = trainer.session().parameter(name);
    }
  }
}

void write_vocabulary(const std::string& folder) {
  const text::TokenCounts counts{{"to", 2}, {"be", 2}, {"\u00e9\t\\", 1}};
  text::Vocabulary(counts, {.end = ""}).save(folder + "/" + kVocabulary);
}

}  // namespace

data::Dataset sequences() {
  const std::vector<std::vector<std::int64_t>> words = {{4, 8, 15}, {}, {16, 23, 42, 108}, {-1}};
  Tensor pairs(f32, {5, 2});
  for (std::int64_t i = 0; i < 10; ++i) pairs.data<float>()[i] = 0.25f * static_cast<float>(i - 3);
  const std::vector<Tensor> splits{splits_of({2, 0, 1, 2}), splits_of({1, 0, 2, 2, 0})};
  return data::from_ragged(
      {{"words", RaggedTensor::from(words)}, {"pairs", RaggedTensor(pairs, splits)}},
      {{"target", Tensor::from<double>({4}, {0.5, -1, 1e300, 0})}});
}

void write_golden(const std::string& folder) {
  if (std::filesystem::exists(folder)) {
    fail_usage(folder +
               " exists: golden files are never written again\n"
               "  hint   tests/golden/README.md says what to do when a format changes");
  }
  make_directories(folder);
  Safetensors expected;
  write_model(folder, expected);
  write_rows(folder, expected);
  data::write_records(folder + "/" + kSequences, sequences());
  write_checkpoint(folder, expected);
  write_vocabulary(folder);
  write_safetensors(folder + "/" + kExpected, expected);
}

}  // namespace trireme::golden
