// Saving and loading while memory, the disk and the operating system fail: for every n, the n-th
// allocation or call fails. Each time there must be a clear error or success, the files from
// before or those that it writes, nothing temporary, no open file and no lost memory.

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zlib.h>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <functional>
#include <map>
#include <new>
#include <string>
#include <vector>

#include "base/safetensors.h"
#include "base/testing/directory.h"
#include "codegen/llvm/object_cache.h"
#include "data/blob.h"
#include "injector.h"
#include "session/train/checkpoint.h"
#include "trireme/image.h"
#include "trireme/trireme.h"

#if defined(__SANITIZE_ADDRESS__)
#define TRIREME_LEAK_CHECK 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define TRIREME_LEAK_CHECK 1
#endif
#endif
#ifdef TRIREME_LEAK_CHECK
// NOLINTBEGIN: of LeakSanitizer
extern "C" int __lsan_do_recoverable_leak_check();
// The JSON library loses an object if there is no memory while it is made of a list of members: its
// constructor allocates first and has no guard.
extern "C" const char* __lsan_default_suppressions() {
  return "leak:nlohmann::json_abi*::basic_json*::basic_json\n";
}
// NOLINTEND
#endif

namespace trireme {
namespace {

namespace fs = std::filesystem;
using faults::Kind;
using Files = std::map<std::string, std::string>;  // content by path

bool leaks() {
#ifdef TRIREME_LEAK_CHECK
  return __lsan_do_recoverable_leak_check() != 0;
#else
  return false;
#endif
}

std::ptrdiff_t open_files() {
  return std::distance(fs::directory_iterator("/proc/self/fd"), fs::directory_iterator());
}

Files files_in(const std::string& folder) {
  Files files;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (!entry.is_regular_file()) continue;
    files[fs::relative(entry.path(), folder).string()] = read_file(entry.path().string());
  }
  return files;
}

std::vector<std::string> names(const Files& files) {
  std::vector<std::string> names;
  for (const auto& [name, content] : files) names.push_back(name);
  return names;
}

// Counts of all failures of a test.
struct Faults {
  long points = 0, damaged = 0, unclear = 0, left_open = 0, leaks = 0, ended = 0;
};

enum class Outcome {
  success,
  sanitizer,
  clear_error,
  unclear_error,
  no_failure,
  left_open,
  leaked,
  crashed,
  ended
};

class FaultInjection : public ::testing::Test {
 protected:
  std::string path(const std::string& name) const { return work_.path(name); }

  // `prepare` makes the files from before in path(""), and `run` is what fails.
  void inject(const std::function<void()>& prepare, const std::function<void()>& run) {
    prepare();
    fs::copy(work_.path(), kept_.path(), fs::copy_options::recursive);
    before_ = files_in(work_.path());
    run();  // also loads what is loaded once
    after_ = files_in(work_.path());
    open_files_ = open_files();
    for (const Kind kind : {Kind::call, Kind::allocation}) inject_kind(kind, run);
    if (leaks()) ++faults_.leaks;
    const std::string name = ::testing::UnitTest::GetInstance()->current_test_info()->name();
    fmt::print(
        "faults of {}: {} points, {} damaged, {} unclear, {} open files, {} leaks, {} ended\n",
        name, faults_.points, faults_.damaged, faults_.unclear, faults_.left_open, faults_.leaks,
        faults_.ended);
    EXPECT_EQ(faults_.damaged + faults_.unclear + faults_.left_open + faults_.leaks, 0);
  }

 private:
  void restore() const {
    for (const auto& entry : fs::directory_iterator(work_.path())) fs::remove_all(entry.path());
    fs::copy(kept_.path(), work_.path(), fs::copy_options::recursive);
  }

