#include "base/safetensors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "base/file.h"
#include "base/testing/error.h"
#include "base/testing/python.h"

namespace trireme {
namespace {

using ::testing::HasSubstr;

Safetensors sample() {
  Safetensors content;
  content.metadata = {{"format", "pt"}, {"note", "a \"quoted\" word"}};
  content.tensors = {{"linear_0.weight", Tensor::from<float>({2, 3}, {1, 2, 3, 4, 5, -0.5f})},
                     {"flags", Tensor::from<bool>({3}, {true, false, true})},
                     {"bytes", Tensor::from<std::uint8_t>({1}, {255})},
                     {"ids", Tensor::from<std::int64_t>({2}, {-1, std::int64_t{1} << 40})},
                     {"small", Tensor::from<std::int32_t>({}, {-7})},
                     {"fine", Tensor::from<double>({1, 1}, {0.1})},
                     {"none", Tensor(f32, {0, 4})}};
  return content;
}

// A file with the given header text and data, not checked for sense.
std::string file(const std::string& header, const std::string& data) {
  std::string bytes;
  for (int i = 0; i < 8; ++i) bytes += static_cast<char>(header.size() >> (8 * i) & 0xff);
  return bytes + header + data;
}

std::string damage(const std::string& bytes) {
  return error_of(ErrorKind::data, [&] { parse_safetensors(bytes, "f"); });
}

TEST(Safetensors, ReadsWhatItWrote) {
  const std::string bytes = safetensors_bytes(sample());
  const Safetensors back = parse_safetensors(bytes, "f");
  EXPECT_EQ(back.metadata, sample().metadata);
  ASSERT_EQ(back.tensors.size(), sample().tensors.size());
  for (const auto& [name, tensor] : sample().tensors) {
    EXPECT_TRUE(equal(tensor, back.tensors.at(name))) << name;
  }
  EXPECT_EQ(safetensors_bytes(back), bytes);
  EXPECT_EQ(parse_safetensors(safetensors_bytes({}), "f").tensors.size(), 0u);
}

TEST(Safetensors, ReadsAFileWrittenByHand) {
  const std::string data("\x00\x00\xc0\x3f\x00\x00\x00\xc0\x2a", 9);
  const Safetensors content =
      parse_safetensors(file(R"({"b":{"dtype":"U8","shape":[],"data_offsets":[8,9]},)"
                             R"("a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})",
                             data),
                        "f");
  EXPECT_TRUE(equal(content.tensors.at("a"), Tensor::from<float>({2}, {1.5f, -2.0f})));
  EXPECT_EQ(content.tensors.at("b").item<std::uint8_t>(), 42);
}

// Tensors of other dtypes, also of parts of a byte, stand beside those that are wanted.
TEST(Safetensors, ReadsOnlyTheDTypesThatATensorCanHave) {
  std::string header = R"({"a":{"dtype":"F8_E5M2","shape":[3],"data_offsets":[0,3]},)"
                       R"("b":{"dtype":"U8","shape":[1],"data_offsets":[4,5]},)"
                       R"("c":{"dtype":"F4","shape":[2],"data_offsets":[3,4]},)"
                       R"("d":{"dtype":"C64","shape":[0,2],"data_offsets":[5,5]},)"
                       R"("e":{"dtype":"F32","shape":[0],"data_offsets":[4,4]}})";
  header.append(13, ' ');
  const Safetensors content = parse_safetensors(file(header, "wxyz*"), "f");
  ASSERT_EQ(content.tensors.size(), 2u);
  EXPECT_EQ(content.tensors.at("b").item<std::uint8_t>(), '*');
  EXPECT_EQ(content.tensors.at("e").elements(), 0);
  const std::map<std::string, std::string> foreign = {{"a", "F8_E5M2"}, {"c", "F4"}, {"d", "C64"}};
  EXPECT_EQ(content.foreign, foreign);
  EXPECT_THAT(damage(file(header, "wxyz*+")), HasSubstr("end at byte 5"));

  const Safetensors notes = parse_safetensors(file(R"({"__metadata__":{"a":"b"}} )", ""), "f");
  EXPECT_TRUE(notes.tensors.empty());
  EXPECT_EQ(notes.metadata.at("a"), "b");
}

TEST(Safetensors, RefusesEveryTruncation) {
  const std::string bytes = safetensors_bytes(sample());
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_THAT(damage(bytes.substr(0, size)), HasSubstr("f: damaged")) << size;
  }
  EXPECT_THAT(damage(bytes + "x"), HasSubstr("f: damaged"));
}

// Each byte of the size and the header is changed in several ways: the file is damaged, or is a
// valid file with other names, shapes or texts.
TEST(Safetensors, SurvivesChangedBytesOfTheHeader) {
  const std::string bytes = safetensors_bytes(sample());
  const std::size_t end = bytes.rfind('}') + 1;
  int refused = 0;
  for (std::size_t i = 0; i < end; ++i) {
    for (const int bit : {0x01, 0x02, 0x04, 0x08, 0x10, 0x80, 0xff}) {
      std::string changed = bytes;
      changed[i] = static_cast<char>(changed[i] ^ bit);
      try {
        parse_safetensors(changed, "f");
      } catch (const Error& error) {
        ++refused;
        EXPECT_EQ(error.kind(), ErrorKind::data) << i << ": " << error.what();
        EXPECT_THAT(error.what(), HasSubstr("f: damaged")) << i;
      }
    }
  }
  EXPECT_GT(refused, static_cast<int>(4 * end));
}

