#include "base/attributes.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "base/testing/error.h"

namespace trireme {
namespace {

TEST(Attributes, StaySortedAndReplaceAnEqualName) {
  Attributes attributes;
  set_attribute(attributes, "stride", std::vector<std::int64_t>{2, 2});
  set_attribute(attributes, "axis", std::int64_t{1});
  set_attribute(attributes, "padding", 0.5);
  set_attribute(attributes, "axis", true);
  ASSERT_EQ(attributes.size(), 3u);
  EXPECT_EQ(attributes[0].name, "axis");
  EXPECT_EQ(attributes[1].name, "padding");
  EXPECT_EQ(attributes[2].name, "stride");
  EXPECT_TRUE(get_attribute<bool>(attributes, "axis"));
  EXPECT_TRUE(has_attribute(attributes, "stride"));
  EXPECT_FALSE(has_attribute(attributes, "strid"));
  EXPECT_FALSE(has_attribute({}, ""));
  EXPECT_EQ(find_attribute(attributes, "zoom"), nullptr);
}

TEST(Attributes, RefuseAMissingNameAndAnotherKind) {
  Attributes attributes;
  set_attribute(attributes, "axis", std::int64_t{1});
  try {
    get_attribute<double>(attributes, "axis");
    FAIL() << "an int was read as a float";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::internal);
    EXPECT_NE(std::string(error.what()).find("attribute 'axis' is a int, read as another kind"),
              std::string::npos)
        << error.what();
  }
  try {
    get_attribute<double>(attributes, "axes");
    FAIL() << "a missing attribute was read";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("attribute 'axes' is missing"), std::string::npos)
        << error.what();
  }
}

TEST(Attributes, HaveAKindAndATextEach) {
  const double infinity = std::numeric_limits<double>::infinity();
  const struct {
    Attribute attribute;
    const char *kind, *text;
  } cases[] = {{true, "bool", "true"},
               {std::numeric_limits<std::int64_t>::min(), "int", "-9223372036854775808"},
               {-infinity, "float", "-inf"},
               {std::string("a\"\\\n\x01"), "string", R"("a\"\\\n\x01")"},
               {std::vector<std::int64_t>{}, "ints", "[]"},
               {std::vector<double>{0.5, infinity}, "floats", "floats[0.5, inf]"},
               {DType::bf16, "dtype", "bf16"},
               {Shape{2, 3}, "shape", "shape[2, 3]"}};
  for (const auto& [attribute, kind, text] : cases) {
    EXPECT_EQ(kind_of(attribute), kind);
    EXPECT_EQ(print_attribute(attribute), text);
  }
}

}  // namespace
}  // namespace trireme
