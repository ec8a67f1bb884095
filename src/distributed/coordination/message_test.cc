#include "distributed/coordination/message.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "base/testing/error.h"

namespace trireme::distributed {
namespace {

using ::testing::HasSubstr;

struct Inner {
  std::uint16_t port = 0;
  bool operator==(const Inner&) const = default;

  template <class Visitor>
  void fields(Visitor& visit) {
    visit("port", port);
  }
};

struct Outer {
  enum class Kind : std::uint8_t { one, two };
  std::int64_t whole = 0;
  std::uint64_t large = 0;
  double real = 0;
  bool flag = false;
  std::string text;
  Kind kind = Kind::one;
  Inner inner;
  std::vector<Inner> list;
  std::pair<int, std::string> pair;
  std::map<std::uint32_t, std::string> map;
  std::optional<double> maybe;
  int later = 7;
  bool operator==(const Outer&) const = default;

  template <class Visitor>
  void fields(Visitor& visit) {
    visit("whole", whole);
    visit("large", large);
    visit("real", real);
    visit("flag", flag);
    visit("text", text);
    visit("kind", kind);
    visit("inner", inner);
    visit("list", list);
    visit("pair", pair);
    visit("map", map);
    visit("maybe", maybe);
    visit.defaulted("later", later);
  }
};

Outer full() {
  return {INT64_MIN,
          UINT64_MAX,
          0.1 + 0.2,
          true,
          std::string("\0%\xff\n", 4),
          Outer::Kind::two,
          {65535},
          {{1}, {2}},
          {-3, "b"},
          {{0, ""}, {UINT32_MAX, "c"}},
          -0.5,
          9};
}

TEST(Message, SurvivesEncoding) {
  for (const Outer& one : {Outer(), full()}) EXPECT_EQ(decode<Outer>(encode(one), "it"), one);
  EXPECT_EQ(encode(Inner{80}), "{\"port\":80}");
}

TEST(Message, MayLackOptionalAndLaterKeys) {
  message::Json json = message::Json::parse(encode(full()));
  json.erase("maybe");
  json.erase("later");
  json["unknown"] = 1;
  const Outer back = decode<Outer>(json.dump(), "it");
  EXPECT_FALSE(back.maybe);
  EXPECT_EQ(back.later, 7);
  Outer one;
  one.maybe = std::nan("");
  EXPECT_TRUE(std::isnan(decode<Outer>(encode(one), "it").maybe.value()));
  for (const double infinite : {INFINITY, -INFINITY}) {
    one.real = infinite;
    EXPECT_EQ(decode<Outer>(encode(one), "it").real, infinite);
  }
}

TEST(Message, RefusesWhatDoesNotFit) {
  const auto error = [](const std::string& key, const message::Json& value) {
    message::Json json = message::Json::parse(encode(full()));
    json[key] = value;
    return error_of(ErrorKind::data, [&] { decode<Outer>(json.dump(), "an order"); });
  };
  EXPECT_THAT(error("whole", 1.5), HasSubstr("an order is not valid: \"whole\": "));
  EXPECT_THAT(error("whole", UINT64_MAX), HasSubstr("fits"));
  EXPECT_THAT(error("large", -1), HasSubstr("fits"));
  EXPECT_THAT(error("inner", {{"port", 65536}}), HasSubstr("\"inner\": \"port\": "));
  EXPECT_THAT(error("inner", 3), HasSubstr("inner"));
  EXPECT_THAT(error("kind", 256), HasSubstr("kind"));
  EXPECT_THAT(error("flag", 1), HasSubstr("flag"));
  EXPECT_THAT(error("real", "1"), HasSubstr("real"));
  EXPECT_THAT(error("real", nullptr), HasSubstr("real"));
  EXPECT_THAT(error("text", "%4"), HasSubstr("two hexadecimal digits"));
  EXPECT_THAT(error("text", 4), HasSubstr("text"));
  EXPECT_THAT(error("list", 4), HasSubstr("is no list"));
  EXPECT_THAT(error("pair", {1}), HasSubstr("is no pair"));
  EXPECT_THAT(error("map", {{"x", "y"}}), HasSubstr("map"));
  EXPECT_THAT(error("map", {{"-1", "y"}}), HasSubstr("map"));
  const auto parsed = [](const char* text) {
    return error_of(ErrorKind::data, [&] { decode<Inner>(text, "an order"); });
  };
  EXPECT_THAT(parsed("{}"), HasSubstr("port"));
  for (const char* text : {"", "{", "[]", "null", "{\"port\":1} x"}) {
    EXPECT_THAT(parsed(text), HasSubstr("an order is not valid")) << text;
  }
}

TEST(Message, EscapesEveryByte) {
  std::string all;
  for (int c = 0; c < 256; ++c) all += static_cast<char>(c);
  EXPECT_EQ(unescaped(escaped(all)), all);
  EXPECT_EQ(escaped("a%\n"), "a%25%0A");
  for (const char* text : {"%", "%0", "%0g"}) EXPECT_ANY_THROW(unescaped(text)) << text;
}

}  // namespace
}  // namespace trireme::distributed
