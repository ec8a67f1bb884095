// Packs of JPEG pictures: what is damaged is refused with its record and byte.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "base/testing/error.h"
#include "data/image_pack.h"
#include "data/testing/files.h"
#include "data/testing/jpeg.h"
#include "trireme/image.h"

namespace trireme::data {
namespace {

using ::testing::HasSubstr;

// A picture of one shade of grey.
std::string jpeg(int width, int height, int shade) {
  Tensor image(u8, {height, width, 3});
  std::fill_n(image.data<std::uint8_t>(), image.elements(), static_cast<std::uint8_t>(shade));
  return data::jpeg(image);
}

std::string record(int label, const std::string& picture) {
  std::string text(1, static_cast<char>(label));
  for (int i = 0; i < 4; ++i) text += static_cast<char>(picture.size() >> (8 * i));
  return text + picture;
}

Dataset open_pack(const std::string& bytes) {
  return image_pack_dataset(parse_image_pack(Blob::own(bytes), "pack.rec", 3), 32, {"a", "b", "c"});
}

std::string damage(const std::string& bytes) {
  return error_of(ErrorKind::data, [&] { open_pack(bytes).all(); });
}

TEST(ImagePack, GivesPlanesAndLabels) {
  const Dataset data = open_pack(record(2, jpeg(32, 32, 51)) + record(0, jpeg(32, 32, 204)));
  const Batch batch = data.all();
  EXPECT_TRUE(equal(batch.at("label"), Tensor::from<std::int64_t>({2}, {2, 0})));
  EXPECT_EQ(batch.at("image").type_str(), "f32[2, 3, 32, 32]");
  EXPECT_NEAR(batch.at("image").data<float>()[0], 0.2, 0.005);
  EXPECT_NEAR(batch.at("image").data<float>()[2 * 3 * 1024 - 1], 0.8, 0.005);
  // Rows in another order.
  const std::int64_t rows[] = {1, 1, 0};
  EXPECT_TRUE(equal(data.gather(rows).at("label"), Tensor::from<std::int64_t>({3}, {0, 0, 2})));
}

TEST(ImagePack, NamesRecordAndByteOfDamage) {
  const std::string good = record(1, jpeg(32, 32, 100));
  const std::string second = "record 1 at byte " + std::to_string(good.size());
  EXPECT_THAT(damage(""), HasSubstr("pack.rec: the file has no records"));
  EXPECT_THAT(damage(good + "\x01\x02"), HasSubstr(second + ": cut short: 2 bytes"));
  EXPECT_THAT(damage(good + good.substr(0, good.size() - 1)), HasSubstr("but "));
  EXPECT_THAT(damage(good + record(3, jpeg(32, 32, 1))),
              HasSubstr(second + ": label 3, labels are 0 to 2"));
  EXPECT_THAT(damage(good + record(2, jpeg(31, 32, 1))), HasSubstr("has 31 x 32 pixels"));
  EXPECT_THAT(damage(good + record(2, "no picture")), HasSubstr(second));
  EXPECT_THAT(damage(good + record(2, jpeg(32, 32, 9).substr(0, 400))), HasSubstr("damaged JPEG"));
}

}  // namespace
}  // namespace trireme::data
