#pragma once

// The kinds of machines that models are compiled for ahead of time.

#include <string>
#include <vector>

namespace trireme::inference {

struct Machine {
  const char* name;          // "x86-64-v3"
  const char* architecture;  // "x86-64"
};

// All of them; better ones of one architecture come later.
const std::vector<Machine>& machines();

// Returns why code for `target` cannot run on this machine; "" if it can.
std::string obstacle(const std::string& target);

// Returns the best entry of machines() whose code runs on this machine; "" if there is none.
std::string native_target();

}  // namespace trireme::inference
