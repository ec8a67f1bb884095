// State dicts that do not match, and damaged safetensors files: one clear error, and the Session
// and earlier files stay as they are.

#include <gmock/gmock.h>

#include <fstream>
#include <optional>
#include <sstream>

#include "base/testing/error.h"
#include "trireme/trireme.h"

namespace trireme {
namespace {

using ::testing::HasSubstr;

class StateMisuse : public ::testing::Test {
 protected:
  StateMisuse() : program_("net") {
    const Value x = program_.input("x", f32, {batch, 2});
    nn::linear(x, {.units = 2, .name = "fc"});
    session_.emplace(program_);
    before_ = state_dict(*session_);
  }

  // The message for a load that must fail and change nothing.
  std::string load(const StateDict& tensors, const LoadOptions& options = {}) {
    const std::string text =
        error_of(ErrorKind::usage, [&] { load_state_dict(*session_, tensors, options); });
    for (const auto& [name, tensor] : state_dict(*session_)) {
      EXPECT_TRUE(equal(tensor, before_.at(name))) << name;
    }
    return text;
  }

  Program program_;
  std::optional<Session> session_;
  StateDict before_;
  std::string path_ = ::testing::TempDir() + "/state_misuse.safetensors";
};

TEST_F(StateMisuse, TensorsThatDoNotMatch) {
  const Tensor matrix(f32, {2, 2}), vector(f32, {2});
  EXPECT_THAT(load({}), HasSubstr("missing    2: \"fc.bias\", \"fc.weight\""));
  EXPECT_THAT(load({{"fc.weight", matrix}, {"fc.bias", vector}, {"fc.scale", vector}}),
              HasSubstr("unexpected 1: \"fc.scale\""));
  EXPECT_THAT(load({{"fc.weight", matrix}, {"fc.bias", vector.cast(f16)}}),
              HasSubstr("\"fc.bias\" is f16[2], \"fc.bias\" needs f32[2]"));
  EXPECT_THAT(load({{"fc.weight", vector}, {"fc.bias", vector}}, {.layout = Layout::torch}),
              HasSubstr("\"fc.weight\" is f32[2], \"fc.weight\" needs f32[2, 2]"));
  EXPECT_THAT(load(before_, {.modules = {{"0", "fd"}}}), HasSubstr("no layer \"fd\""));
}

TEST_F(StateMisuse, DamagedFiles) {
  save_safetensors(path_, before_);
  std::stringstream whole;
  whole << std::ifstream(path_, std::ios::binary).rdbuf();
  const std::string bytes = whole.str();
  for (std::size_t i = 0; i < bytes.find('}'); ++i) {
    std::string changed = bytes;
    changed[i] = '#';
    std::ofstream(path_, std::ios::binary) << changed;
    const std::string text = error_of([&] { load_state_dict(*session_, load_safetensors(path_)); });
    EXPECT_TRUE(text.find("damaged") != std::string::npos ||
                text.find("the dtype") != std::string::npos ||
                text.find("do not match") != std::string::npos)
        << i << ": " << text;
  }
}

TEST_F(StateMisuse, AFileThatCannotBeWrittenLeavesTheOldOne) {
  save_safetensors(path_, before_);
  EXPECT_THAT(error_of(ErrorKind::usage, [&] { save_safetensors(path_, {{"\xff", {}}}); }),
              HasSubstr("not UTF-8"));
  EXPECT_NE(error_of(ErrorKind::io, [&] { save_safetensors(path_ + "/none/w", before_); }),
            "no error");
  EXPECT_EQ(load_safetensors(path_).size(), before_.size());
}

}  // namespace
}  // namespace trireme
