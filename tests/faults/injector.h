#pragma once

// Lets the n-th allocation or the n-th call of the operating system fail, once. Only what the
// calling thread does while it is armed is counted. The product has no hooks for this: injector.cc
// replaces operator new, and the linker's option --wrap leads the calls of CMakeLists.txt to it.

namespace trireme::faults {

enum class Kind { allocation, call };

// From now on the number-th one fails, counted from 1; 0: all are counted, and none fails.
void arm(Kind kind, long number);

struct Counted {
  long count = 0;                // of this kind since arm()
  long before_first_call = 0;    // of them, before the first call of the operating system
  const char* failed = nullptr;  // the call that failed; null: none
};
Counted disarm();

}  // namespace trireme::faults
