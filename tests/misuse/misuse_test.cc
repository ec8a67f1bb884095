// Every case of bad input: one error that says what and where, the documented exit code, and files
// that were there before still whole.

#include <gmock/gmock.h>

#include <algorithm>
#include <cstdint>

#include "in_command_folder.h"

namespace trireme::testing {
namespace {

using ::testing::HasSubstr;

std::string big_endian(std::uint32_t value) {
  return {static_cast<char>(value >> 24), static_cast<char>(value >> 16),
          static_cast<char>(value >> 8), static_cast<char>(value)};
}

constexpr std::uint32_t kImages = 64;

std::string idx_images() {
  std::string bytes = big_endian(0x803) + big_endian(kImages) + big_endian(6) + big_endian(6);
  for (std::uint32_t i = 0; i < kImages * 36; ++i) bytes += static_cast<char>(i * 7919 % 251);
  return bytes;
}

std::string idx_labels(int classes) {
  std::string bytes = big_endian(0x801) + big_endian(kImages);
  for (std::uint32_t i = 0; i < kImages; ++i) {
    bytes += static_cast<char>(i % static_cast<std::uint32_t>(classes));
  }
  return bytes;
}

constexpr const char* kJob = R"([data]
train = { images = "images.idx", labels = "labels.idx" }
test = { images = "images.idx", labels = "labels.idx" }
batch = 16

[model]
layers = [
  { conv2d = { channels = 4, kernel = 3, activation = "relu" } },
  "flatten",
  { linear = { units = 4 } },
]

[train]
loss = "cross_entropy"
optimizer = { adam = { learning_rate = 0.01 } }
epochs = 1

[output]
directory = "model"
)";

class Misuse : public InCommandFolder {
 protected:
  Misuse() {
    write(path("images.idx"), idx_images());
    write(path("labels.idx"), idx_labels(4));
    write(path("job.toml"), kJob);
  }

  void replace(const std::string& file, const std::string& from, const std::string& to) {
    std::string text = read(path(file));
    const std::size_t at = text.find(from);
    ASSERT_NE(at, std::string::npos) << from;
    write(path(file), text.replace(at, from.size(), to));
  }

  void train() {
    const Outcome outcome = run_here(kTrireme + " train job.toml --quiet");
    ASSERT_EQ(outcome.code, 0) << outcome.output;
  }

  // All files of the saved model in one string.
  std::string model() const {
    return read(path("model/program.txt")) + read(path("model/weights.safetensors")) +
           read(path("model/model.json"));
  }
};

TEST_F(Misuse, TheGoodJobIsGood) {
  train();
  EXPECT_EQ(run_here(kTrireme + " eval model --data mnist/nothing").code, 2);
  EXPECT_THAT(run_here(kTrireme + " inspect model").output, HasSubstr("conv2d_0.weight"));
}

TEST_F(Misuse, JobOfAWrongType) {
  replace("job.toml", "epochs = 1", "epochs = \"one\"");
  fails("train job.toml", 3,
        "job.toml:16: train.epochs: must be an integer, but is the text \"one\"");
}

TEST_F(Misuse, JobOfAPrecisionThatDoesNotTrain) {
  replace("job.toml", "epochs = 1", "precision = \"f16\"");
  fails("train job.toml", 3, "job.toml:16: train.precision: f16 is for inference");
  replace("job.toml", "f16", "half");
  fails(
      "train job.toml", 3,
      "job.toml:16: train.precision: there is no precision \"half\": there are f32, bf16 and f16");
}

TEST_F(Misuse, JobThatIsNoToml) {
  replace("job.toml", "epochs = 1", "epochs = = 1");
  fails("train job.toml", 3, "job.toml:16:");
}

TEST_F(Misuse, JobWithAnUnknownKey) {
  replace("job.toml", "batch = 16", "bacth = 16");
  fails("train job.toml", 3, "job.toml:4: data.bacth: unknown key; did you mean \"batch\"?");
}

TEST_F(Misuse, JobWithAnUnknownLayer) {
  replace("job.toml", "\"flatten\"", "\"flaten\"");
  fails("train job.toml", 3,
        "job.toml:9: model.layers[1]: unknown layer \"flaten\"; did you mean "
        "\"flatten\"?");
}

TEST_F(Misuse, JobWithAnUnknownKeyOfALayer) {
  replace("job.toml", "kernel = 3", "kernal = 3");
  fails("train job.toml", 3,
        "job.toml:8: model.layers[0].conv2d.kernal: unknown key; did you mean "
        "\"kernel\"?");
}

TEST_F(Misuse, ShapesThatCannotMatchNameLayerAndLine) {
  replace("job.toml", "kernel = 3", "kernel = 9");
  fails("train job.toml", 2, "conv2d_0          at job.toml:8");
}

// The layers of the good job as a model of the bank.
constexpr const char* kLayers = R"(layers = [
  { conv2d = { channels = 4, kernel = 3, activation = "relu" } },
  "flatten",
  { linear = { units = 4 } },
])";

