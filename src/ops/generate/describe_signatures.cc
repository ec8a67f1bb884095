// Reads signatures of ops, one a line, and writes a JSON array of what they declare: see
// ir/signature_json.h. tools/gen_ops.py runs it, so that signatures have one parser.

#include <exception>
#include <iostream>
#include <string>

#include "ir/signature_json.h"

int main() {
  const char* separator = "[";
  for (std::string line; std::getline(std::cin, line); separator = ",\n") {
    trireme::ir::OpDef def;
    def.signature = line;
    try {
      parse_signature(def);
      std::cout << separator << signature_json(def);
    } catch (const std::exception& error) {
      std::cerr << error.what() << '\n';
      return 1;
    }
  }
  std::cout << (*separator == '[' ? "[]" : "]") << '\n';
  return 0;
}
