// The program `trireme_distributed`. In a wheel, libtrireme_distributed has all else of it.

#include "commands.h"

int main(int argc, char** argv) { return trireme_distributed_main(argc, argv); }
