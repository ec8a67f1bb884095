#include "session/train/checkpoint.h"

#include <gmock/gmock.h>

#include <filesystem>
#include <tuple>

#include "base/checksum.h"
#include "base/file.h"
#include "base/testing/error.h"
#include "data/testing/files.h"

namespace trireme {
namespace {

using ::testing::HasSubstr;

CheckpointState example(std::int64_t step) {
  CheckpointState state;
  state.program = "net";
  state.program_hash = checksum("net");
  state.seed = ~std::uint64_t{0};
  state.examples = 100;
  state.batch_size = 8;
  state.progression = {.runs = 12,
                       .steps = step,
                       .epoch = 2,
                       .batch = 5,
                       .fit_epochs = 1,
                       .fit_steps = 4,
                       .sums = {{"loss", 0.1 + 0.2}, {"a \"b\"", -1e-300}},
                       .sum_examples = 40,
                       .best_checkpoint = Best{1.0 / 3, 7},
                       .best_stopping = std::nullopt,
                       .waited = 3};
  state.parameters.emplace("w", Tensor::from<float>({2, 2}, {1, 2, 3, static_cast<float>(step)}));
  return state;
}

class Checkpoints : public testing::Test {
 protected:
  std::string path(const std::string& name) const { return directory_.path() + "/" + name; }
  static std::string damage(const std::string& directory) {
    return error_of([&] { find_checkpoint(directory); });
  }

  data::TestDirectory directory_;
};

TEST_F(Checkpoints, ComeBackToTheBit) {
  const CheckpointState state = example(3);
  write_checkpoint(path("c"), state);
  const CheckpointState back = read_checkpoint(path("c"));
  EXPECT_EQ(back.program, state.program);
  EXPECT_EQ(back.program_hash, state.program_hash);
  EXPECT_EQ(back.seed, state.seed);
  EXPECT_EQ(back.examples, 100);
  EXPECT_EQ(back.batch_size, 8);
  const Progression &a = state.progression, &b = back.progression;
  EXPECT_EQ(std::tie(a.runs, a.steps, a.epoch, a.batch, a.fit_epochs, a.fit_steps, a.sums,
                     a.sum_examples, a.waited),
            std::tie(b.runs, b.steps, b.epoch, b.batch, b.fit_epochs, b.fit_steps, b.sums,
                     b.sum_examples, b.waited));
  EXPECT_EQ(b.best_checkpoint->value, 1.0 / 3);
  EXPECT_EQ(b.best_checkpoint->step, 7);
  EXPECT_FALSE(b.best_stopping);
  EXPECT_EQ(back.parameters.at("w").to_vector<float>(), (std::vector<float>{1, 2, 3, 3}));
}

TEST_F(Checkpoints, EveryDamagedByteIsFoundAndItsFileNamed) {
  write_checkpoint(path("c"), example(3));
  for (const std::string file : {"checksums.txt", "checkpoint.json", "parameters.safetensors"}) {
    const std::string name = path("c/" + file), whole = read_file(name);
    for (std::size_t i = 0; i < whole.size(); ++i) {
      std::string bytes = whole;
      bytes[i] = static_cast<char>(bytes[i] ^ (1 << i % 8));
      write_file_atomically(name, bytes);
      EXPECT_THAT(damage(path("c")), HasSubstr(file + " is damaged")) << i;
    }
    for (std::size_t size = 0; size < whole.size(); size += 7) {
      write_file_atomically(name, whole.substr(0, size));
      EXPECT_THAT(damage(path("c")), HasSubstr(file + " is damaged")) << size;
    }
    std::filesystem::remove(name);
    EXPECT_NE(damage(path("c")), "no error");
    write_file_atomically(name, whole);
  }
  EXPECT_EQ(damage(path("c")), "no error");
}

TEST_F(Checkpoints, OfANewerFormatAreRefused) {
  write_checkpoint(path("c"), example(3));
  std::string sums = read_file(path("c/checksums.txt"));
  sums.resize(sums.size() - 33);
  sums.replace(sums.find("checkpoint 1"), 12, "checkpoint 2");
  write_file_atomically(path("c/checksums.txt"), sums + checksum(sums) + "\n");
  EXPECT_THAT(damage(path("c")), HasSubstr("has format 2, and this version of Trireme reads 1"));
}

TEST_F(Checkpoints, TheFolderKeepsTheNewestAndTheBest) {
  CheckpointFolder folder(path("all"));
  EXPECT_FALSE(folder.newest());
  for (const int step : {5, 10, 15, 20, 25}) folder.save(example(step));
  std::filesystem::create_directories(path("all/checkpoint-000000030.tmp.1"));
  std::filesystem::create_directories(path("all/checkpoint-x"));
  EXPECT_EQ(folder.steps(), (std::vector<std::int64_t>{5, 10, 15, 20, 25}));
  folder.prune(2, 10);
  EXPECT_EQ(folder.steps(), (std::vector<std::int64_t>{10, 20, 25}));
  EXPECT_FALSE(std::filesystem::exists(path("all/checkpoint-000000030.tmp.1")));
  EXPECT_EQ(folder.newest()->progression.steps, 25);
  write_file_atomically(folder.path(25) + "/checkpoint.json", "{}");
  EXPECT_EQ(folder.newest()->progression.steps, 20);
  folder.remove_after(20);
  EXPECT_EQ(folder.steps(), (std::vector<std::int64_t>{10, 20}));
  write_file_atomically(folder.path(20) + "/checkpoint.json", "{}");
  write_file_atomically(folder.path(10) + "/parameters.safetensors", "");
  EXPECT_THAT(damage(path("all")), HasSubstr("checkpoint-000000020/checkpoint.json is damaged"));
}

TEST_F(Checkpoints, AFolderOfOtherThingsIsNotReplaced) {
  std::filesystem::create_directories(path("c"));
  write_file_atomically(path("c/thesis.txt"), "words");
  EXPECT_THROW(write_checkpoint(path("c"), example(1)), Error);
  EXPECT_EQ(read_file(path("c/thesis.txt")), "words");
}

}  // namespace
}  // namespace trireme
