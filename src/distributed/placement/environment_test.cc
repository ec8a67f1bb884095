#include "distributed/placement/environment.h"

#include <gmock/gmock.h>

#include "base/testing/error.h"

namespace trireme::distributed {
namespace {

using ::testing::HasSubstr;

std::string refused(const Environment& variables, const std::string& placement = "auto") {
  return error_of(ErrorKind::usage, [&] { placement_of(variables, placement); });
}

TEST(Placement, NobodyHasPlacedIt) {
  // A batch script of Slurm alone, and variables that are often set without a meaning for us.
  const Environment variables = {{"SLURM_JOB_ID", "7"},   {"SLURM_NTASKS", "3"},
                                 {"SLURM_PROCID", "0"},   {"MASTER_ADDR", "n1"},
                                 {"MASTER_PORT", "2222"}, {"PATH", "/bin"}};
  const Placement found = placement_of(variables);
  EXPECT_TRUE(found.alone());
  EXPECT_EQ(found.by, "");
  EXPECT_EQ(found.master, "");
}

TEST(Placement, SlurmStep) {
  Environment variables = {{"SLURM_JOB_ID", "71"},
                           {"SLURM_STEP_ID", "2"},
                           {"SLURM_PROCID", "2"},
                           {"SLURM_LOCALID", "0"},
                           {"SLURM_NTASKS", "9"},  // of the job, not of the step
                           {"SLURM_STEP_NUM_TASKS", "3"},
                           {"SLURM_STEP_NUM_NODES", "3"},
                           {"SLURM_STEP_NODELIST", "n[1-3]"}};
  Placement found = placement_of(variables);
  EXPECT_EQ(found.by, "Slurm");
  EXPECT_EQ(found.rank, 2);
  EXPECT_EQ(found.world, 3);
  EXPECT_FALSE(found.one_host);
  EXPECT_EQ(found.job, "slurm-71.2.");
  EXPECT_EQ(found.master, "") << "no port is set";
  variables["MASTER_PORT"] = "4000";
  variables["SLURM_RESTART_COUNT"] = "1";
  found = placement_of(variables);
  EXPECT_EQ(found.master, "n1:4000");
  EXPECT_EQ(found.job, "slurm-71.2.1") << "a restart is another job";
  variables["MASTER_ADDR"] = "10.0.0.9";
  EXPECT_EQ(placement_of(variables).master, "10.0.0.9:4000");
  variables["SLURM_STEP_NUM_NODES"] = "1";
  EXPECT_TRUE(placement_of(variables).one_host);
}

TEST(Placement, HostLists) {
  EXPECT_EQ(first_host("n1"), "n1");
  EXPECT_EQ(first_host("n1,n2"), "n1");
  EXPECT_EQ(first_host("n[001-003,7],m2"), "n001");
  EXPECT_EQ(first_host("rack[2,4]node[08-09]-ib,x"), "rack2node08-ib");
  EXPECT_EQ(first_host("n[3"), "n3");
  EXPECT_EQ(first_host(""), "");
}

TEST(Placement, OpenMpi) {
  const Environment variables = {
      {"OMPI_COMM_WORLD_RANK", "1"},
      {"OMPI_COMM_WORLD_SIZE", "4"},
      {"OMPI_COMM_WORLD_LOCAL_RANK", "1"},
      {"OMPI_COMM_WORLD_LOCAL_SIZE", "2"},
      {"PMIX_NAMESPACE", "12@7/a"},
      // Of the daemon that Slurm started on this machine, not of this process.
      {"SLURM_JOB_ID", "71"},
      {"SLURM_STEP_ID", "0"},
      {"SLURM_PROCID", "0"},
      {"SLURM_STEP_NUM_TASKS", "1"}};
  const Placement found = placement_of(variables);
  EXPECT_EQ(found.by, "Open MPI");
  EXPECT_EQ(found.rank, 1);
  EXPECT_EQ(found.world, 4);
  EXPECT_EQ(found.local_rank, 1);
  EXPECT_FALSE(found.one_host);
  EXPECT_EQ(found.job, "mpi-12-7-a");
}

TEST(Placement, Pmi) {
  Environment variables = {{"PMI_RANK", "0"}, {"PMI_SIZE", "2"}};
  EXPECT_FALSE(placement_of(variables).one_host) << "not told";
  variables["MPI_LOCALNRANKS"] = "2";
  variables["MPI_LOCALRANKID"] = "1";
  const Placement found = placement_of(variables);
  EXPECT_EQ(found.world, 2);
  EXPECT_EQ(found.local_rank, 1);
  EXPECT_TRUE(found.one_host);
}

TEST(Placement, ByHandAndByTorchrun) {
  Environment variables = {{"RANK", "1"}, {"WORLD_SIZE", "3"}, {"MASTER_ADDR", "10.0.0.1"}};
  Placement found = placement_of(variables);
  EXPECT_EQ(found.by, "RANK and WORLD_SIZE");
  EXPECT_EQ(found.rank, 1);
  EXPECT_EQ(found.master, "10.0.0.1:29500");
  EXPECT_EQ(found.job, "");
  EXPECT_FALSE(found.one_host);
  variables["MASTER_ADDR"] = "fd00::2";
  EXPECT_EQ(placement_of(variables).master, "[fd00::2]:29500");
  variables["MASTER_ADDR"] = "localhost";
  EXPECT_TRUE(placement_of(variables).one_host);

  variables["MASTER_PORT"] = "4000";
  variables["LOCAL_RANK"] = "1";
  variables["TORCHELASTIC_RUN_ID"] = "run 5";
  variables["TORCHELASTIC_RESTART_COUNT"] = "0";
  variables["TORCHELASTIC_USE_AGENT_STORE"] = "True";
  found = placement_of(variables);
  EXPECT_EQ(found.by, "torchrun");
  EXPECT_EQ(found.master, "localhost:4001") << "at its own port torchrun listens";
  EXPECT_EQ(found.job, "torch-run-5-0");
  EXPECT_EQ(found.local_rank, 1);
}

TEST(Placement, Paddle) {
  Environment variables = {
      {"PADDLE_TRAINER_ID", "1"}, {"PADDLE_TRAINERS_NUM", "2"}, {"PADDLE_MASTER", "10.0.0.1:8000"}};
  EXPECT_EQ(placement_of(variables).master, "10.0.0.1:8000");
  variables["PADDLE_TRAINER_ENDPOINTS"] = "10.0.0.1:6170,10.0.0.2:6170";
  variables["PADDLE_CURRENT_ENDPOINT"] = "10.0.0.2:6170";
  variables["PADDLE_JOB_ID"] = "clicks";
  Placement found = placement_of(variables);
  EXPECT_EQ(found.rank, 1);
  EXPECT_EQ(found.master, "10.0.0.1:6170");
  EXPECT_EQ(found.job, "paddle-clicks");
  EXPECT_FALSE(found.one_host);
  variables["PADDLE_TRAINER_ENDPOINTS"] = "10.0.0.2:6169,10.0.0.2:6170";
  EXPECT_TRUE(placement_of(variables).one_host);

  variables["PADDLE_CURRENT_ENDPOINT"] = "10.0.0.3:6170";
  EXPECT_THAT(refused(variables),
              HasSubstr("PADDLE_CURRENT_ENDPOINT=10.0.0.3:6170 is not number 1"));
  variables["PADDLE_TRAINER_ENDPOINTS"] = "10.0.0.2:6170";
  EXPECT_THAT(refused(variables), HasSubstr("has 1 addresses and PADDLE_TRAINERS_NUM=2"));
  variables["PADDLE_TRAINER_ENDPOINTS"] = "10.0.0.2:6170,";
  EXPECT_THAT(refused(variables), HasSubstr("HOST:PORT is expected, not \"\""));
  variables["TRAINING_ROLE"] = "PSERVER";
  EXPECT_THAT(refused(variables), HasSubstr("started by the launchers of trainers"));
}

TEST(Placement, MalformedValues) {
  EXPECT_THAT(refused({{"RANK", "one"}, {"WORLD_SIZE", "3"}}),
              HasSubstr("RANK=one: a whole number from 0 to 1023 is expected"));
  EXPECT_THAT(refused({{"RANK", "1 "}, {"WORLD_SIZE", "3"}}), HasSubstr("RANK=1 : a whole"));
  EXPECT_THAT(refused({{"RANK", "-1"}, {"WORLD_SIZE", "3"}}), HasSubstr("RANK=-1"));
  EXPECT_THAT(refused({{"RANK", "0"}, {"WORLD_SIZE", "0"}}), HasSubstr("WORLD_SIZE=0"));
  EXPECT_THAT(refused({{"RANK", "99999999999"}, {"WORLD_SIZE", "3"}}), HasSubstr("whole number"));
  EXPECT_THAT(refused({{"RANK", "3"}, {"WORLD_SIZE", "3"}}),
              HasSubstr("RANK=3 is not less than WORLD_SIZE=3"));
  const Environment good = {{"RANK", "0"}, {"WORLD_SIZE", "2"}, {"MASTER_ADDR", "n1"}};
  Environment bad = good;
  bad["MASTER_PORT"] = "70000";
  EXPECT_THAT(refused(bad), HasSubstr("MASTER_PORT=70000"));
  bad = good;
  bad["MASTER_ADDR"] = "http://n1";
  EXPECT_THAT(refused(bad), HasSubstr("MASTER_ADDR=http://n1: HOST:PORT is expected"));
  EXPECT_THAT(
      refused({{"PADDLE_TRAINER_ID", "0"}, {"PADDLE_TRAINERS_NUM", "2"}, {"PADDLE_MASTER", "n1"}}),
      HasSubstr("PADDLE_MASTER: HOST:PORT is expected, not \"n1\""));
}

TEST(Placement, HalfOfAConvention) {
  EXPECT_THAT(refused({{"RANK", "1"}}), HasSubstr("RANK is set and WORLD_SIZE is not"));
  EXPECT_THAT(refused({{"WORLD_SIZE", "2"}}), HasSubstr("--placement none"));
  EXPECT_TRUE(placement_of({{"WORLD_SIZE", "2"}}, "none").alone());
  // Without meaning beside a complete convention.
  EXPECT_EQ(placement_of({{"WORLD_SIZE", "2"}, {"PMI_RANK", "1"}, {"PMI_SIZE", "4"}}).world, 4);
}

TEST(Placement, Contradictions) {
  // RANK=$SLURM_PROCID in a batch script is evaluated once, so every task gets number 0.
  Environment variables = {{"RANK", "0"},         {"WORLD_SIZE", "3"},
                           {"SLURM_JOB_ID", "7"}, {"SLURM_STEP_ID", "0"},
                           {"SLURM_PROCID", "2"}, {"SLURM_STEP_NUM_TASKS", "3"}};
  EXPECT_THAT(refused(variables), HasSubstr("that this is launcher 0 of 3, and SLURM_STEP_ID"));
  EXPECT_EQ(placement_of(variables, "slurm").rank, 2);
  EXPECT_EQ(placement_of(variables, "torch").rank, 0);
  // One torchrun on each machine of Slurm; its ranks are independent.
  variables["TORCHELASTIC_RUN_ID"] = "a";
  EXPECT_EQ(placement_of(variables).rank, 0);
  variables.erase("TORCHELASTIC_RUN_ID");
  variables["WORLD_SIZE"] = "6";
  EXPECT_EQ(placement_of(variables).world, 6);
}

TEST(Placement, WhomToBelieve) {
  EXPECT_THAT(refused({}, "slurm"),
              HasSubstr("SLURM_STEP_ID, SLURM_PROCID and SLURM_STEP_NUM_TASKS are not set"));
  EXPECT_THAT(refused({}, "mpi"), HasSubstr("--placement mpi: auto, none, torch"));
}

}  // namespace
}  // namespace trireme::distributed
