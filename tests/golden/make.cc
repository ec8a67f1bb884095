// Writes the golden files of this version into a folder that does not exist yet; make.sh runs it.
//   golden_make FOLDER

#include <cstdio>

#include "golden.h"
#include "trireme/error.h"

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: golden_make FOLDER\n");
    return 2;
  }
  try {
    trireme::golden::write_golden(argv[1]);
  } catch (const trireme::Error& error) {
    std::fprintf(stderr, "golden_make: %s\n", error.what());
    return 1;
  }
}
