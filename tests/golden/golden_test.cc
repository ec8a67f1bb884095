// What each released version has written is read by this one: tests/golden/README.md.

#include "golden.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cctype>
#include <nlohmann/json.hpp>

#include "../command.h"
#include "base/safetensors.h"
#include "inference/model_file.h"
#include "trireme/trireme.h"

namespace trireme::golden {
namespace {

using ::testing::HasSubstr;
using trireme::testing::read;

const std::string kFolder = TRIREME_GOLDEN;

std::vector<std::string> versions() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(kFolder)) {
    if (entry.is_directory()) names.push_back(entry.path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

void expect_near(const Tensor& got, const Tensor& expected, const std::string& what) {
  ASSERT_EQ(got.type_str(), expected.type_str()) << what;
  const Tensor a = got.cast(f64), b = expected.cast(f64);
  for (std::int64_t i = 0; i < a.elements(); ++i) {
    ASSERT_NEAR(a.data<double>()[i], b.data<double>()[i], 1e-6) << what << ", element " << i;
  }
}

class Golden : public ::testing::TestWithParam<std::string> {
 protected:
  std::string path(const std::string& file) const {
    return kFolder + "/" + GetParam() + "/" + file;
  }
  Tensor expected(const std::string& name) const { return expected_.tensors.at(name); }

  const Safetensors expected_ = read_safetensors(path(kExpected));
};

TEST_P(Golden, SavedModelPredictsWhatItDid) {
  Model model = load_model(path(kModel));
  EXPECT_EQ(model.name(), "golden");
  EXPECT_EQ(model.target(), "label");
  EXPECT_EQ(model.labels(), (std::vector<std::string>{"north", "east", "south \"s\"", "west"}));
  ASSERT_EQ(model.inputs().size(), 1u);
  EXPECT_EQ(model.inputs()[0].name, "image");
  EXPECT_EQ(model.inputs()[0].shape, (Shape{batch, 1, 6, 6}));
  ASSERT_EQ(model.outputs().size(), 1u);
  EXPECT_EQ(model.outputs()[0].name, "scores");
  EXPECT_EQ(model.preprocessing().at("image").height, 6);
  expect_near(model.predict({{"image", expected("image")}})[0], expected("scores"), "scores");
}

TEST_P(Golden, RecordsAreTheSame) {
  const data::Dataset rows = data::records(path(kRecords));
  ASSERT_EQ(rows.columns().size(), 4u);
  const data::Batch all = rows.all();
  for (const auto& [name, tensor] : all) expect_near(tensor, expected("rows/" + name), name);
  EXPECT_EQ(rows.column("job").ids, 3);
  EXPECT_EQ(rows.column("job").words, (std::vector<std::string>{"", "cook", "black smith"}));
}

TEST_P(Golden, SequencesAreTheSame) {
  const data::Dataset read = data::records(path(kSequences));
  const data::Batch all = read.all(), written = sequences().all();
  ASSERT_EQ(all.size(), written.size());
  for (const auto& [name, tensor] : written) EXPECT_TRUE(equal(all.at(name), tensor)) << name;
  EXPECT_EQ(read.column("words").levels, 1);
  EXPECT_EQ(read.column("pairs").levels, 2);
}

TEST_P(Golden, TrainingGoesOnFromTheCheckpoint) {
  Program program = Program::parse(read(path(kTraining)));
  Trainer trainer(
      program, {.loss = program.outputs()[0], .optimizer = Adam{.learning_rate = kLearningRate}});
  trainer.resume(path(kCheckpoint));
  EXPECT_EQ(trainer.steps(), kInterrupted);
  trainer.fit(data::records(path(kRecords)).shuffle(kSeed).batch(kBatch),
              {.epochs = kEpochs, .progress = false});
  EXPECT_EQ(trainer.steps(), kEpochs * 3);
  for (const Value& parameter : program.parameters()) {
    const std::string name = parameter.name().substr(1);
    expect_near(trainer.session().parameter(name), expected("trained/" + name), name);
  }
}

TEST_P(Golden, PlanOfTheCompiledModelIsRead) {
  const std::string file = path(kCompiled) + "/plan.json";
  const inference::ModelFile model = inference::parse_model_file(read(file), file);
  EXPECT_EQ(model.name, "golden");
  EXPECT_EQ(model.target, "x86-64-v3");
  EXPECT_EQ(model.labels.size(), 4u);
  ASSERT_EQ(model.inputs.size(), 1u);
  EXPECT_EQ(model.inputs[0].shape, (Shape{batch, 1, 6, 6}));
  ASSERT_EQ(model.outputs.size(), 1u);
  EXPECT_EQ(model.outputs[0].shape, (Shape{batch, 4}));
  const Safetensors constants = read_safetensors(path(kCompiled) + "/constants.safetensors");
  std::size_t parameters = 0;
  for (const plan::Buffer& buffer : model.plan.buffers) {
    if (buffer.kind != plan::BufferKind::parameter) continue;
    ++parameters;
    ASSERT_TRUE(constants.tensors.contains(buffer.name)) << buffer.name;
    EXPECT_EQ(constants.tensors.at(buffer.name).shape(), evaluate(buffer.shape, {})) << buffer.name;
  }
  EXPECT_EQ(parameters, constants.tensors.size());
}

TEST_P(Golden, VocabularyIsTheSame) {
  const text::Vocabulary vocabulary = text::Vocabulary::load(path(kVocabulary));
  EXPECT_EQ(vocabulary.tokens(),
            (std::vector<std::string>{"<unk>", "<s>", "be", "to", "\u00e9\t\\"}));
  EXPECT_EQ(vocabulary.counts(), (std::vector<std::int64_t>{0, 0, 2, 2, 1}));
  EXPECT_EQ(vocabulary.unknown_id(), 0);
  EXPECT_EQ(vocabulary.begin_id(), 1);
  EXPECT_EQ(vocabulary.end_id(), -1);
}

INSTANTIATE_TEST_SUITE_P(Versions, Golden, ::testing::ValuesIn(versions()), [](const auto& info) {
  std::string name = "v" + info.param;
  for (char& c : name) c = std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  return name;
});

// The versions of the formats of a folder of golden files.
std::map<std::string, std::string> formats(const std::string& folder) {
  const auto json = [&](const std::string& file) {
    const nlohmann::json content = nlohmann::json::parse(read(folder + "/" + file));
    return content.at("format").get<std::string>() + " " + content.at("version").dump();
  };
  const std::string checkpoint = read(folder + "/" + kCheckpoint + "/checksums.txt");
  const std::string program = read(folder + "/" + kModel + "/program.txt");
  const std::string vocabulary = read(folder + "/" + kVocabulary);
  return {{"saved model", json(std::string(kModel) + "/model.json")},
          {"compiled model", json(std::string(kCompiled) + "/plan.json")},
          {"checkpoint", checkpoint.substr(0, checkpoint.find('\n'))},
          {"program", program.substr(0, program.find('\n'))},
          {"vocabulary", vocabulary.substr(0, vocabulary.find('\n'))},
          {"record file", std::to_string(read(folder + "/" + kRecords).at(8))},
          {"record file of sequences", std::to_string(read(folder + "/" + kSequences).at(8))}};
}

class GoldenFiles : public trireme::testing::InFolder {};

// Else a format has changed, and no version of README.md's table stands for the new one.
TEST_F(GoldenFiles, ThereAreSomeOfEveryFormatThatIsWritten) {
  const std::string readme = read(kFolder + "/README.md");
  write_golden(path("new"));
  const auto written = formats(path("new"));
  std::map<std::string, bool> found;
  for (const std::string& version : versions()) {
    EXPECT_THAT(readme, HasSubstr("| " + version + " |"));
    for (const auto& [format, text] : formats(kFolder + "/" + version)) {
      if (text == written.at(format)) found[format] = true;
    }
  }
  for (const auto& [format, text] : written) {
    EXPECT_TRUE(found[format]) << "no golden files of " << text
                               << ": tests/golden/README.md says how to make them";
  }
  trireme::testing::fails(ErrorKind::usage, "golden files are never written again",
                          [&] { write_golden(path("new")); });
}

}  // namespace
}  // namespace trireme::golden
