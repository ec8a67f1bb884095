// Checkpoints that are damaged, foreign or newer, run folders in use, and a full disk.

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/file.h>

#include "base/checksum.h"
#include "in_command_folder.h"

namespace trireme::testing {
namespace {

using ::testing::HasSubstr;

constexpr const char* kJob = R"([data]
train = "train.csv"
batch = 4

[model]
layers = [ { linear = { units = 500, activation = "relu" } }, { linear = { units = 1 } } ]

[train]
loss = "mse"
epochs = 4

[output]
directory = "model"
run = "run"
log_every = 1000
)";

class CheckpointMisuse : public InCommandFolder {
 protected:
  CheckpointMisuse() {
    std::string csv = "a,b,target\n";
    for (int i = 0; i < 20; ++i) {
      csv += std::to_string(i % 7) + "," + std::to_string(i % 3) + "," + std::to_string(i) + "\n";
    }
    write(path("train.csv"), csv);
    write(path("job.toml"), kJob);
  }

  Outcome train(const std::string& more = "") const {
    return run_here(kTrireme + " train job.toml --quiet " + more);
  }
  // Two epochs of five steps: checkpoints of steps 5 and 10.
  void train_half() {
    const Outcome outcome = train("--set train.max_steps=10");
    ASSERT_EQ(outcome.code, 0) << outcome.output;
  }
  std::string checkpoint(int step, const std::string& file) const {
    char name[64];
    std::snprintf(name, sizeof name, "run/checkpoints/checkpoint-%09d/", step);
    return path(name + file);
  }
  void flip(const std::string& file) {
    std::string bytes = read(file);
    ASSERT_GT(bytes.size(), 10u);
    bytes[bytes.size() * 2 / 3] ^= 16;
    write(file, bytes);
  }
  void fails(const std::string& more, int code, const std::string& what) const {
    InCommandFolder::fails("train job.toml --quiet " + more, code, what);
  }
};

TEST_F(CheckpointMisuse, TheNewestIsBitFlipped) {
  train_half();
  flip(checkpoint(10, "parameters.safetensors"));
  const Outcome outcome = train("--resume");
  EXPECT_EQ(outcome.code, 0) << outcome.output;
  EXPECT_THAT(outcome.output, HasSubstr("checkpoint-000000010/parameters.safetensors is damaged"));
  EXPECT_THAT(outcome.output, HasSubstr("going on from run/checkpoints/checkpoint-000000005"));
}

TEST_F(CheckpointMisuse, AllAreDamaged) {
  train_half();
  flip(checkpoint(5, "checkpoint.json"));
  const std::string parameters = checkpoint(10, "parameters.safetensors");
  std::filesystem::resize_file(parameters, std::filesystem::file_size(parameters) / 2);
  fails("--resume", 3, "checkpoint-000000010/parameters.safetensors is damaged");
  fails("--resume run/checkpoints/checkpoint-000000005", 3, "checkpoint.json is damaged");
  std::filesystem::remove(parameters);
  fails("--resume run/checkpoints/checkpoint-000000010", 3, "parameters.safetensors is missing");
}

// Folders and files that only look like checkpoints.
TEST_F(CheckpointMisuse, StrayFoldersDoNotEndAResume) {
  train_half();
  const std::string folder = path("run/checkpoints/");
  std::filesystem::create_directory(folder + "checkpoint-70");
  write(folder + "checkpoint-70/thesis.tex", "years of work");
  std::filesystem::create_directory(folder + "checkpoint-000000071");
  write(folder + "checkpoint-000000072", "a file");
  const Outcome outcome = train("--resume");
  EXPECT_EQ(outcome.code, 0) << outcome.output;
  EXPECT_THAT(outcome.output, HasSubstr("going on from run/checkpoints/checkpoint-000000010"));
  EXPECT_EQ(read(folder + "checkpoint-70/thesis.tex"), "years of work");
}

TEST_F(CheckpointMisuse, OfAnotherModel) {
  train_half();
  fails("--resume --set train.optimizer=sgd", 3, "the checkpoint is of another model");
  fails("--resume --set train.loss=l1", 3, "of another model");
  fails("--resume --seed 5", 3, "was made with seed 1, and this training has seed 5");
  fails("--resume --set data.batch=5", 3, "20 examples in batches of 4");
  EXPECT_EQ(train("--resume").code, 0) << "and it is still whole";
}

TEST_F(CheckpointMisuse, OfANewerFormat) {
  train_half();
  std::string sums = read(checkpoint(10, "checksums.txt"));
  sums.resize(sums.size() - 33);  // without the last line
  sums.replace(sums.find("checkpoint 1"), 12, "checkpoint 7");
  write(checkpoint(10, "checksums.txt"), sums + checksum(sums) + "\n");
  fails("--resume run/checkpoints/checkpoint-000000010", 3, "has format 7, and this version");
}

TEST_F(CheckpointMisuse, TwoProcessesInOneRunFolder) {
  std::filesystem::create_directories(path("run"));
  const int other = ::open(path("run/lock").c_str(), O_RDWR | O_CREAT, 0644);
  ASSERT_EQ(::flock(other, LOCK_EX), 0);
  fails("", 2, "run is in use by another training run");
  fails("--resume", 2, "run is in use by another training run");
  ::close(other);
  EXPECT_EQ(train().code, 0);
}

TEST_F(CheckpointMisuse, AFullDiskLeavesTheEarlierOnes) {
  NEEDS_FILE_SIZE_LIMIT();
  train_half();
  const std::string before = read(checkpoint(10, "parameters.safetensors"));
  // A limit on the size of files stands for a full disk.
  const Outcome outcome = run_here("ulimit -f 8; " + kTrireme + " train job.toml --quiet --resume");
  EXPECT_EQ(outcome.code, 4) << outcome.output;
  EXPECT_THAT(outcome.output, HasSubstr("error: cannot write"));
  EXPECT_EQ(read(checkpoint(10, "parameters.safetensors")), before);
  for (const auto& entry : std::filesystem::recursive_directory_iterator(path("run"))) {
    EXPECT_EQ(entry.path().filename().string().find(".tmp"), std::string::npos) << entry.path();
  }
  EXPECT_EQ(train("--resume").code, 0);
}

TEST_F(CheckpointMisuse, WatchingWhatIsNotThere) {
  fails("--set checkpoint.best=loss", 3, "there are no validation data");
  const std::string split = "--set data.validation_split=0.2 ";
  fails(split + "--set checkpoint.best=mine", 3, "goal must be \"min\" or \"max\"");
  fails(split + "--set checkpoint.best=los --set checkpoint.goal=min", 2,
        "which is not measured; did you mean \"loss\"?");
  fails("--set data.validation_split=1.5", 3, "must be in [0, 1), but is 1.5");
  fails("--set checkpoint.kep=3", 3, "did you mean \"keep\"?");
}

}  // namespace
}  // namespace trireme::testing
