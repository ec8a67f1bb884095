#pragma once

// A small set of ops for the tests of this room: just enough kinds of signature, type rule and trait
// to exercise Programs without the real ops, which live above.

#include <map>
#include <string>

#include "ir/program.h"

namespace trireme::ir {

class TestOps : public OpSet {
 public:
  TestOps();
  const OpDef* find(std::string_view name) const override;
  std::vector<std::string> names() const override;

 private:
  OpDef& add(std::string signature, std::uint32_t traits,
             std::function<std::vector<Type>(const TypeContext&)> type);
  std::map<std::string, OpDef, std::less<>> ops_;
};

// A random Program of these ops with every feature the text form has: parameters, all kinds of
// attributes, ragged and symbolic types, several results, nested blocks, locations.
std::unique_ptr<Program> random_program(const OpSet& ops, unsigned seed);

}  // namespace trireme::ir
