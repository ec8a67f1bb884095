// Run folders by the command line: what they hold, signals, kill -9.

#include <fcntl.h>
#include <gmock/gmock.h>
#include <signal.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <random>
#include <sstream>
#include <thread>

#include "../command.h"

namespace trireme::testing {
namespace {

using ::testing::HasSubstr;

const std::string kTrireme = TRIREME_CLI;

constexpr const char* kJob = R"([data]
train = "train.csv"
validation_split = 0.25
batch = 8

[model]
layers = [ { linear = { units = 16, activation = "tanh" } }, { dropout = { rate = 0.2 } }, { linear = { units = 1 } } ]

[train]
loss = "mse"
optimizer = { adam = { learning_rate = 0.01 } }
schedule = { cosine = { warmup_steps = 10 } }
epochs = 6
evaluate_every = 10

[checkpoint]
every_steps = 7
best = "loss"

[output]
directory = "model"
log_every = 4
)";

class RunFolders : public InFolder {
 protected:
  RunFolders() {
    std::ostringstream csv;
    csv << "a,b,target\n";
    std::mt19937 random(5);
    std::uniform_real_distribution<double> uniform(-1, 1);
    for (int i = 0; i < 160; ++i) {
      const double a = uniform(random), b = uniform(random);
      csv << a << ',' << b << ',' << std::sin(3 * a) + b * b << '\n';
    }
    write(path("train.csv"), csv.str());
    write(path("job.toml"), kJob);
  }

  Outcome train(const std::string& more) const {
    return run_here(kTrireme + " train job.toml --quiet " + more);
  }

  // Starts a training and gives its process id; its output goes to a file.
  pid_t start(const std::vector<std::string>& more) const {
    const pid_t child = ::fork();
    if (child != 0) return child;
    if (::chdir(folder_.c_str()) != 0) ::_exit(99);
    const int log = ::open("log.txt", O_WRONLY | O_CREAT | O_TRUNC, 0644);
    ::dup2(log, 1);
    ::dup2(log, 2);
    std::vector<std::string> words = {kTrireme, "train", "job.toml", "--quiet"};
    words.insert(words.end(), more.begin(), more.end());
    std::vector<char*> pointers;
    for (std::string& word : words) pointers.push_back(word.data());
    pointers.push_back(nullptr);
    ::execv(kTrireme.c_str(), pointers.data());
    ::_exit(98);
  }

  // The exit code, or 128 + signal.
  static int end_of(pid_t child) {
    int status = 0;
    ::waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }

