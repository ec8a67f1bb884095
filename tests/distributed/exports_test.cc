// Exports of jobs for serving, read in C++, and in Python as in docs/reference/formats/export.md;
// compared with the saved model.

#include <set>

#include "base/safetensors.h"
#include "base/testing/python.h"
#include "launch.h"
#include "trireme/exported_table.h"
#include "trireme/trireme.h"

namespace trireme::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* kOften = "checkpoint_seconds = 0.1\nexport_seconds = 0.1\n";

class Exports : public Launch {
 protected:
  std::string train(const std::string& mode, const std::string& more = "") const {
    const std::string file =
        job(kAdagrad, "mode = \"" + mode + "\"\ntask_batches = 4\n" + kOften + more, 12000, 2);
    const Outcome outcome = run_here(kLaunch + "--trainers 2 --servers 2 " + file + " -o model");
    EXPECT_EQ(outcome.code, 0) << outcome.output;
    return outcome.output;
  }
  std::vector<std::string> folders() const {
    std::vector<std::string> found;
    for (const auto& entry : std::filesystem::directory_iterator(path("model-exports"))) {
      if (entry.is_directory()) found.push_back(entry.path());
    }
    return found;
  }
};

// Each table has the rows of the saved model, and each dense parameter its bits; together they are
// the whole model.
void expect_model(Model& model, const std::vector<std::string>& folders, const std::string& dense) {
  const Safetensors others = read_safetensors(dense);
  std::set<std::string> names, notes = {others.metadata.at("note")};
  for (const std::string& folder : folders) {
    const ExportedTable table(folder);
    names.insert(table.name());
    notes.insert(table.note());
    const Tensor weights = model.session().parameter(table.name());
    std::vector<std::int64_t> ids(static_cast<std::size_t>(weights.dim(0)));
    for (std::size_t i = 0; i < ids.size(); ++i) ids[i] = static_cast<std::int64_t>(i);
    EXPECT_TRUE(equal(table.lookup(ids), weights)) << table.name();
    EXPECT_GT(table.rows(), 1000);
    EXPECT_LE(table.rows(), weights.dim(0));
  }
  EXPECT_EQ(notes.size(), 1u) << "all are of one checkpoint";
  for (const auto& [name, tensor] : others.tensors) {
    names.insert(name);
    const Tensor weights = model.session().parameter(name);
    EXPECT_TRUE(equal(tensor.reshaped(weights.shape()), weights)) << name;
  }
  EXPECT_EQ(names.size(), folders.size() + others.tensors.size());
  EXPECT_EQ(names.size(), model.program().parameters().size());
}

TEST_F(Exports, AreTheModelThatIsSaved) {
  for (const char* mode : {"asynchronous", "synchronous"}) {
    const std::string said = train(mode);
    EXPECT_THAT(said, HasSubstr("[master_0] export 1, a base: 2 tables, "));
    EXPECT_THAT(said, HasSubstr("[master_0] export 2: 2 tables, "));
    EXPECT_THAT(said, Not(HasSubstr("no export")));
    Model model = load_model(path("model"));
    EXPECT_EQ(folders().size(), 2u);
    expect_model(model, folders(), path("model-exports/dense.safetensors"));
    for (const char* folder : {"model", "model-checkpoints", "model-exports"}) {
      std::filesystem::remove_all(path(folder));
    }
  }
}

// Rows of 16 bits are those of the model.
TEST_F(Exports, OfRowsThatAreKeptIn16Bits) {
  train("geo", "float16 = true\nexport_deltas = 0\n");
  Model model = load_model(path("model"));
  for (const std::string& folder : folders()) {
    const ExportedTable table(folder);
    const Tensor weights = model.session().parameter(table.name());
    for (std::int64_t id = 0; id < weights.dim(0); ++id) {
      ASSERT_TRUE(equal(table.lookup({id}), weights.rows(id, id + 1))) << id;
    }
    EXPECT_THAT(read(folder + "/export.json"), Not(HasSubstr("\"delta\": true")));
  }
}

