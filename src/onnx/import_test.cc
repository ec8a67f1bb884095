#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <protozero/pbf_writer.hpp>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "trireme/error.h"
#include "trireme/onnx.h"
#include "trireme/session.h"

namespace trireme::onnx {
namespace {

using protozero::pbf_writer;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// --- Models, by the fields of onnx.proto -------------------------------------------------------

struct Ints {
  std::string name;
  std::vector<std::int64_t> values;
};

std::string node(const std::string& type, const std::vector<std::string>& inputs,
                 const std::vector<std::string>& outputs, const std::vector<Ints>& attributes = {},
                 const std::string& name = "") {
  std::string bytes;
  pbf_writer out(bytes);
  for (const std::string& input : inputs) out.add_string(1, input);
  for (const std::string& output : outputs) out.add_string(2, output);
  out.add_string(3, name);
  out.add_string(4, type);
  for (const Ints& a : attributes) {
    std::string attribute;
    pbf_writer to(attribute);
    to.add_string(1, a.name);
    if (a.values.size() == 1) to.add_int64(3, a.values[0]);
    for (const std::int64_t value : a.values) to.add_int64(8, value);
    out.add_message(5, attribute);
  }
  return bytes;
}

std::string floats(const std::string& name, const std::vector<std::int64_t>& dims,
                   const std::vector<float>& values) {
  std::string bytes;
  pbf_writer out(bytes);
  for (const std::int64_t dim : dims) out.add_int64(1, dim);
  out.add_int32(2, 1);
  out.add_packed_float(4, values.begin(), values.end());
  out.add_string(8, name);
  return bytes;
}

std::string integers(const std::string& name, const std::vector<std::int64_t>& values) {
  std::string bytes;
  pbf_writer out(bytes);
  out.add_int64(1, static_cast<std::int64_t>(values.size()));
  out.add_int32(2, 7);
  out.add_packed_int64(7, values.begin(), values.end());
  out.add_string(8, name);
  return bytes;
}

std::string external(const std::string& name, std::int64_t dim, const std::string& location,
                     std::uint64_t offset) {
  std::string bytes;
  pbf_writer out(bytes);
  out.add_int64(1, dim);
  out.add_int32(2, 1);
  out.add_string(8, name);
  const auto entry = [&](const std::string& key, const std::string& value) {
    std::string pair;
    pbf_writer to(pair);
    to.add_string(1, key);
    to.add_string(2, value);
    out.add_message(13, pair);
  };
  entry("location", location);
  entry("offset", std::to_string(offset));
  out.add_int32(14, 1);
  return bytes;
}

// Dims are numbers or symbols.
std::string value(const std::string& name, const std::vector<std::string>& dims) {
  std::string shape;
  for (const std::string& dim : dims) {
    std::string one;
    if (std::isdigit(static_cast<unsigned char>(dim[0])) != 0)
      pbf_writer(one).add_int64(1, std::stoll(dim));
    else pbf_writer(one).add_string(2, dim);
    pbf_writer(shape).add_message(1, one);
  }
  std::string tensor, type, bytes;
  pbf_writer to(tensor);
  to.add_int32(1, 1);
  to.add_message(2, shape);
  pbf_writer(type).add_message(1, tensor);
  pbf_writer out(bytes);
  out.add_string(1, name);
  out.add_message(2, type);
  return bytes;
}

struct Parts {
  std::vector<std::string> nodes, inputs, outputs, initializers;
};

std::string model(const Parts& parts, std::int64_t version = 21) {
  std::string graph, opset, bytes;
  pbf_writer to(graph);
  for (const std::string& one : parts.nodes) to.add_message(1, one);
  for (const std::string& one : parts.initializers) to.add_message(5, one);
  for (const std::string& one : parts.inputs) to.add_message(11, one);
  for (const std::string& one : parts.outputs) to.add_message(12, one);
  pbf_writer(opset).add_int64(2, version);
  pbf_writer out(bytes);
  out.add_int64(1, 10);
  out.add_message(7, graph);
  out.add_message(8, opset);
  return bytes;
}

std::vector<Tensor> run(const ImportedModel& imported, const Feeds& feeds) {
  Session session(imported.program, {.threads = 1, .interpreter = true});
  load_state_dict(session, imported.state);
  return session.run(feeds, imported.program.outputs());
}

Error error_of(const std::string& bytes, const ImportOptions& options = {}) {
  try {
    import_bytes(bytes, options);
  } catch (const Error& error) {
    return error;
  }
  return {ErrorKind::internal, "no error"};
}

// --- What is imported --------------------------------------------------------------------------

const Parts kLinear = {.nodes = {node("MatMul", {"x", "w"}, {"h"}), node("Relu", {"h"}, {"y"})},
                       .inputs = {value("x", {"batch", "2"})},
                       .outputs = {value("y", {"batch", "2"})},
                       .initializers = {floats("w", {2, 2}, {1, -1, 2, 1})}};

TEST(ImportOnnx, InitializersBecomeParametersAndSizesSymbols) {
  const ImportedModel imported = import_bytes(model(kLinear));
  EXPECT_THAT(imported.inputs, ElementsAre("x"));
  EXPECT_THAT(imported.outputs, ElementsAre("y"));
  EXPECT_EQ(str(imported.program.inputs()[0].shape()), "[batch, 2]");
  ASSERT_EQ(imported.state.count("w"), 1u);
  const Tensor x = Tensor::from<float>({3, 2}, {1, 0, 0, 1, -1, 1});
  EXPECT_THAT(run(imported, {{"x", x}})[0].to_vector<float>(), ElementsAre(1, 0, 2, 1, 1, 2));
  EXPECT_EQ(run(imported, {{"x", Tensor(f32, {0, 2})}})[0].shape(),
            (std::vector<std::int64_t>{0, 2}));
}

// The shape is computed from that of the input, whose batch is a symbol.
TEST(ImportOnnx, ShapesMayDependOnSymbols) {
  const Parts parts = {.nodes = {node("Shape", {"x"}, {"s"}), node("Gather", {"s", "zero"}, {"n"}),
                                 node("Concat", {"n", "rest"}, {"t"}, {{"axis", {0}}}),
                                 node("Reshape", {"x", "t"}, {"y"})},
                       .inputs = {value("x", {"batch", "2", "3"})},
                       .outputs = {value("y", {})},
                       .initializers = {integers("zero", {0}), integers("rest", {-1})}};
  const ImportedModel imported = import_bytes(model(parts));
  EXPECT_EQ(str(imported.program.outputs()[0].shape()), "[batch, 6]");
}

TEST(ImportOnnx, InputsThatDecideShapesAreGivenAsConstants) {
  std::string target;  // i64[1]
  {
    std::string dim, shape, tensor, type;
    pbf_writer(dim).add_int64(1, 1);
    pbf_writer(shape).add_message(1, dim);
    pbf_writer to(tensor);
    to.add_int32(1, 7);
    to.add_message(2, shape);
    pbf_writer(type).add_message(1, tensor);
    pbf_writer out(target);
    out.add_string(1, "t");
    out.add_message(2, type);
  }
  const std::string bytes = model({.nodes = {node("Reshape", {"x", "t"}, {"y"})},
                                   .inputs = {value("x", {"2", "3"}), target},
                                   .outputs = {value("y", {})}});
  EXPECT_THAT(error_of(bytes).what(), HasSubstr("give its value as a constant"));
  const ImportedModel imported =
      import_bytes(bytes, {.constants = {{"t", Tensor::from<std::int64_t>({1}, {6})}}});
  EXPECT_THAT(imported.inputs, ElementsAre("x"));
  EXPECT_EQ(str(imported.program.outputs()[0].shape()), "[6]");
}

TEST(ImportOnnx, WhatIsKnownIsComputedNow) {
  const Parts parts = {.nodes = {node("Mul", {"a", "a"}, {"b"}), node("Add", {"x", "b"}, {"y"})},
                       .inputs = {value("x", {"2"})},
                       .outputs = {value("y", {})},
                       .initializers = {floats("a", {2}, {3, 4})}};
  const ImportedModel imported = import_bytes(model(parts));
  ASSERT_EQ(imported.state.size(), 1u);
  EXPECT_THAT(imported.state.begin()->second.to_vector<float>(), ElementsAre(9, 16));
}

// --- What cannot be imported -------------------------------------------------------------------

TEST(ImportOnnx, OneReportNamesAllNodesThatCannotBeImported) {
  const Parts parts = {
      .nodes = {node("Fancy", {"x"}, {"a"}, {}, "first"), node("Relu", {"a"}, {"b"}, {}, "after"),
                node("Other", {"x"}, {"c"}, {}, "second"),
                node("Unused", {"x"}, {"d"}, {}, "unused")},
      .inputs = {value("x", {"2"})},
      .outputs = {value("b", {}), value("c", {})}};
  const Error error = error_of(model(parts));
  EXPECT_EQ(error.kind(), ErrorKind::usage);
  EXPECT_THAT(error.what(), HasSubstr("first (Fancy): there is no such operator"));
  EXPECT_THAT(error.what(), HasSubstr("second (Other): there is no such operator"));
  EXPECT_THAT(error.what(), Not(HasSubstr("after")));
  EXPECT_THAT(error.what(), Not(HasSubstr("unused")));
}

TEST(ImportOnnx, DamagedModelsAreErrors) {
  const std::string whole = model(kLinear);
  for (std::size_t size = 0; size < whole.size(); ++size) {
    try {
      import_bytes(whole.substr(0, size));
    } catch (const Error& error) {
      EXPECT_TRUE(error.kind() == ErrorKind::data || error.kind() == ErrorKind::usage)
          << error.what();
    }
  }
  EXPECT_EQ(error_of("").kind(), ErrorKind::data);
  EXPECT_EQ(error_of("not a model").kind(), ErrorKind::data);
  Parts parts = kLinear;
  parts.initializers = {floats("w", {2, 3}, {1, 2})};
  EXPECT_THAT(error_of(model(parts)).what(), HasSubstr("\"w\" needs 24 bytes, but has 8"));
  parts.initializers = {floats("w", {std::int64_t{1} << 40, std::int64_t{1} << 40}, {1})};
  EXPECT_THAT(error_of(model(parts)).what(), HasSubstr("product is too large"));
  parts.initializers = {};
  EXPECT_THAT(error_of(model(parts)).what(), HasSubstr("\"w\" is computed by no node before it"));
  EXPECT_THAT(error_of(model(kLinear, 99)).what(), HasSubstr("is of version 99"));
}

TEST(ImportOnnx, CyclesAndMissingOutputsAreErrors) {
  const Parts cycle = {.nodes = {node("Add", {"x", "b"}, {"a"}), node("Relu", {"a"}, {"b"})},
                       .inputs = {value("x", {"2"})},
                       .outputs = {value("b", {})}};
  EXPECT_THAT(error_of(model(cycle)).what(), HasSubstr("\"b\" is computed by no node before it"));
  const Parts missing = {.inputs = {value("x", {"2"})}, .outputs = {value("z", {})}};
  EXPECT_THAT(error_of(model(missing)).what(), HasSubstr("\"z\" is computed by no node"));
}

TEST(ImportOnnx, ComputesNoMoreThanTheLimits) {
  const Parts large = {.nodes = {node("ConstantOfShape", {"s"}, {"c"}), node("Neg", {"c"}, {"n"}),
                                 node("ReduceSum", {"n"}, {"r"}), node("Add", {"x", "r"}, {"y"})},
                       .inputs = {value("x", {"1"})},
                       .outputs = {value("y", {})},
                       .initializers = {integers("s", {1 << 28})}};
  // What is large is left to the run.
  EXPECT_TRUE(import_bytes(model(large), {.max_bytes = 1 << 20}).state.empty());
  Parts parts = large;
  parts.initializers = {integers("s", {1 << 19})};
  EXPECT_THAT(error_of(model(parts), {.max_bytes = 1 << 20}).what(), HasSubstr("bytes"));
  EXPECT_THAT(error_of(model(kLinear), {.max_nodes = 1}).what(), HasSubstr("more than 1 nodes"));
}

// --- Numbers in other files --------------------------------------------------------------------

TEST(ImportOnnx, ReadsNumbersOfFilesInItsFolderOnly) {
  const std::string folder = ::testing::TempDir() + "/onnx_external";
  std::filesystem::create_directories(folder + "/part");
  const float numbers[] = {1, -1, 2, 1};
  for (const char* file : {"/part/w.bin", "/../onnx_outside.bin"}) {
    std::ofstream(folder + file, std::ios::binary)
        .write(reinterpret_cast<const char*>(numbers), sizeof numbers);
  }
  const auto import = [&](const std::string& location, std::uint64_t offset) {
    Parts parts = {.nodes = {node("Add", {"x", "w"}, {"y"})},
                   .inputs = {value("x", {"2"})},
                   .outputs = {value("y", {})},
                   .initializers = {external("w", 2, location, offset)}};
    std::ofstream(folder + "/model.onnx", std::ios::binary) << model(parts);
    return import_model(folder + "/model.onnx");
  };
  EXPECT_THAT(import("part/w.bin", 8).state.at("w").to_vector<float>(), ElementsAre(2, 1));
  const auto fails = [&](const std::string& location, std::uint64_t offset) -> std::string {
    try {
      import(location, offset);
    } catch (const Error& error) {
      return error.what();
    }
    return "no error";
  };
  EXPECT_THAT(fails("part/w.bin", 12), HasSubstr("needs 8 bytes, but has 4"));
  EXPECT_THAT(fails("part/w.bin", 99), HasSubstr("which has 16"));
  EXPECT_THAT(fails("missing.bin", 0), HasSubstr("missing.bin"));
  for (const char* outside :
       {"../onnx_outside.bin", "part/../../onnx_outside.bin", "/etc/hostname"}) {
    EXPECT_THAT(fails(outside, 0), HasSubstr("not in the folder of the model")) << outside;
  }
  std::filesystem::create_directory_symlink("..", folder + "/link");
  EXPECT_THAT(fails("link/onnx_outside.bin", 0), HasSubstr("not in the folder of the model"));
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace trireme::onnx
