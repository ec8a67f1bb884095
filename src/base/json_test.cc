#include "base/json.h"

#include <gtest/gtest.h>

#include <string>

#include "base/testing/error.h"

namespace trireme {
namespace {

std::string nested(int depth) {
  return std::string(static_cast<std::size_t>(depth), '[') +
         std::string(static_cast<std::size_t>(depth), ']');
}

TEST(Json, ReadsWhatIsNestedModerately) {
  EXPECT_EQ(try_parse_json("{\"a\": [1, {\"b\": null}]}")["a"][0], 1);
  EXPECT_TRUE(try_parse_json(nested(kDeepestJson)).is_array());
  EXPECT_EQ(parse_json<nlohmann::ordered_json>("{\"b\": 1, \"a\": 2}").begin().key(), "b");
}

TEST(Json, RefusesDeepNesting) {
  for (const int depth : {kDeepestJson + 1, 1000, 1000000}) {
    EXPECT_TRUE(try_parse_json(nested(depth)).is_discarded()) << depth;
    EXPECT_NE(error_of(ErrorKind::data, [&] { parse_json(nested(depth)); }), "");
  }
  const std::string objects = [] {
    std::string text;
    for (int i = 0; i < 70000; ++i) text += "{\"a\":";
    return text;
  }();
  EXPECT_TRUE(try_parse_json(objects).is_discarded());
}

TEST(Json, RefusesOtherText) {
  for (const char* text : {"", "{", "[1,]", "nul", "\"a", "{\"a\" 1}", "1 2", "\xff"}) {
    EXPECT_TRUE(try_parse_json(text).is_discarded()) << text;
    EXPECT_NE(error_of(ErrorKind::data, [&] { parse_json(text); }), "");
  }
}

}  // namespace
}  // namespace trireme
