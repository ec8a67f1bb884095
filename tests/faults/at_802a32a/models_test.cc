// Saved and compiled models from a stranger, and the commands that read them, at commit 802a32a:
// faults 3, 4 and 8, and the models of 10.

#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "../misuse/in_command_folder.h"
#include "data/text/dialogue.h"
#include "session/job_node.h"
#include "trireme.h"
#include "trireme/trireme.h"

namespace trireme::testing {
namespace {

using ::testing::HasSubstr;

class Fault : public InCommandFolder {
 protected:
  // The result has the shape [2], or that of x, [batch, 2].
  void save(const std::string& name, bool one_result = false) const {
    Program program("net");
    const Value x = program.input("features", f32, {batch, 2});
    const Value result = one_result ? mean(x, {.axes = {0}}) : nn::linear(x, {.units = 1});
    Session session(program);
    save_model(program, session, path(name), {.outputs = {result}, .output_names = {"result"}});
  }
  void write_rows(int rows) const {
    std::string text = "a,b,target\n";
    for (int i = 0; i < rows; ++i) text += "1,2,3\n";
    write(path("rows.csv"), text);
  }
  void replace(const std::string& file, const std::string& from, const std::string& to) const {
    std::string text = read(path(file));
    const std::size_t at = text.find(from);
    ASSERT_NE(at, std::string::npos) << from << " in " << text;
    write(path(file), text.replace(at, from.size(), to));
  }
};
using Fault3 = Fault;
using Fault4 = Fault;
using Fault8 = Fault;
using Fault10Models = Fault;

// --- 3: a model whose output has no row for each example

TEST_F(Fault3, OneResultForAllRows) {
  save("model", /*one_result=*/true);
  write_rows(1000);
  const Outcome outcome = run_here(kTrireme + " predict model --data rows.csv");
  EXPECT_EQ(outcome.code, 3) << outcome.output;
}

TEST_F(Fault3, TextsOfAnOutputOnly) {
  save("model");
  replace("model/model.json", "\"name\": \"result\"",
          R"("text": {"tokens": "words", "most": 0, "grams": 1}, "name": "result")");
  text::Vocabulary::of({"hello", "world"}).save(path("model/result.vocabulary.txt"));
  const Outcome outcome = run_here(kTrireme + " predict model --text hello");
  EXPECT_THAT(outcome.code, ::testing::AnyOf(2, 3)) << outcome.output;
}

// --- 4: small files that are nested deeply

TEST_F(Fault4, TheDescriptionOfAModel) {
  save("model");
  write(path("model/model.json"), R"({"format": "trireme saved model", "version": 1, "inputs": )" +
                                      std::string(70000, '[') + std::string(70000, ']') + "}");
  EXPECT_NE(error_of(ErrorKind::data, [&] { load_model(path("model")); }), "no error");
}

TEST_F(Fault4, TheKeyOfAJob) {
  std::string key = "a";
  for (int i = 0; i < 120000; ++i) key += ".a";
  EXPECT_NE(error_of(ErrorKind::data, [&] { job::parse_toml(key + " = 1\n", "deep.toml"); }),
            "no error");
}

TEST_F(Fault4, AnAliasOfItself) {
  EXPECT_NE(error_of(ErrorKind::data,
                     [] { data::parse_conversations("conversations:\n- &a [*a]\n", "talk.yml"); }),
            "no error");
}

// --- 8: models that are exchanged or damaged

TEST_F(Fault8, AModelOfTheSamePathIsTheNewOne) {
  const auto compiled = [&](double factor) {
    Program program("net");
    const Value x = program.input("x", f32, {batch, 4});
    Session session(program);
    save_model(program, session, path("model"), {.outputs = {factor > 3 ? exp(x) : x * factor}});
    Model model = load_model(path("model"));
    compile_model(model, path("compiled"));
    return CompiledModel::load(path("compiled"));
  };
  const Feeds feeds{{"x", Tensor::from<float>({1, 4}, {1, 1, 1, 1})}};
  CompiledModel doubled = compiled(2), exponential = compiled(4);
  EXPECT_EQ(doubled.predict(feeds).at(0).data<float>()[0], 2);
  EXPECT_NEAR(exponential.predict(feeds).at(0).data<float>()[0], 2.7182818f, 1e-5)
      << "the kernels of another model ran";
}

TEST_F(Fault8, AFlippedByteOfTheWeights) {
  save("model");
  const std::string weights = path("model/weights.safetensors");
  std::string bytes = read(weights);
  bytes.back() = static_cast<char>(bytes.back() ^ 0x10);
  write(weights, bytes);
  EXPECT_NE(error_of(ErrorKind::data, [&] { load_model(path("model")); }), "no error")
      << "a damaged model was loaded";
}

// --- 10: smaller faults of models and commands

TEST_F(Fault10Models, FileNamesThatAreNotUtf8) {
  Program program("net");
  const Value x = program.input("x", f32, {batch, 1, 2, 2});
  Session session(program);
  save_model(program, session, path("model"),
             {.outputs = {reduce_max(x, {.axes = {1, 2, 3}})},
              .preprocessing = {{"x", {.height = 2, .width = 2}}}});
  image::save_png(path("\xff.png"), Tensor(u8, {2, 2, 1}));
  const Outcome outcome = run_here(kTrireme + " predict model '\xff.png' --json");
  EXPECT_EQ(outcome.code, 0) << outcome.output;
}

TEST_F(Fault10Models, FilesOutsideTheFolderOfAModel) {
  save("model");
  text::Vocabulary::of({"hello", "world"}).save(path("secret.vocabulary.txt"));
  replace("model/model.json", "\"name\": \"result\"",
          R"("text": {"tokens": "words", "most": 0, "grams": 1}, "name": "../secret")");
  EXPECT_NE(error_of(ErrorKind::data, [&] { load_model(path("model")); }), "no error")
      << "a file outside the folder was read";
}

TEST_F(Fault10Models, SavingAgainKeepsOtherFiles) {
  save("model");
  write(path("model/notes.txt"), "mine");
  save("model");
  EXPECT_EQ(read(path("model/notes.txt")), "mine") << "a file of the user was deleted";
}

TEST_F(Fault10Models, FoldersThatOnlyLookLikeCheckpoints) {
  write_rows(20);
  write(path("job.toml"),
        "[data]\ntrain = \"rows.csv\"\nbatch = 4\n"
        "[model]\nlayers = [ { linear = { units = 1 } } ]\n"
        "[train]\nloss = \"mse\"\nepochs = 4\n[output]\ndirectory = \"model\"\nrun = \"run\"\n");
  const Outcome half = run_here(kTrireme + " train job.toml --quiet --set train.max_steps=10");
  ASSERT_EQ(half.code, 0) << half.output;
  std::filesystem::create_directory(path("run/checkpoints/checkpoint-70"));
  const Outcome outcome = run_here(kTrireme + " train job.toml --quiet --resume");
  EXPECT_EQ(outcome.code, 0) << outcome.output;
}

TEST_F(Fault10Models, NullModelsInC) {
  EXPECT_EQ(trireme_name(nullptr), nullptr);
  EXPECT_EQ(trireme_inputs(nullptr), 0u);
}

TEST_F(Fault10Models, ShapesThatNoTensorHasInC) {
  {
    Program program("net");
    const Value x = program.input("x", f32, {batch + Dim(3)});
    Session session(program);
    save_model(program, session, path("model"), {.outputs = {x * 2.0}});
    Model saved = load_model(path("model"));
    compile_model(saved, path("compiled"));
  }
  trireme_model* model = nullptr;
  ASSERT_EQ(trireme_load(path("compiled").c_str(), 1, &model), TRIREME_OK);
  float numbers[4] = {}, results[4] = {};
  for (const std::int64_t size : {std::int64_t{-1}, INT64_MIN}) {
    trireme_tensor in{numbers, sizeof numbers, TRIREME_F32, 1, {size}};
    trireme_tensor out{};
    out.data = results;
    out.bytes = sizeof results;
    EXPECT_EQ(trireme_plan_outputs(model, &in, 1, &out, 1), TRIREME_USAGE)
        << "a negative size was accepted";
  }
  trireme_free(model);
}

TEST_F(Fault10Models, SymbolsBelowZero) {
  Program program("net");
  const Value x = program.input("x", f32, {batch + Dim(3)});
  Session session(program);
  const Value doubled = x * 2.0;
  EXPECT_NE(error_of(ErrorKind::usage, [&] { session.run({{"x", Tensor(f32, {2})}}, {doubled}); }),
            "no error")
      << "a batch of -1 was accepted";
}

}  // namespace
}  // namespace trireme::testing