  void inject_kind(Kind kind, const std::function<void()>& run) {
    restore();
    faults::arm(kind, 0);
    run();
    const faults::Counted counted = faults::disarm();
    const long all = counted.count;
    EXPECT_GT(all, 0);
    if (kind == Kind::allocation && parses_program_) return;
    const bool later = kind == Kind::allocation && copies_program_;
    const long first = later ? counted.before_first_call + 1 : 1;
    // Allocations are many and alike; a prime step does not fall into their rhythm.
    const bool some = kind == Kind::allocation && !TRIREME_ALL_FAULTS;
    const long step = some && all > 200 ? all / 100 | 1 : 1;
    for (long number = first; number <= all; number += step) inject_one(kind, number, run);
  }

  // Runs once with one failure.
  Outcome attempt(Kind kind, long number, const std::function<void()>& run) const {
    Outcome outcome = Outcome::success;
    std::string error;
    faults::arm(kind, number);
    try {
      run();
    } catch (const Error& thrown) {
      faults::disarm();
      error = thrown.what();
      const bool clear = thrown.kind() != ErrorKind::internal && error.size() > 10;
      outcome = clear ? Outcome::clear_error : Outcome::unclear_error;
    } catch (const std::bad_alloc&) {
      outcome = kind == Kind::allocation ? Outcome::clear_error : Outcome::unclear_error;
    } catch (const std::exception& thrown) {
      faults::disarm();
      error = thrown.what();
      outcome = Outcome::unclear_error;
    }
    // Else the run was another, such as one that found a cached file.
    if (faults::disarm().failed == nullptr) return Outcome::no_failure;
    if (outcome == Outcome::unclear_error) fmt::print("unclear error: {}\n", error);
    return open_files() == open_files_ ? outcome : Outcome::left_open;
  }

  // The same in a process of its own. Libraries end the process if they have no memory where no
  // exception may leave, such as the destructor of a JSON value.
  Outcome attempt_apart(Kind kind, long number, const std::function<void()>& run) const {
    constexpr int kEnded = 77;
    std::fflush(stdout);
    const pid_t child = ::fork();
    if (child == 0) {
      std::set_terminate([] { ::_exit(kEnded); });
      const Outcome outcome = attempt(kind, number, run);
      std::fflush(stdout);
      ::_exit(TRIREME_ALL_FAULTS && leaks() ? static_cast<int>(Outcome::leaked)
                                            : static_cast<int>(outcome));
    }
    int status = 0;
    EXPECT_EQ(::waitpid(child, &status, 0), child);
    if (!WIFEXITED(status)) return Outcome::crashed;
    const int code = WEXITSTATUS(status);
    if (code == kEnded) return Outcome::ended;
    return code < static_cast<int>(Outcome::leaked) + 1 && code != 1 ? static_cast<Outcome>(code)
                                                                     : Outcome::crashed;
  }

  void inject_one(Kind kind, long number, const std::function<void()>& run) {
    restore();
    const bool apart = kind == Kind::allocation && apart_;
    const Outcome outcome = apart ? attempt_apart(kind, number, run) : attempt(kind, number, run);
    if (outcome == Outcome::no_failure) return;
    ++faults_.points;
    const std::string what =
        fmt::format("{} number {} failed", kind == Kind::call ? "call" : "allocation", number);
    if (outcome == Outcome::ended) ++faults_.ended;
    if (outcome == Outcome::crashed || outcome == Outcome::unclear_error) {
      ++faults_.unclear, ADD_FAILURE() << what << ": a crash, or no clear error";
    }
    if (outcome == Outcome::leaked) ++faults_.leaks, ADD_FAILURE() << what << ": a leak";
    if (outcome == Outcome::left_open) {
      ++faults_.left_open, ADD_FAILURE() << what << ": a file stays open";
      open_files_ = open_files();
    }
    // If a process ends, or a folder cannot be opened to be deleted, the next writer deletes it.
    if (outcome == Outcome::ended || kind == Kind::call) {
      for (const char* name : {"model", "checkpoint"}) Temporary::remove_stale(path(name));
    }
    check_files(what, outcome == Outcome::success);
  }

  void check_files(const std::string& what, bool succeeded) {
    const Files files = files_in(work_.path());
    if (names_alone_ && names(files) == names(after_)) return;
    if (files == after_ || (files == before_ && (!succeeded || may_skip_))) return;
    ++faults_.damaged;
    std::string list;
    for (const auto& [name, content] : files) list += fmt::format(" {} ({})", name, content.size());
    ADD_FAILURE() << what << ": the files are neither the old nor the new ones:" << list;
  }

