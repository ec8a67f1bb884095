// A parameter server for tests: parameter_server_process PLACE SERVERS PORT. It has its share of a
// balanced map at once, prints its port on standard output, and runs until it is killed or its
// standard input is closed.

#include <unistd.h>

#include <cstdlib>
#include <iostream>
#include <string>

#include "distributed/server/parameter_server.h"

int main(int argc, char** argv) {
  using namespace trireme::distributed;
  if (argc != 4) return 2;
  ParameterServerOptions options;
  options.transport.address = "127.0.0.1:" + std::string(argv[3]);
  options.transport.security.token = "open sesame";
  options.shard.place = std::atoi(argv[1]);
  ParameterServer server(options);
  server.shard().set_map(SlotMap::balanced(std::atoi(argv[2])), 1);
  std::cout << server.port() << std::endl;
  char ignored = 0;
  while (::read(0, &ignored, 1) > 0) {
  }
  ::_exit(0);
}
