#include "exits.h"

#include <csignal>
#include <cstdio>

namespace trireme::chaos {

void Exits::hear(const std::string& line) {
  char name[64] = "";
  int number = 0;
  Exit exit{};
  if (std::sscanf(line.c_str(), "%63s was ended by signal %d", name, &number) == 2) {
    exit = {name, 128 + number};
  } else if (std::sscanf(line.c_str(), "%63s ended with code %d", name, &number) == 2) {
    exit = {name, number};
  } else {
    return;
  }
  if (exit.code != 128 + SIGKILL || !killed_.contains(exit.name)) exits_.push_back(exit);
}

std::string Exits::text_of(const Exit& exit) {
  return exit.name + (exit.code > 128 ? " by signal " + std::to_string(exit.code - 128)
                                      : " with code " + std::to_string(exit.code));
}

std::string Exits::unexplained() const {
  std::string text;
  for (const Exit& exit : exits_) text += (text.empty() ? "" : ", ") + text_of(exit);
  return text;
}

std::string Exits::bad() const {
  std::string text;
  for (const Exit& exit : exits_) {
    if (is_bad(exit)) text += (text.empty() ? "" : ", ") + text_of(exit);
  }
  return text;
}

}  // namespace trireme::chaos
