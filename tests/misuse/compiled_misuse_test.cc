// Compiled models that are damaged, foreign or newer, and compiling what cannot be compiled.

#include "base/checked_folder.h"
#include "base/checksum.h"
#include "base/safetensors.h"
#include "in_command_folder.h"
#include "inference/kernel_library.h"
#include "inference/model_file.h"
#include "trireme/c.h"
#include "trireme/trireme.h"

namespace trireme::testing {
namespace {

constexpr const char* kFiles[] = {"checksums.txt", "constants.safetensors", "kernels.so",
                                  "plan.json"};

class CompiledMisuse : public InCommandFolder {
 protected:
  CompiledMisuse() {
    Program program("net");
    const Value x = program.input("x", f32, {batch, 4});
    Session session(program);
    save_model(program, session, path("model"),
               {.outputs = {softmax(nn::linear(x, {.units = 3}))}});
    Model model = load_model(path("model"));
    compile_model(model, path("compiled"));
  }

  std::string file(const std::string& name) const { return path("compiled/" + name); }

  template <class F>
  void expect_error(ErrorKind kind, const std::string& why, const F& body) {
    trireme::testing::fails(kind, why, body);
  }
  void load_fails(ErrorKind kind, const std::string& why) {
    expect_error(kind, why, [&] { CompiledModel::load(path("compiled")); });
  }

