#include "exits.h"

#include <gtest/gtest.h>

namespace trireme::chaos {
namespace {

TEST(ChaosExits, WhatWasKilledIsExplained) {
  Exits exits;
  exits.killed("server_1");
  exits.hear("server_1 was ended by signal 9; another one is started");
  exits.hear("trainer_2 has left");
  exits.hear("2 trainers and 3 servers are wanted, instead of 2 and 2");
  EXPECT_EQ(exits.count(), 0);
  EXPECT_EQ(exits.bad(), "");
}

TEST(ChaosExits, WhatEndsByItselfIsNamed) {
  Exits exits;
  exits.killed("server_1");
  exits.hear("server_1 ended with code 4; another one is started");  // before it could be killed
  exits.hear("trainer_0 was ended by signal 9; another one is started");
  exits.hear("trainer_3 was ended by signal 11; another one is started");
  exits.hear("master_2 ended with code 2: see its lines above");
  EXPECT_EQ(
      exits.unexplained(),
      "server_1 with code 4, trainer_0 by signal 9, trainer_3 by signal 11, master_2 with code 2");
  EXPECT_EQ(exits.count(), 4);
  EXPECT_EQ(exits.bad(), "trainer_0 by signal 9, trainer_3 by signal 11, master_2 with code 2");
}

}  // namespace
}  // namespace trireme::chaos
