#include "distributed/control/publisher.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/testing/error.h"
#include "distributed/checkpoint/manifest.h"
#include "distributed/control/orders.h"

namespace trireme::distributed {
namespace {

using ::testing::HasSubstr;

TEST(Publisher, NamesFoldersAsTheirTables) {
  EXPECT_EQ(folder_name("embedding_0.weight"), "embedding_0.weight");
  EXPECT_EQ(folder_name("wide/ids"), "wide%2Fids");
  EXPECT_EQ(folder_name("wide%2Fids"), "wide%252Fids");
  EXPECT_EQ(folder_name(".."), "%2E.");
  EXPECT_EQ(folder_name("\xc3\xa4 b"), "%C3%A4%20b");
  const std::string one = folder_name(std::string(256, 'a') + "1");
  EXPECT_LT(one.size(), 256u);
  EXPECT_NE(one, folder_name(std::string(256, 'a') + "2"));
}

TEST(Publisher, SaysWhatWasExported) {
  EXPECT_EQ(line_of({3, false, 2, 12345, 1'234'567}, 0.051),
            "export 3: 2 tables, 12345 rows changed, 1.2 MB in 0.05 s");
  EXPECT_EQ(line_of({1, true, 1, 70, 1'000}, 2),
            "export 1, a base: 1 table, 70 rows, 0.0 MB in 2.00 s");
  EXPECT_EQ(line_of({0, true, 0, 0, 500'000}, 1),
            "export of dense parameters alone: 0.5 MB in 1.00 s");
}

TEST(ExportOrder, IsReadAsWritten) {
  const ExportOrder order = export_order_of(text_of(ExportOrder{7, "out/a b%\n", 12, true}));
  EXPECT_EQ(order.table, 7u);
  EXPECT_EQ(order.folder, "out/a b%\n");
  EXPECT_EQ(order.number, 12);
  EXPECT_TRUE(order.delta);
  const std::string good = R"({"table":7,"folder":"f","number":12,"delta":true})";
  EXPECT_EQ(export_order_of(good).number, 12);
  for (const auto& [from, to] :
       {std::pair("7", "-1"), std::pair("7", "4096"), std::pair("\"f\"", "\"\""),
        std::pair("\"f\"", "1"), std::pair("12", "0"), std::pair("12", "1.5"),
        std::pair("true", "1"), std::pair("\"delta\"", "\"d\""), std::pair("{", "[")}) {
    std::string bad = good;
    bad.replace(bad.find(from), std::string(from).size(), to);
    EXPECT_THAT(error_of(ErrorKind::data, [&] { export_order_of(bad); }),
                HasSubstr("an order to export is not valid"))
        << bad;
  }
}

TEST(ExportReport, IsReadAsWritten) {
  const ExportReport report{{{"1.a.0.safetensors", {3, 900}, true, 5, 0, {100, 0xabcdef01}},
                             {"1.a.1.safetensors", {0, 3}, false, 0, 2, {99, 1}}}};
  EXPECT_EQ(export_report_of(text_of(report)).parts, report.parts);
  EXPECT_TRUE(export_report_of(text_of(ExportReport{})).parts.empty());
  const std::string good = text_of(report);
  for (const auto& [from, to] :
       {std::pair("1.a.0", "../0"), std::pair("[3,900]", "[3]"), std::pair("[3,900]", "[3,16385]"),
        std::pair("[3,900]", "[-3,900]"), std::pair("abcdef01", "abcdefgh"),
        std::pair("\"rows\":5", "\"rows\":-5"), std::pair("\"whole\":true", "\"whole\":0"),
        std::pair("\"parts\"", "\"part\"")}) {
    std::string bad = good;
    ASSERT_NE(bad.find(from), std::string::npos) << from;
    bad.replace(bad.find(from), std::string(from).size(), to);
    EXPECT_THAT(error_of(ErrorKind::data, [&] { export_report_of(bad); }),
                HasSubstr("a report of exported rows is not valid"))
        << bad;
  }
}

}  // namespace
}  // namespace trireme::distributed