TEST_F(Misuse, ModelsOfTheBank) {
  replace("job.toml", kLayers, "name = \"mlp\"\nclasses = 4");
  train();
  fails("train job.toml --set model.name=resnet21", 3,
        "model.name: unknown model \"resnet21\"; did you mean \"resnet20\"?");
  fails("train job.toml --set model.hiden=3", 3, "unknown key; did you mean \"hidden\"?");
  fails("train job.toml --set model.hidden=3", 3, "must be a list of integers");
  fails("train job.toml --set model.activation=rellu", 3, "did you mean \"relu\"?");
  fails("train job.toml --set model.weight_init=kaiming", 3, "unknown initializer \"kaiming\"");
  fails("train job.toml --set model.program=x", 3, "needs one of a list of layers");
  fails("train job.toml --set model.name=deepfm", 3, "is neither ids nor numbers");
  fails("train job.toml --set model.name=lenet", 2, "--set");
  const std::string transformer = "train job.toml --set model.name=transformer_encoder --set ";
  fails(transformer + "model.heads=5", 2, "cannot be divided into 5 heads");
  fails(transformer + "model.patch=5", 2, "cannot be divided into patches of 5 x 5");
  fails(transformer + "model.positions=sine", 3, "unknown positions \"sine\"");
  fails(transformer + "model.padding_id=0", 3, "unknown key");
  fails(transformer + "'model.layers=[\"relu\"]'", 3, "model.layers: must be an integer");
  fails("train job.toml --set 'model.normalize={mean=[1,2]}'", 2, "mean has 2 numbers");
  fails("train job.toml --set 'model.normalize={men=1}'", 3, "did you mean \"mean\"?");
  fails("train job.toml --set 'data.input=[\"image\",\"label\"]'", 3,
        "this model takes one column");
  replace("job.toml", "\nclasses = 4", "");
  fails("train job.toml", 3, "\"classes\" is missing");
}

TEST_F(Misuse, ModelsOfManyColumns) {
  write(path("rows.csv"), "job,town,age,target\nsmith,rome,30,1\nbaker,ulm,20,0\nbaker,rome,5,1\n");
  write(path("job.toml"),
        "[data]\ntrain = { csv = \"rows.csv\", categories = [\"job\", \"town\"] }\n"
        "[model]\nname = \"wide_and_deep\"\ncrosses = [[\"job\", \"town\"]]\n"
        "[train]\nloss = \"binary_cross_entropy\"\n[output]\ndirectory = \"model\"\n");
  train();
  fails("train job.toml --set 'model.crosses=[[\"job\",\"twon\"]]'", 3,
        "unknown column of ids \"twon\"; did you mean \"town\"?");
  fails("train job.toml --set 'model.crosses=[\"job\"]'", 3, "must be two columns of ids");
  fails("train job.toml --set data.input=features", 3, "needs a column of ids");
  fails("train job.toml --set 'data.input=[\"jobs\"]'", 2, "job");
  fails("train job.toml --set 'data.input=[\"target\"]'", 3, "is input and target");
  replace("job.toml", "\ncrosses = [[\"job\", \"town\"]]", "");
  fails("train job.toml --set model.name=two_tower --set model.user=twon", 3, "did you mean");
  fails("train job.toml --set model.name=two_tower --set 'data.input=[\"job\"]'", 3,
        "needs two columns of ids");
  // Words that the training file does not have would be ids beyond its table.
  write(path("more.csv"), "job,town,age,target\nsmith,rome,3,1\nbaker,bonn,2,0\nmayor,ulm,1,0\n");
  fails("train job.toml --set 'data.test={csv=\"more.csv\",categories=[\"job\",\"town\"]}'", 3,
        "has ids that data.train does not have");
}