// The lines between "```python" and "```" on the page of the format.
std::string example() {
  const std::string page =
      read(std::string(std::getenv("TRIREME_SOURCE_DIR")) + "/docs/reference/formats/export.md");
  const std::string begin = "```python\n";
  const std::size_t at = page.find(begin) + begin.size();
  return page.substr(at, page.find("```", at) - at);
}

TEST_F(Exports, AreReadInPythonAsTheirPageSays) {
  const std::string python = python_interpreter("TRIREME_SAFETENSORS_PYTHON");
  if (run(python + " -c 'import safetensors, numpy'").code != 0) {
    GTEST_SKIP() << python << " has no packages safetensors and numpy\n"
                 << "  hint   tools/python-env.sh safetensors gets them from PyPI";
  }
  train("asynchronous");
  write(path("read.py"), example() + R"(
weights = load_file("model/weights.safetensors")[index["table"]]
assert index["dtype"] == "f32" and weights.shape[1] == index["width"]
for i, row in rows.items():
    assert (weights[i] == row).all(), i
print(len(index["exports"]), "exports,", len(rows), "rows")
)");
  for (const std::string& folder : folders()) {
    std::filesystem::remove(path("export"));
    std::filesystem::create_directory_symlink(folder, path("export"));
    const Outcome outcome = run_here(python + " read.py");
    EXPECT_EQ(outcome.code, 0) << outcome.output;
    EXPECT_GE(number_behind(" " + outcome.output, " "), 2);
    EXPECT_EQ(number_behind(outcome.output, "exports, "),
              static_cast<double>(ExportedTable(folder).rows()));
  }
}

// The stopped job has exported its state, and the job that continues exports the changes since
// then.
TEST_F(Exports, GoOnWithTheJob) {
  train("asynchronous", "export_deltas = 1000\n");
  const std::int64_t before = ExportedTable(folders().at(0)).number();
  const Outcome outcome =
      run_here(kLaunch +
               "--trainers 1 --servers 3 job.toml -o model --set train.epochs=3 "
               "--set distributed.resume=true");
  EXPECT_EQ(outcome.code, 0) << outcome.output;
  EXPECT_THAT(outcome.output, HasSubstr("export " + std::to_string(before + 1) + ", a base: 2"));
  Model model = load_model(path("model"));
  expect_model(model, folders(), path("model-exports/dense.safetensors"));
}

// The message of the job instead of saving: the model does not fit into memory.
TEST_F(Exports, OfAModelThatIsTooLargeToBeSaved) {
  std::string file = job(kAdagrad, "mode = \"asynchronous\"\nexport_seconds = 60\n", 2000);
  const std::string here = "ids = 2000 }\ntest = ";
  std::string text = read(file);
  text.replace(text.find(here), here.size(), "ids = 200000000 }\ntest = ");
  text.replace(text.find("ids = 2000 }\nbatch"), 10, "ids = 200000000");
  write(file, text);
  const Outcome outcome = run_here(kLaunch + "--trainers 1 --servers 1 " + file + " -o model");
  EXPECT_EQ(outcome.code, 0) << outcome.output;
  EXPECT_THAT(outcome.output, HasSubstr("too much for a saved model: they are in "
                                        "model-checkpoints, and for serving in model-exports\n"));
  EXPECT_EQ(folders().size(), 2u);
  EXPECT_FALSE(std::filesystem::exists(path("model")));
}

TEST_F(Exports, SettingsThatMakeNoSense) {
  const auto refused = [&](const std::string& distributed) {
    const Outcome outcome =
        run_here(kLaunch + "--trainers 1 --servers 1 " + job(kAdagrad, distributed, 100));
    EXPECT_EQ(outcome.code, 3) << outcome.output;
    EXPECT_FALSE(std::filesystem::exists(path("job-exports")));
    return outcome.output;
  };
  EXPECT_THAT(refused("export_seconds = 5\n"),
              HasSubstr("export_seconds: is of modes with servers"));
  EXPECT_THAT(refused("mode = \"geo\"\ncheckpoint_seconds = 0\nexport_seconds = 5\n"),
              HasSubstr("exports are made with checkpoints"));
}

}  // namespace
}  // namespace trireme::testing
