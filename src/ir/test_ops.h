#pragma once

// A small set of ops for the tests of this folder. It has enough kinds of signatures, type rules
// and traits to test Programs without the real ops, which are in a higher layer.

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

// Returns a random Program of these ops that uses every feature of the text form: parameters, all
// kinds of attributes, ragged and symbolic types, several results, nested blocks, locations.
std::unique_ptr<Program> random_program(const OpSet& ops, unsigned seed);

}  // namespace trireme::ir