 protected:
  // Copies of attributes must not fail, because libstdc++ 12 destroys a std::variant whose copying
  // failed as if it were complete. If a Program is copied, allocations fail only after the first
  // call of the operating system, and if one is parsed, never.
  bool copies_program_ = false, parses_program_ = false;
  bool names_alone_ = false;  // the content differs from time to time
  bool apart_ = false;        // each failure of an allocation has a process of its own
  bool may_skip_ = false;     // success may leave the files from before, as caches do

 private:
  TestDirectory work_, kept_;
  Files before_, after_;
  std::ptrdiff_t open_files_ = 0;
  Faults faults_;
};

// A model of words, with weights that are all `value`.
struct Network {
  explicit Network(float value) : program("net"), session(program) {
    const Value x = program.input("x", f32, {batch, 4});
    const Value y = nn::linear(x, {.units = 3});
    for (const Value& parameter : program.parameters()) {
      const std::string name = parameter.name().substr(1);
      Tensor values = session.parameter(name);
      for (std::int64_t i = 0; i < values.elements(); ++i) values.data<float>()[i] = value;
      session.set_parameter(name, values);
    }
    const text::Vocabulary words = text::Vocabulary::of({"one", "two"});
    options = {.outputs = {y}, .labels = {"a", "b", "c"}, .text = {{"x", {{}, words}}}};
  }
  Program program;
  Session session;
  SaveOptions options;
};

float first_weight(Model& model) {
  return model.session().parameter("linear_0.weight").data<float>()[0];
}

TEST_F(FaultInjection, SavingAModel) {
  apart_ = true;
  copies_program_ = true;
  Network older(1), newer(2);
  inject(
      [&] {
        save_model(older.program, older.session, path("model"), older.options);
        write_file_atomically(path("model/notes.txt"), "mine");
        fs::create_directory(path("model/runs"));
        write_file_atomically(path("model/runs/log"), "steps");
      },
      [&] { save_model(newer.program, newer.session, path("model"), newer.options); });
}

TEST_F(FaultInjection, SavingTheFirstModel) {
  apart_ = true;
  copies_program_ = true;
  Network newer(2);
  inject([] {}, [&] { save_model(newer.program, newer.session, path("model"), newer.options); });
}

TEST_F(FaultInjection, LoadingAModel) {
  parses_program_ = true;
  Network network(3);
  inject([&] { save_model(network.program, network.session, path("model"), network.options); },
         [&] {
           Model model = load_model(path("model"), {.threads = 1});
           if (first_weight(model) != 3) throw std::logic_error("another weight");
         });
}

TEST_F(FaultInjection, LoadingWeightsAndWords) {
  apart_ = true;
  Network network(3);
  inject([&] { save_model(network.program, network.session, path("model"), network.options); },
         [&] {
           read_safetensors(path("model/weights.safetensors"));
           text::Vocabulary::load(path("model/x.vocabulary.txt"));
         });
}

TEST_F(FaultInjection, LoadingACompiledModel) {
  apart_ = true;
  Network network(3);
  network.options.text.clear();
  inject(
      [&] {
        save_model(network.program, network.session, path("model"), network.options);
        Model model = load_model(path("model"));
        compile_model(model, path("compiled"));
      },
      [&] { CompiledModel::load(path("compiled"), {.threads = 1}); });
}

CheckpointState state_of(std::int64_t step) {
  CheckpointState state;
  state.program = "net";
  state.program_hash = "0";
  state.progression.steps = step;
  state.progression.sums = {{"loss", 0.5}};
  state.parameters = {{"w", Tensor::from<float>({3}, {1, 2, static_cast<float>(step)})}};
  return state;
}

TEST_F(FaultInjection, WritingACheckpoint) {
  apart_ = true;
  inject([&] { write_checkpoint(path("checkpoint"), state_of(1)); },
         [&] { write_checkpoint(path("checkpoint"), state_of(2)); });
}

TEST_F(FaultInjection, ReadingACheckpoint) {
  apart_ = true;
  inject([&] { write_checkpoint(path("checkpoint"), state_of(1)); },
         [&] { read_checkpoint(path("checkpoint")); });
}

TEST_F(FaultInjection, FindingTheNewestCheckpoint) {
  apart_ = true;
  inject(
      [&] {
        for (const int step : {1, 2}) CheckpointFolder(path("run")).save(state_of(step));
      },
      [&] { find_checkpoint(path("run")); });
}

data::Dataset rows(float value) {
  std::vector<float> values(3000, value);
  return data::from_tensors({{"x", Tensor::from<float>({300, 10}, values)},
                             {"y", Tensor::from<float>({300, 1}, std::vector<float>(300))}});
}

TEST_F(FaultInjection, WritingRecords) {
  inject([&] { data::write_records(path("a.trec"), rows(1)); },
         [&] { data::write_records(path("a.trec"), rows(2)); });
}

TEST_F(FaultInjection, ReadingRecords) {
  inject([&] { data::write_records(path("a.trec"), rows(1)); },
         [&] { data::records(path("a.trec")).rows(5, 9); });
}

TEST_F(FaultInjection, ReadingACsvFile) {
  inject([&] { write_file_atomically(path("a.csv"), "a,b,y\n1,x,2\n3,,4\n5,z,6\n"); },
         [&] { data::csv(path("a.csv"), {.one_hot = {"b"}, .missing = data::Missing::mean}); });
}

TEST_F(FaultInjection, WritingAPicture) {
  const Tensor black = Tensor::from<std::uint8_t>({2, 2, 1}, {0, 0, 0, 0});
  const Tensor white = Tensor::from<std::uint8_t>({2, 2, 1}, {255, 255, 255, 255});
  inject([&] { image::save_png(path("a.png"), black); },
         [&] { image::save_png(path("a.png"), white); });
}

TEST_F(FaultInjection, ReadingAPicture) {
  const Tensor black = Tensor::from<std::uint8_t>({2, 2, 1}, {0, 0, 0, 0});
  inject([&] { image::save_png(path("a.png"), black); }, [&] { image::load(path("a.png")); });
}

TEST_F(FaultInjection, KeepingAKernel) {
  may_skip_ = true;
  inject([&] { codegen::ObjectCache(path("cache")).keep("older", "code"); },
         [&] { codegen::ObjectCache(path("cache")).keep("newer", std::string(100000, 'c')); });
}

TEST_F(FaultInjection, FindingAKernel) {
  may_skip_ = true;
  inject([&] { codegen::ObjectCache(path("cache")).keep("key", "code"); },
         [&] {
           const auto found = codegen::ObjectCache(path("cache")).find("key");
           if (found && *found != "code") throw std::logic_error("other code");
         });
}

std::string packed(const std::string& content) {
  std::string bytes(compressBound(content.size()) + 32, '\0');
  z_stream stream{};
  deflateInit2(&stream, 6, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY);
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(content.data()));
  stream.avail_in = static_cast<uInt>(content.size());
  stream.next_out = reinterpret_cast<Bytef*>(bytes.data());
  stream.avail_out = static_cast<uInt>(bytes.size());
  deflate(&stream, Z_FINISH);
  bytes.resize(stream.total_out);
  deflateEnd(&stream);
  return bytes;
}

TEST_F(FaultInjection, KeepingUnpackedData) {
  may_skip_ = true;
  names_alone_ = true;  // the kept file names the packed one by its inode
  const std::string content(1000, 'x');
  ::setenv("TRIREME_CACHE_DIR", path("cache").c_str(), 1);
  inject([&] { write_file_atomically(path("a.gz"), packed(content)); },
         [&] {
           // The copies of the folder have other inodes, so each is unpacked again.
           if (data::read_blob_cached(path("a.gz")).bytes != content) {
             throw std::logic_error("other content");
           }
         });
}

}  // namespace
}  // namespace trireme