TEST_F(Misuse, JobThatIsNotThere) { fails("train nothing.toml", 4, "cannot open nothing.toml"); }

TEST_F(Misuse, IdsBeyondTheRowsOfAnEmbedding) {
  write(path("rows.libfm"), "1 0:1 4:1\n0 2:1 3:1\n");
  write(path("more.libfm"), "1 0:1 5:1\n0 7:1 3:1\n");
  write(path("job.toml"), R"([data]
train = { libsvm = "rows.libfm" }
test = { libsvm = "rows.libfm" }
batch = 2

[model]
layers = [
  { embedding = { num_embeddings = 5, dim = 3, sparse_gradient = true } },
  "flatten",
  { linear = { units = 1 } },
]

[train]
loss = "mse"
optimizer = { adam = { learning_rate = 0.01 } }
epochs = 1

[output]
directory = "model"
)");
  train();
  fails("eval model --data more.libfm", 3, "is outside [0, 5): there are 5 rows");
  replace("job.toml", "num_embeddings = 5", "num_embeddings = 4");
  fails("train job.toml", 3, "index 4 at [");
  EXPECT_THAT(run_here(kTrireme + " train job.toml").output, HasSubstr("job.toml:8 embedding_0"));
  replace("job.toml", "num_embeddings = 4, ", "");  // then as many as the data say
  train();
  fails("eval model --data more.libfm", 3, "is outside [0, 5): there are 5 rows");
}

TEST_F(Misuse, LabelsBeyondTheClassesOfTheNetwork) {
  replace("job.toml", "units = 4", "units = 3");
  fails("train job.toml", 3, "label 3 is out of range: the network ends in 3 classes");
}

TEST_F(Misuse, LabelsBeyondTheClassesOfTheData) {
  replace("job.toml", "labels = \"labels.idx\" }", "labels = \"labels.idx\", classes = 2 }");
  fails("train job.toml", 3, "labels.idx");
}

TEST_F(Misuse, TruncatedImages) {
  train();
  const std::string before = model();
  write(path("images.idx"), idx_images().substr(0, 1000));
  fails("train job.toml", 3, "images.idx");
  EXPECT_EQ(model(), before);
}

TEST_F(Misuse, ImagesOfAnotherKind) {
  write(path("images.idx"), "this is no IDX file at all, but text");
  fails("train job.toml", 3, "images.idx");
}

TEST_F(Misuse, FewerLabelsThanImages) {
  write(path("labels.idx"), big_endian(0x801) + big_endian(3) + std::string(3, '\0'));
  fails("train job.toml", 3, "labels");
}

TEST_F(Misuse, CsvWithTextWhereANumberBelongs) {
  write(path("table.csv"), "a,b,price\n1,2,3\n4,five,6\n");
  write(path("csv.toml"),
        "[data]\ntrain = \"table.csv\"\n[model]\nlayers = [{ linear = { units = 1 "
        "} }]\n[train]\nloss = \"mse\"\n");
  fails("train csv.toml", 3, "table.csv:3");
  write(path("table.csv"), "a,b,price\n1,2,3\n4,6\n");
  fails("train csv.toml", 3, "table.csv:3");
}

TEST_F(Misuse, NaNStopsTrainingAndNamesTheLayer) {
  replace("job.toml", "learning_rate = 0.01", "learning_rate = 1e38");
  replace("job.toml", "epochs = 1", "epochs = 20");
  fails("train job.toml --quiet", 5, "the loss is");
  const Outcome traced = run_here(kTrireme + " train job.toml --quiet --trace-nan");
  EXPECT_EQ(traced.code, 5);
  EXPECT_THAT(traced.output, HasSubstr("first"));
  EXPECT_THAT(traced.output, HasSubstr("job.toml:"));
  EXPECT_FALSE(std::filesystem::exists(path("model")));
}

