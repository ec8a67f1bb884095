// What people wrote about pictures and words: Pascal VOC, roles, conversations, intents. The first
// byte chooses which.
#include "data/text/dialogue.h"
#include "data/text/roles.h"
#include "data/text/utf8.h"
#include "data/voc.h"
#include "fuzz.h"

namespace {

void parse(int kind, std::string_view bytes) {
  switch (kind) {
    case 0:
      for (const auto& object : trireme::data::parse_voc(bytes, "f").objects) {
        if (!(object.x_min <= object.x_max && object.y_min <= object.y_max)) __builtin_trap();
      }
      break;
    case 1:
      for (const auto& sentence : trireme::data::parse_roles(bytes, "f")) {
        for (const auto& predicate : sentence.predicates) {
          if (predicate.roles.size() != sentence.words.size()) __builtin_trap();
        }
      }
      break;
    case 2: trireme::data::parse_conversations(std::string(bytes), "f"); break;
    default: trireme::data::intents_from_json(std::string(bytes), "f", "val");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  return fuzz(data + 1, size - 1, [&](std::string_view bytes) { parse(data[0] & 3, bytes); });
}