  // Waits until the run has written this many lines.
  void wait_for_lines(const std::string& folder, int lines) const {
    for (int i = 0; i < 2000; ++i) {
      const std::string text = read(path(folder + "/metrics.jsonl"));
      if (std::count(text.begin(), text.end(), '\n') >= lines) return;
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    FAIL() << "no progress: " << read(path("log.txt"));
  }
};

TEST_F(RunFolders, HoldLinesEventsAndCheckpoints) {
  ASSERT_EQ(train("--run run").code, 0);
  const std::string lines = read(path("run/metrics.jsonl"));
  for (const char* what :
       {"\"event\":\"train\"", "\"event\":\"validation\"", "\"event\":\"epoch\"", "\"step\":4,",
        "\"learning_rate\":", "\"samples_per_second\":", "\"memory_bytes\":", "\"cpu_percent\":"}) {
    EXPECT_THAT(lines, HasSubstr(what));
  }
  // 15 steps in each of 6 epochs: 22 lines of steps, 6 of epochs, 6 + 6 evaluations (steps 30, 60
  // and 90 end an epoch).
  EXPECT_EQ(std::count(lines.begin(), lines.end(), '\n'), 22 + 6 + 12);

  // The events say the same, by a reader that knows only the format's description.
  const std::string reader = std::string(TRIREME_E2E) + "/read_events.py";
  const Outcome check = run_here(
      "/usr/bin/python3 -c '\n"
      "import json, subprocess, sys, glob\n"
      "said = subprocess.run([sys.executable, \"" +
      reader +
      "\"] + "
      "glob.glob(\"run/events.out.tfevents.*\"), capture_output=True, text=True, "
      "check=True).stdout\n"
      "events = {}\n"
      "for line in said.splitlines():\n"
      "    step, tag, value = line.split(\"\\t\")\n"
      "    events[int(step), tag] = float(value)\n"
      "count = 0\n"
      "for line in open(\"run/metrics.jsonl\"):\n"
      "    line = json.loads(line)\n"
      "    for key in set(line) - {\"event\", \"time\", \"step\", \"epoch\"}:\n"
      "        value = events[line[\"step\"], line[\"event\"] + \"/\" + key]\n"
      "        assert abs(value - line[key]) <= 1e-6 * abs(line[key]), (line, key, value)\n"
      "        count += 1\n"
      "assert count == len(events) == 22 * 5 + 18, (count, len(events))\n"
      "print(\"same\")'");
  EXPECT_EQ(check.output, "same\n");
  EXPECT_EQ(check.code, 0);

  const Outcome again = train("--run run");
  EXPECT_EQ(again.code, 2);
  EXPECT_THAT(again.output, HasSubstr("run/checkpoints holds checkpoints of an earlier run"));
}

TEST_F(RunFolders, ASignalFinishesTheStepAndSaves) {
  std::string text = read(path("job.toml"));
  text.replace(text.find("every_steps = 7\nbest = \"loss\""), 30, "");
  text.replace(text.find("epochs = 6"), 10, "epochs = 2000");
  write(path("job.toml"), text);
  ASSERT_EQ(train("--output whole --run whole_run --set train.max_steps=900").code, 0);
  for (const int signal : {SIGTERM, SIGINT}) {
    std::filesystem::remove_all(path("run"));
    const pid_t child = start({"--run", "run"});
    wait_for_lines("run", 8);
    ::kill(child, signal);
    EXPECT_EQ(end_of(child), 128 + signal);
    EXPECT_THAT(read(path("log.txt")),
                HasSubstr(signal == SIGTERM ? "stopped by SIGTERM after step"
                                            : "stopped by SIGINT after step"));
    const Outcome end = train("--resume run --set train.max_steps=900 --output pieces");
    EXPECT_EQ(end.code, 0) << end.output;
    EXPECT_EQ(read(path("pieces/weights.safetensors")), read(path("whole/weights.safetensors")));
  }
}

TEST_F(RunFolders, ASecondSignalEndsAtOnce) {
  const pid_t child = start({"--run", "run", "--set", "train.epochs=100000"});
  wait_for_lines("run", 2);
  // Both wait while the process stands still, so that no step lies between them.
  ::kill(child, SIGSTOP);
  ::kill(child, SIGTERM);
  ::kill(child, SIGINT);
  ::kill(child, SIGCONT);
  EXPECT_THAT(end_of(child), ::testing::AnyOf(128 + SIGTERM, 128 + SIGINT))
      << read(path("log.txt"));
}

TEST_F(RunFolders, KilledAtRandomMomentsEndsInTheSameBits) {
  using Milliseconds = std::chrono::milliseconds;
  const auto begin = std::chrono::steady_clock::now();
  ASSERT_EQ(train("--output whole --run whole_run").code, 0);
  const auto whole =
      std::chrono::duration_cast<Milliseconds>(std::chrono::steady_clock::now() - begin).count();
  std::mt19937 random(11);
  int killed = 0, code = 137;
  for (int round = 0; round < 60 && code != 0; ++round) {
    const pid_t child = start({"--run", "run", "--resume", "--output", "pieces"});
    // From before the first step to some steps later than the last kill, whatever the machine's
    // speed.
    const auto latest =
        static_cast<unsigned>(std::max<std::int64_t>(whole, 100) * (1 + round) / 30);
    std::this_thread::sleep_for(Milliseconds(20 + random() % latest));
    ::kill(child, SIGKILL);
    code = end_of(child);
    if (code == 137) ++killed;
    else EXPECT_EQ(code, 0) << read(path("log.txt"));
  }
  EXPECT_EQ(code, 0) << "never came to the end";
  EXPECT_GE(killed, 3);
  EXPECT_EQ(read(path("pieces/weights.safetensors")), read(path("whole/weights.safetensors")));
}

TEST_F(RunFolders, ResumeWithoutACheckpointBeginsAtTheBeginning) {
  EXPECT_EQ(train("--run run --resume").code, 0);
  EXPECT_EQ(run_here(kTrireme + " train --resume job.toml --run run --quiet").code, 0);
  const Outcome nowhere = train("--resume");
  EXPECT_EQ(nowhere.code, 2);
  EXPECT_THAT(nowhere.output, HasSubstr("no run folder is given"));
  EXPECT_EQ(train("--resume missing").code, 4);
}

}  // namespace
}  // namespace trireme::testing