TEST_F(Misuse, AFullDiskLeavesTheEarlierModel) {
  NEEDS_FILE_SIZE_LIMIT();
  train();
  const std::string before = model();
  // A limit on the size of files stands for a full disk: the same code path, without mounting one.
  const Outcome outcome = run_here("ulimit -f 1; " + kTrireme +
                                   " train job.toml --seed 9 --quiet "
                                   "--set 'model.layers=[\"flatten\", {linear={units=400}}, "
                                   "{linear={units=4}}]'");
  EXPECT_EQ(outcome.code, 4) << outcome.output;
  EXPECT_THAT(outcome.output, HasSubstr("error: cannot write"));
  EXPECT_EQ(model(), before);
  for (const auto& entry : std::filesystem::directory_iterator(folder_)) {
    EXPECT_EQ(entry.path().filename().string().find(".tmp"), std::string::npos) << entry.path();
  }
}

TEST_F(Misuse, AFolderOfOtherThingsIsNotReplaced) {
  std::filesystem::create_directory(path("model"));
  write(path("model/thesis.tex"), "years of work");
  fails("train job.toml --quiet", 2, "is no saved model");
  EXPECT_EQ(read(path("model/thesis.tex")), "years of work");
}

// With checksums, and without, as earlier versions saved models.
TEST_F(Misuse, DamagedModels) {
  train();
  const std::string program = read(path("model/program.txt"));
  const std::string weights = read(path("model/weights.safetensors"));
  const std::string description = read(path("model/model.json"));
  for (const bool checksums : {true, false}) {
    if (!checksums) std::filesystem::remove(path("model/checksums.txt"));
    write(path("model/program.txt"), program.substr(0, program.size() / 2));
    fails("inspect model", 3, "program.txt");
    write(path("model/program.txt"), "");
    fails("inspect model", 3, "program.txt");
    write(path("model/program.txt"), program);

    write(path("model/weights.safetensors"), weights.substr(0, weights.size() - 5));
    fails("inspect model", 3, "weights.safetensors");
    write(path("model/weights.safetensors"), std::string(100, '\xff'));
    fails("inspect model", 3, "weights.safetensors");
    write(path("model/weights.safetensors"), weights);

    write(path("model/model.json"), description.substr(0, 30));
    fails("inspect model", 3, "model.json");
    write(path("model/model.json"), "{}");
    fails("inspect model", 3, "model.json");
    write(path("model/model.json"), "{\"format\": \"trireme saved model\", \"version\": 1}");
    fails("inspect model", 3, "model.json");
    write(path("model/model.json"), description);
    EXPECT_EQ(run_here(kTrireme + " inspect model").code, 0);
  }
  fails("inspect nothing", 4, "cannot open nothing");
}

TEST_F(Misuse, PicturesThatAreNone) {
  train();
  write(path("broken.png"), "\x89PNG\r\n\x1a\n and then nothing");
  fails("predict model broken.png", 3, "broken.png");
  write(path("text.png"), "hello");
  fails("predict model text.png", 3, "text.png");
  fails("predict model nothing.png", 4, "nothing.png");
  fails("predict model", 2, "needs files, --text or --data");
}

TEST_F(Misuse, WrongWordsOnTheCommandLine) {
  fails("trian job.toml", 2, "did you mean \"train\"?");
  fails("train job.toml --epochs 3", 2, "not expected");
  fails("train job.toml --treads 3", 2, "did you mean --threads?");
  fails("train job.toml --set train.epoch=3", 3, "did you mean \"epochs\"?");
  fails("train job.toml --set epochs", 2, "--set epochs: must look like");
  fails("eval model --data mnits/test", 4, "there is no folder model");
  fails("", 2, "");
}

}  // namespace
}  // namespace trireme::testing
