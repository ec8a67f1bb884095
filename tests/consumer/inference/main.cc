// A stranger's program in C++: the inference library's own headers are enough.
#include <trireme/error.h>
#include <trireme/inference.h>

#include <iostream>

int main() {
  try {
    trireme::CompiledModel::load("no/such/model");
  } catch (const trireme::Error& error) {
    std::cout << error.what() << '\n';
    return error.kind() == trireme::ErrorKind::not_found ? 0 : 1;
  }
  return 1;
}
