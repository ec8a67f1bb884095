#include "data/table_encoding.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>

#include "base/testing/error.h"
#include "data/table.h"

namespace trireme::data {
namespace {

using ::testing::HasSubstr;
using Json = nlohmann::ordered_json;

constexpr const char* kTraining =
    "area,town,rooms,shop,kind\n"
    "1.5,Ulm,3,s1,flat\n"
    "4.5,Bonn,?,s2,house\n"
    "3,Ulm,5,s1,flat\n";

CsvOptions options() {
  return {.target = "kind",
          .features = {"area", "town", "rooms"},
          .one_hot = {"town"},
          .standardize = true,
          .categories = {"shop"},
          .classes = true,
          .missing = Missing::mean,
          .missing_word = "?"};
}

TableEncoding fitted() { return fit_table(read_table(kTraining, "t.csv", options()), options()); }

Dataset encoded(const std::string& text, const TableEncoding& encoding, bool with_target = true) {
  return encode_table(read_table(text, "new.csv", encoding.options), encoding, {}, with_target);
}

void expect_equal(const Dataset& a, const Dataset& b) {
  ASSERT_EQ(a.columns().size(), b.columns().size());
  EXPECT_EQ(a.class_names(), b.class_names());
  const Batch left = a.all(), right = b.all();
  for (const Column& column : a.columns()) {
    EXPECT_TRUE(equal(left.at(column.name), right.at(column.name))) << column.name;
    EXPECT_EQ(column.words, b.column(column.name).words);
  }
}

TEST(TableEncoding, FitsWordsAndNumbers) {
  const TableEncoding encoding = fitted();
  ASSERT_EQ(encoding.columns.size(), 4u);
  EXPECT_DOUBLE_EQ(encoding.columns[0].mean, 3);
  EXPECT_DOUBLE_EQ(encoding.columns[0].deviation, std::sqrt(1.5));
  EXPECT_EQ(encoding.columns[1].words, (std::vector<std::string>{"Bonn", "Ulm"}));
  EXPECT_DOUBLE_EQ(encoding.columns[2].mean, 4) << "without the missing one";
  EXPECT_EQ(encoding.columns[3].kind, EncodedColumn::Kind::category);
  EXPECT_EQ(encoding.classes, (std::vector<std::string>{"flat", "house"}));
}

TEST(TableEncoding, SurvivesJson) {
  const TableEncoding back = read_encoding(encoding_text(fitted()), "model.json");
  EXPECT_EQ(encoding_text(back), encoding_text(fitted()));
  expect_equal(encoded(kTraining, back), table_from_csv(kTraining, "t.csv", options()));
}

TEST(TableEncoding, ReadsOtherFilesAsTheTrainingData) {
  const TableEncoding encoding = read_encoding(encoding_text(fitted()), "model.json");
  // Columns in another order, one more, no target, an unknown town and shop.
  const Dataset data =
      encoded("more,shop,rooms,town,area\nx,s2,6,Ulm,3\ny,s9,?,Rom,4.5\n", encoding, false);
  EXPECT_EQ(data.columns().size(), 2u);
  const Batch batch = data.all();
  const std::vector<float> features = batch.at("features").to_vector<float>();
  ASSERT_EQ(features.size(), 8u);
  EXPECT_FLOAT_EQ(features[0], 0);
  EXPECT_FLOAT_EQ(features[1], 0) << "Bonn";
  EXPECT_FLOAT_EQ(features[2], 1) << "Ulm";
  EXPECT_FLOAT_EQ(features[3], 2) << "rooms: (6 - 4) / 1";
  EXPECT_FLOAT_EQ(features[4], 1.5f / std::sqrt(1.5f));
  EXPECT_FLOAT_EQ(features[5] + features[6], 0) << "an unknown town";
  EXPECT_FLOAT_EQ(features[7], 0) << "missing: the mean";
  EXPECT_EQ(batch.at("shop").to_vector<std::int64_t>(), (std::vector<std::int64_t>{2, 0}));
}

TEST(TableEncoding, NamesWhatIsMissing) {
  const TableEncoding encoding = fitted();
  EXPECT_THAT(error_of([&] { encoded("area,town,shop,kind\n1,Ulm,s1,flat\n", encoding); }),
              HasSubstr("no column \"rooms\""));
  const std::string without = "area,town,rooms,shop\n1,Ulm,2,s1\n";
  EXPECT_THAT(error_of([&] { encoded(without, encoding); }), HasSubstr("no column \"kind\""));
  EXPECT_EQ(encoded(without, encoding, false).size(), 1);
  EXPECT_THAT(error_of([&] { encoded("area,town,rooms,shop,kind\n1,Ulm,2,s1,tent\n", encoding); }),
              HasSubstr("\"tent\" is no class of t.csv"));
}

TEST(TableEncoding, RefusesDamagedJson) {
  const auto error = [](const Json& json) {
    return error_of(ErrorKind::data, [&] { read_encoding(json.dump(), "m/model.json"); });
  };
  const Json whole = Json::parse(encoding_text(fitted()));
  // Numbers of other countries: models of 0.1.0 have none of these.
  const std::set<std::string> optional = {"classes", "skip_initial_space", "decimal", "thousands"};
  EXPECT_THAT(error_of(ErrorKind::data, [] { read_encoding("[1", "m/model.json"); }),
              HasSubstr("m/model.json"));
  for (const auto& [key, value] : whole.items()) {
    Json damaged = whole;
    damaged[key] = Json::object({{"x", 1}});
    EXPECT_THAT(error(damaged), HasSubstr("m/model.json")) << key;
    damaged = whole;
    damaged.erase(key);
    if (optional.contains(key)) EXPECT_NO_THROW(read_encoding(damaged.dump(), "m")) << key;
    else EXPECT_THAT(error(damaged), HasSubstr(key));
  }
  Json damaged = whole;
  damaged["columns"][0]["deviation"] = -1;
  EXPECT_THAT(error(damaged), HasSubstr("negative deviation"));
  damaged = whole;
  damaged["columns"][1]["words"] = {"b", "a"};
  EXPECT_THAT(error(damaged), HasSubstr("not sorted"));
  damaged = whole;
  damaged["columns"][0]["kind"] = "other";
  EXPECT_THAT(error(damaged), HasSubstr("other"));
}

}  // namespace
}  // namespace trireme::data
