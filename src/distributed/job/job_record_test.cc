#include "distributed/job/job_record.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "base/file.h"
#include "base/testing/error.h"

namespace trireme::distributed {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

class Records : public ::testing::Test {
 protected:
  Records() {
    std::string pattern = (fs::temp_directory_path() / "records_XXXXXX").string();
    root_ = ::mkdtemp(pattern.data());
    folder_ = root_ + "/deep/jobs";
  }
  ~Records() override { fs::remove_all(root_); }
  static JobRecord record(const std::string& name) {
    return {.name = name, .job = "/jobs/a.toml", .store = "127.0.0.1:1", .token = "secret"};
  }
  static mode_t mode(const std::string& path) {
    struct stat status{};
    EXPECT_EQ(::stat(path.c_str(), &status), 0) << path;
    return status.st_mode & 0777;
  }
  std::vector<std::string> names(const std::vector<JobRecord>& records) const {
    std::vector<std::string> result;
    for (const JobRecord& record : records) result.push_back(record.name);
    return result;
  }
  // The record of a process that ended without removing it.
  void leave_a_dead_one(const std::string& name) const {
    const pid_t child = ::fork();
    if (child == 0) {
      new JobEntry(folder_, record(name));
      ::_exit(0);
    }
    ::waitpid(child, nullptr, 0);
  }

  std::string root_, folder_;
};

TEST_F(Records, AreThereAsLongAsTheJob) {
  EXPECT_TRUE(job_records(folder_).running.empty());
  {
    const JobEntry entry(folder_, record("clicks"));
    EXPECT_EQ(mode(folder_), 0700u);
    EXPECT_EQ(mode(folder_ + "/clicks.json"), 0600u);
    const JobListing listing = job_records(folder_);
    ASSERT_EQ(names(listing.running), std::vector<std::string>{"clicks"});
    EXPECT_EQ(listing.running[0].token, "secret");
    EXPECT_EQ(listing.running[0].job, "/jobs/a.toml");
    EXPECT_EQ(listing.running[0].pid, ::getpid());
    EXPECT_TRUE(lives(listing.running[0]));
  }
  EXPECT_TRUE(fs::is_empty(folder_));
}

TEST_F(Records, EachJobHasANameOfItsOwn) {
  const JobEntry a(folder_, record("clicks")), b(folder_, record("clicks")),
      c(folder_, record("../other job"));
  EXPECT_EQ(b.record().name, "clicks-2");
  EXPECT_EQ(c.record().name, "_._other_job");
  EXPECT_EQ(names(job_records(folder_).running),
            (std::vector<std::string>{"_._other_job", "clicks", "clicks-2"}));
  EXPECT_EQ(find_job(folder_, "clicks").name, "clicks");
  EXPECT_EQ(find_job(folder_, "_").name, "_._other_job");
  EXPECT_THAT(error_of(ErrorKind::usage, [&] { find_job(folder_, "cl"); }),
              HasSubstr("_._other_job, clicks, clicks-2"));
  EXPECT_THAT(error_of(ErrorKind::usage, [&] { find_job(folder_, ""); }), HasSubstr("say which"));
  EXPECT_THAT(error_of(ErrorKind::not_found, [&] { find_job(folder_, "x"); }), HasSubstr("clicks"));
}

TEST_F(Records, OfLaunchersThatDied) {
  leave_a_dead_one("clicks");
  EXPECT_TRUE(job_records(folder_).running.empty());
  EXPECT_EQ(names(job_records(folder_).dead), std::vector<std::string>{"clicks"});
  {
    const JobEntry entry(folder_, record("clicks"));
    EXPECT_EQ(entry.record().name, "clicks") << "the name is free";
    EXPECT_TRUE(job_records(folder_).dead.empty());
  }
  leave_a_dead_one("clicks");
  EXPECT_THAT(error_of(ErrorKind::not_found, [&] { find_job(folder_, ""); }),
              HasSubstr("no job runs"));
  EXPECT_THAT(error_of(ErrorKind::not_found, [&] { find_job(folder_, "clicks"); }),
              HasSubstr("has gone without a word"));
  EXPECT_TRUE(fs::is_empty(folder_)) << "it is not needed any more";
}

// A process with the number of an ended one is another process.
TEST_F(Records, ANumberMayComeBack) {
  JobRecord other = JobEntry(folder_, record("a")).record();
  EXPECT_TRUE(lives(other));
  other.process += "1";
  EXPECT_FALSE(lives(other));
  other.host = "elsewhere";
  EXPECT_TRUE(lives(other)) << "it is unknown";
}

TEST_F(Records, OthersMayNotWriteThere) {
  fs::create_directories(folder_);
  ::chmod(folder_.c_str(), 0755);
  EXPECT_THAT(error_of(ErrorKind::io, [&] { JobEntry(folder_, record("a")); }),
              HasSubstr("chmod 700"));
  fs::remove(folder_);
  std::ofstream(folder_) << "a file";
  EXPECT_THAT(error_of(ErrorKind::io, [&] { JobEntry(folder_, record("a")); }),
              HasSubstr("is no folder"));
}

TEST_F(Records, WhatIsNoRecordIsPassedOver) {
  const JobEntry entry(folder_, record("a"));
  const std::string text = read_file(folder_ + "/a.json");
  std::ofstream(folder_ + "/b.json") << text;  // says that it is a
  std::ofstream(folder_ + "/c.json") << text.substr(0, text.size() / 2);
  std::ofstream(folder_ + "/d.json") << "[1]";
  std::ofstream(folder_ + "/notes.txt") << text;
  fs::create_symlink(folder_ + "/a.json", folder_ + "/e.json");
  fs::create_directory(folder_ + "/f.json");
  EXPECT_EQ(names(job_records(folder_).running), std::vector<std::string>{"a"});
  EXPECT_TRUE(job_records(folder_).dead.empty());
}

TEST_F(Records, WhereTheyLie) {
  const auto with = [](const char* jobs, const char* state, const char* home) {
    const auto set = [](const char* name, const char* value) {
      if (value != nullptr) ::setenv(name, value, 1);
      else ::unsetenv(name);
    };
    const std::string kept = std::getenv("HOME") != nullptr ? std::getenv("HOME") : "/root";
    set("TRIREME_JOBS", jobs);
    set("XDG_STATE_HOME", state);
    set("HOME", home);
    std::string folder;
    try {
      folder = jobs_folder();
    } catch (const Error& error) {
      folder = error.what();
    }
    set("TRIREME_JOBS", nullptr);
    set("XDG_STATE_HOME", nullptr);
    set("HOME", kept.c_str());
    return folder;
  };
  EXPECT_EQ(with("/j", "/s", "/h"), "/j");
  EXPECT_EQ(with(nullptr, "/s", "/h"), "/s/trireme/jobs");
  EXPECT_EQ(with("", "", "/h"), "/h/.local/state/trireme/jobs");
  EXPECT_THAT(with(nullptr, nullptr, nullptr), HasSubstr("TRIREME_JOBS"));
}

}  // namespace
}  // namespace trireme::distributed