TEST(Safetensors, RefusesWhatTheFormatForbids) {
  const auto entry = [](const std::string& name, const std::string& dtype, const std::string& shape,
                        const std::string& offsets) {
    return "\"" + name + "\":{\"dtype\":\"" + dtype + "\",\"shape\":" + shape +
           ",\"data_offsets\":" + offsets + "}";
  };
  const auto refuse = [](const std::string& body, const std::string& data,
                         const std::string& expected) {
    EXPECT_THAT(damage(file("{" + body + "}", data)), HasSubstr(expected)) << body;
  };
  const std::string a = entry("a", "U8", "[2]", "[0,2]");
  refuse(a, "xyz", "end at byte 2");
  refuse(a + "," + entry("b", "U8", "[2]", "[1,3]"), "xyz", "overlap");
  refuse(a + "," + entry("b", "U8", "[1]", "[3,4]"), "wxyz", "gap");
  refuse(a + "," + a, "xy", "twice");
  refuse(entry("a", "U8", "[3]", "[0,2]"), "xy", "needs 3 bytes");
  refuse(entry("a", "U8", "[2]", "[0,9]"), "xy", "outside");
  refuse(entry("a", "U8", "[2]", "[2,0]"), "xy", "outside");
  refuse(entry("a", "U8", "[-2]", "[0,2]"), "xy", "bad shape");
  refuse(entry("a", "U8", "[2.0]", "[0,2]"), "xy", "bad shape");
  refuse(entry("a", "U8", "[4294967296,4294967296,2]", "[0,2]"), "xy", "too large");
  refuse(entry("a", "U8", "[0,9223372036854775807,9]", "[0,0]"), "", "too large");
  refuse(entry("a", "BOOL", "[2]", "[0,2]"), "\x01\x02", "not 0 or 1");
  refuse("\"a\":3", "", "not an object");
  refuse("\"__metadata__\":{\"x\":1}", "", "is not text");
  refuse("\"a\":{\"shape\":[],\"data_offsets\":[0,1]}", "x", "no dtype");
  EXPECT_THAT(damage(file("[]", "")), HasSubstr("does not start with {"));
  EXPECT_THAT(damage(file("{\"a\":", "")), HasSubstr("not JSON"));
  EXPECT_THAT(damage(std::string(8, '\xff')), HasSubstr("the header should take"));
}

TEST(Safetensors, ReplacesAFileOrLeavesIt) {
  const std::filesystem::path directory =
      std::filesystem::path(testing::TempDir()) / "safetensors_test";
  std::filesystem::create_directories(directory);
  const std::string path = (directory / "w.safetensors").string();
  write_safetensors(path, sample());
  EXPECT_EQ(read_file(path), safetensors_bytes(sample()));
  EXPECT_THROW(write_safetensors((directory / "none" / "w").string(), sample()), Error);
  EXPECT_THROW(read_safetensors((directory / "none").string()), Error);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(directory), {}), 1);
  std::filesystem::remove_all(directory);
}

// The independent reader: the safetensors package, by the interpreter that tools/python-env.sh made
// or that TRIREME_SAFETENSORS_PYTHON names.
TEST(Safetensors, PythonReadsOurFile) {
  const std::string python = python_interpreter("TRIREME_SAFETENSORS_PYTHON");
  if (std::system((python + " -c 'import safetensors, numpy' 2>/dev/null").c_str()) != 0) {
    GTEST_SKIP() << python << " has no packages safetensors and numpy\n"
                 << "  hint   tools/python-env.sh safetensors gets them from PyPI; or let "
                 << "TRIREME_SAFETENSORS_PYTHON name an interpreter that has them";
  }
  const std::string stem = testing::TempDir() + "/safetensors_python";
  write_safetensors(stem + ".ours", sample());
  write_file_atomically(stem + ".py", R"(
import sys
import numpy as np
from safetensors import safe_open
from safetensors.numpy import load_file, save_file
got = load_file(sys.argv[1])
assert got["linear_0.weight"].tolist() == [[1, 2, 3], [4, 5, -0.5]]
assert got["flags"].tolist() == [True, False, True]
assert got["bytes"].dtype == np.uint8 and got["bytes"].tolist() == [255]
assert got["ids"].tolist() == [-1, 1 << 40]
assert got["small"].shape == () and got["small"] == -7
assert got["fine"].tolist() == [[0.1]] and got["none"].shape == (0, 4)
assert safe_open(sys.argv[1], "np").metadata()["note"] == 'a "quoted" word'
save_file(got, sys.argv[2], metadata={"from": "python"})
)");
  const std::string command = python + " " + stem + ".py " + stem + ".ours " + stem + ".theirs";
  ASSERT_EQ(std::system(command.c_str()), 0);
  const Safetensors theirs = read_safetensors(stem + ".theirs");
  EXPECT_EQ(theirs.metadata.at("from"), "python");
  for (const auto& [name, tensor] : sample().tensors) {
    EXPECT_TRUE(equal(tensor, theirs.tensors.at(name))) << name;
  }
}

}  // namespace
}  // namespace trireme
