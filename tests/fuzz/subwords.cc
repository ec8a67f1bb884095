#include "fuzz.h"
#include "trireme/text.h"

// Model files of SentencePiece: what is not refused must encode and decode.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return fuzz(data, size, [](std::string_view bytes) {
    const auto model = trireme::text::SubwordModel::parse(bytes, "f");
    for (const char* text : {"ab ba", "\u00BD\uFF21 \u20AC", "\x01 a"}) {
      model.decode(model.encode(text));
    }
  });
}
