// Bad models of ONNX, and saved models that cannot become one.

#include "in_command_folder.h"
#include "trireme/trireme.h"

namespace trireme::testing {
namespace {

class OnnxModels : public InCommandFolder {
 protected:
  void save(const std::string& name, const Program& program, const Value& output) const {
    Session session(program);
    save_model(program, session, path(name), {.outputs = {output}});
  }
  // A model with an input of two open sizes.
  void write_sums() const {
    Program program("sums");
    const Value x = program.input("x", f32, {batch, Dim("width")});
    save("sums", program, sum(x, {.axes = {1}}));
    EXPECT_EQ(run_here(kTrireme + " export sums sums.onnx").code, 0);
  }
};

TEST_F(OnnxModels, FilesThatAreNoModel) {
  fails("convert none.onnx out", 4, "none.onnx");
  write(path("text.onnx"), "no model");
  fails("convert text.onnx out", 3, "text.onnx");
  write(path("empty.onnx"), "");
  fails("convert empty.onnx out", 3, "empty.onnx");
  EXPECT_FALSE(std::filesystem::exists(path("out")));
}

TEST_F(OnnxModels, OptionsOfConvert) {
  write_sums();
  fails("convert sums.onnx out --size width", 2, "SYMBOL=N");
  fails("convert sums.onnx out --size width=-1", 2, "SYMBOL=N");
  fails("convert sums.onnx out --shape x=batch,3x", 2, "INPUT=SIZE");
  fails("convert sums.onnx out --constant 'x=[1,[2]]'", 2, "INPUT=VALUE");
  fails("convert sums.onnx out --constant x=word", 2, "INPUT=VALUE");
  fails("convert sums.onnx out --image y", 2, "its inputs are x");
  fails("convert sums.onnx out --image x", 2, "pictures are f32[batch, 1 or 3, height, width]");
  fails("convert sums.onnx out --labels none.txt", 4, "none.txt");
  fails("convert sums.onnx out --max-nodes 1", 3, "more than 1 nodes");
  std::filesystem::create_directories(path("folder"));
  write(path("folder/file"), "not ours");
  fails("convert sums.onnx folder", 2, "folder");
  EXPECT_EQ(read(path("folder/file")), "not ours");
}

TEST_F(OnnxModels, ConvertGivesSizesAndConstants) {
  write_sums();
  EXPECT_EQ(run_here(kTrireme + " convert sums.onnx sized --size width=3 --size batch=2").code, 0);
  EXPECT_THAT(read(path("sized/program.txt")), ::testing::HasSubstr("f32[2, 3]"));
  EXPECT_EQ(run_here(kTrireme + " convert sums.onnx known --constant 'x=[[1,2],[3,4.5]]'").code, 0);
  EXPECT_THAT(read(path("known/model.json")), ::testing::Not(::testing::HasSubstr("\"x\"")));
  trireme::Model known = load_model(path("known"));
  EXPECT_THAT(known.predict({}).at(0).to_vector<float>(), ::testing::ElementsAre(3, 7.5));
}

TEST_F(OnnxModels, OneReportNamesAllOpsThatCannotBeExported) {
  Program program("linear");
  const Value a = program.input("a", f32, {2, 2});
  const Value x = solve(a, a), l = cholesky(a);
  save("algebra", program, x + l);
  fails("export algebra algebra.onnx", 2, "(solve): ONNX has no such operator");
  fails("export algebra algebra.onnx", 2, "(cholesky): ONNX has no such operator");
  fails("export algebra algebra.onnx --opset 17", 2, "18 to 27 can be written");
  fails("export none none.onnx", 4, "none");
  EXPECT_FALSE(std::filesystem::exists(path("algebra.onnx")));
}

}  // namespace
}  // namespace trireme::testing
