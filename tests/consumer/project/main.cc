// A stranger's program: builds a Program through the installed headers and prints it.
#include <trireme/program.h>

#include <iostream>

int main() {
  trireme::Program program("consumer");
  trireme::Value x = program.input("x", trireme::f32, {trireme::batch, 3});
  program.set_outputs({x * 2.0 + 1.0});
  const std::string text = program.str();
  std::cout << text;
  const bool same = trireme::Program::parse(text).str() == text;
  if (!same) std::cerr << "the text form does not come back the same\n";
  return same ? 0 : 1;
}