  // Makes the folder whole again after a file was changed on purpose.
  void sign() {
    const std::string plan = read(file("plan.json")), code = read(file("kernels.so")),
                      constants = read(file("constants.safetensors"));
    write(file("checksums.txt"),
          checksums_text(
              inference::kFormat,
              {{"plan.json", plan}, {"constants.safetensors", constants}, {"kernels.so", code}}));
  }
  void replace_in_plan(const std::string& from, const std::string& to) {
    std::string text = read(file("plan.json"));
    const std::size_t at = text.find(from);
    ASSERT_NE(at, std::string::npos) << from;
    write(file("plan.json"), text.replace(at, from.size(), to));
    sign();
  }
};

TEST_F(CompiledMisuse, EveryFlippedByteNamesItsFile) {
  for (const char* name : kFiles) {
    const std::string whole = read(file(name));
    for (std::size_t i = 0; i < whole.size(); i += 1 + whole.size() / 40) {
      std::string damaged = whole;
      damaged[i] = static_cast<char>(damaged[i] ^ 0x10);
      write(file(name), damaged);
      load_fails(ErrorKind::data, name);
    }
    write(file(name), whole);
  }
  CompiledModel::load(path("compiled"));
}

TEST_F(CompiledMisuse, CutShortEmptyAndMissingFilesAreNamed) {
  for (const char* name : kFiles) {
    const std::string whole = read(file(name));
    write(file(name), whole.substr(0, whole.size() / 2));
    load_fails(ErrorKind::data, name);
    write(file(name), "");
    load_fails(ErrorKind::data, name);
    std::filesystem::remove(file(name));
    load_fails(ErrorKind::data, std::string(name) + " is missing");
    write(file(name), whole);
  }
  expect_error(ErrorKind::not_found, "there is no folder",
               [&] { CompiledModel::load(path("nowhere")); });
  expect_error(ErrorKind::data, "is no compiled model",
               [&] { CompiledModel::load(path("model")); });
}

TEST_F(CompiledMisuse, PartsThatDoNotFitEachOther) {
  replace_in_plan("\"name\": \"net\"", "\"name\": \"NET\"");
  EXPECT_EQ(CompiledModel::load(path("compiled")).name(), "NET");
  write(file("kernels.so"), "no ELF at all");
  sign();
  load_fails(ErrorKind::data, "kernels.so cannot be loaded");
}

TEST_F(CompiledMisuse, AKernelThatIsNotThere) {
  replace_in_plan("trireme_kernel_", "trireme_colonel_");
  load_fails(ErrorKind::data, "has no kernel trireme_colonel_");
}

TEST_F(CompiledMisuse, ConstantsOfAnotherForm) {
  Safetensors constants = read_safetensors(file("constants.safetensors"));
  const std::string name = constants.tensors.begin()->first;
  constants.tensors[name] = Tensor(f32, {77});
  write_safetensors(file("constants.safetensors"), constants);
  sign();
  load_fails(ErrorKind::data, "\"" + name + "\" is f32[77]");
  constants.tensors.erase(name);
  write_safetensors(file("constants.safetensors"), constants);
  sign();
  load_fails(ErrorKind::data, "\"" + name + "\" is missing");
}

TEST_F(CompiledMisuse, NewerFormatsAndForeignFolders) {
  std::string text = "trireme compiled model 2\n";
  text += checksum(text) + "\n";
  write(file("checksums.txt"), text);
  load_fails(ErrorKind::data, "has format 2");
  text = "trireme checkpoint 1\n";
  text += checksum(text) + "\n";
  write(file("checksums.txt"), text);
  load_fails(ErrorKind::data, "is no compiled model");
}

TEST_F(CompiledMisuse, AModelForAnotherMachine) {
  Model model = load_model(path("model"));
  const std::string here = CompiledModel::load(path("compiled")).target();
  const std::string foreign = here == "aarch64" ? "x86-64-v3" : "aarch64";
  compile_model(model, path("compiled"), {.target = foreign});
  load_fails(ErrorKind::usage, "it is for " + foreign);
  load_fails(ErrorKind::usage, "--target " + here);
  expect_error(ErrorKind::usage, "did you mean \"aarch64\"",
               [&] { compile_model(model, path("other"), {.target = "arch64"}); });
}

TEST_F(CompiledMisuse, AnOpThatNeedsALibraryNamesItsLine) {
  Program program("volumes");
  const Value x = program.input("x", f32, {batch, 1, 4, 4, 4});
  const Value y = nn::conv3d(x, {.channels = 2});
  Session session(program);
  save_model(program, session, path("volumes"), {.outputs = {y}});
  Model model = load_model(path("volumes"));
  expect_error(ErrorKind::usage, "compiled_misuse_test.cc",
               [&] { compile_model(model, path("compiled")); });
  expect_error(ErrorKind::usage, "conv3d_0 needs the library kernel \"convolution\"",
               [&] { compile_model(model, path("compiled")); });
  CompiledModel::load(path("compiled"));  // what was there
}

TEST_F(CompiledMisuse, CompilingLeavesWhatWasThereWhole) {
  Model model = load_model(path("model"));
  const std::string before = read(file("plan.json"));
  expect_error(ErrorKind::usage, "no no_such_linker",
               [&] { compile_model(model, path("compiled"), {.linker = "no_such_linker"}); });
  expect_error(ErrorKind::internal, "the linker false ended with 1",
               [&] { compile_model(model, path("compiled"), {.linker = "false"}); });
  EXPECT_EQ(read(file("plan.json")), before);
  CompiledModel::load(path("compiled"));
  for (const auto& entry : std::filesystem::directory_iterator(folder_)) {
    EXPECT_EQ(entry.path().string().find(".tmp."), std::string::npos) << entry.path();
  }
  write(path("precious"), "mine");
  expect_error(ErrorKind::usage, "is no compiled model",
               [&] { compile_model(model, path("precious")); });
  expect_error(ErrorKind::usage, "is no compiled model",
               [&] { compile_model(model, path("model")); });
  EXPECT_EQ(read(path("precious")), "mine");
}

// The first is still loaded when another model has taken its path.
TEST_F(CompiledMisuse, AnExchangedModelIsTheNewOne) {
  CompiledModel first = CompiledModel::load(path("compiled"));
  const auto compile = [&](double factor) {
    Program program("net");
    const Value x = program.input("x", f32, {batch, 4});
    Session session(program);
    save_model(program, session, path("model"), {.outputs = {factor > 3 ? exp(x) : x * factor}});
    Model model = load_model(path("model"));
    compile_model(model, path("compiled"));
    return CompiledModel::load(path("compiled"));
  };
  const Feeds feeds{{"x", Tensor::from<float>({1, 4}, {1, 1, 1, 1})}};
  CompiledModel doubled = compile(2), tripled = compile(3), exponential = compile(4);
  EXPECT_EQ(doubled.predict(feeds).at(0).data<float>()[0], 2);
  EXPECT_EQ(tripled.predict(feeds).at(0).data<float>()[0], 3);
  EXPECT_NEAR(exponential.predict(feeds).at(0).data<float>()[0], 2.7182818f, 1e-5);
  EXPECT_EQ(first.predict(feeds).at(0).elements(), 3);
}

// The kernels that were checked run, also if their file changes at once.
TEST_F(CompiledMisuse, TheBytesThatWereCheckedAreLoaded) {
  const std::string code = read(file("kernels.so"));
  write(file("kernels.so"), "no ELF at all");
  const inference::KernelLibrary library(file("kernels.so"), code);
  expect_error(ErrorKind::data, "has no kernel absent", [&] { library.find("absent"); });
  expect_error(ErrorKind::data, "cannot be loaded",
               [&] { inference::KernelLibrary(file("kernels.so"), "no ELF at all"); });
}

TEST_F(CompiledMisuse, NullModelsOfC) {
  EXPECT_EQ(trireme_name(nullptr), nullptr);
  EXPECT_EQ(trireme_target(nullptr), nullptr);
  EXPECT_EQ(trireme_inputs(nullptr), 0u);
  EXPECT_EQ(trireme_outputs(nullptr), 0u);
  EXPECT_EQ(trireme_labels(nullptr), 0u);
  EXPECT_EQ(trireme_input(nullptr, 0), nullptr);
  EXPECT_EQ(trireme_output(nullptr, 0), nullptr);
  EXPECT_EQ(trireme_label(nullptr, 0), nullptr);
  trireme_tensor tensor{};
  EXPECT_EQ(trireme_plan_outputs(nullptr, &tensor, 1, &tensor, 1), TRIREME_USAGE);
  EXPECT_THAT(trireme_error(), ::testing::HasSubstr("trireme_plan_outputs: the model is null"));
  EXPECT_EQ(trireme_run(nullptr, &tensor, 1, &tensor, 1), TRIREME_USAGE);
  trireme_free(nullptr);
}

TEST_F(CompiledMisuse, ShapesThatNoTensorHasInC) {
  trireme_model* model = nullptr;
  ASSERT_EQ(trireme_load(path("compiled").c_str(), 1, &model), TRIREME_OK);
  float numbers[4] = {}, results[3] = {};
  const auto run = [&](std::int64_t rows, std::int64_t width) {
    trireme_tensor in{numbers, sizeof numbers, TRIREME_F32, 2, {rows, width}};
    trireme_tensor out{};
    out.data = results;
    out.bytes = sizeof results;
    EXPECT_EQ(trireme_plan_outputs(model, &in, 1, &out, 1), trireme_run(model, &in, 1, &out, 1));
    out.data = results;
    out.bytes = sizeof results;
    return trireme_run(model, &in, 1, &out, 1);
  };
  EXPECT_EQ(run(1, 4), TRIREME_OK);
  for (const std::int64_t size : {INT64_MIN, INT64_MIN + 1, std::int64_t{-1}}) {
    EXPECT_EQ(run(size, 4), TRIREME_USAGE);
    EXPECT_THAT(trireme_error(), ::testing::HasSubstr("axis 0 is below 0"));
    EXPECT_EQ(run(1, size), TRIREME_USAGE);
  }
  trireme_free(model);
}

// The size of the symbol follows from that of an axis.
TEST_F(CompiledMisuse, SymbolsBelowZero) {
  Program program("net");
  const Value x = program.input("x", f32, {batch + 3});
  Session session(program);
  const Value doubled = x * 2.0;
  EXPECT_EQ(session.run({{"x", Tensor(f32, {3})}}, {doubled}).at(0).elements(), 3);
  expect_error(ErrorKind::usage, "axis 0 makes batch -1, which is below 0",
               [&] { session.run({{"x", Tensor(f32, {2})}}, {doubled}); });
}

TEST_F(CompiledMisuse, WrongFeeds) {
  CompiledModel model = CompiledModel::load(path("compiled"));
  expect_error(ErrorKind::usage, "\"x\" is not fed", [&] { model.predict({}); });
  expect_error(ErrorKind::usage, "no input of that name",
               [&] { model.predict({{"z", Tensor(f32, {1, 4})}}); });
  expect_error(ErrorKind::usage, "axis 1 must be 4",
               [&] { model.predict({{"x", Tensor(f32, {1, 5})}}); });
  expect_error(ErrorKind::usage, "f64[1, 4]", [&] { model.predict({{"x", Tensor(f64, {1, 4})}}); });
  EXPECT_EQ(model.predict({{"x", Tensor(f32, {0, 4})}}).at(0).elements(), 0);
  EXPECT_EQ(model.predict({{"x", Tensor(f32, {2, 4})}}).at(0).elements(), 6);
}

TEST_F(CompiledMisuse, TheCommandSaysWhatIsWrong) {
  fails("compile model --target vax", 2,
        "x86-64-v3, alderlake, x86-64-v4, cascadelake, sapphirerapids, aarch64, armv8.2-dotprod, "
        "native");
  fails("compile nowhere", 4, "nowhere");
  const Outcome outcome = run_here(kTrireme + " compile model");
  EXPECT_EQ(outcome.code, 0) << outcome.output;
  CompiledModel::load(path("model/compiled-native"));
}

}  // namespace
}  // namespace trireme::testing
