// Tar and zip archives, and what Pascal VOC has in them.
#include "data/archive.h"

#include <archive.h>
#include <archive_entry.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/testing/error.h"
#include "data/voc.h"

namespace trireme::data {
namespace {

using ::testing::HasSubstr;

// An archive of these files, written by libarchive.
std::string pack(int (*format)(archive*), const std::vector<ArchivedFile>& files) {
  std::string result(1 << 20, '\0');
  std::size_t used = 0;
  archive* writer = archive_write_new();
  format(writer);
  archive_write_open_memory(writer, result.data(), result.size(), &used);
  for (const ArchivedFile& file : files) {
    archive_entry* entry = archive_entry_new();
    archive_entry_set_pathname(entry, file.name.c_str());
    archive_entry_set_size(entry, static_cast<la_int64_t>(file.bytes.size()));
    archive_entry_set_filetype(entry, file.name.ends_with('/') ? AE_IFDIR : AE_IFREG);
    archive_entry_set_perm(entry, 0644);
    archive_write_header(writer, entry);
    archive_write_data(writer, file.bytes.data(), file.bytes.size());
    archive_entry_free(entry);
  }
  archive_write_close(writer);
  archive_write_free(writer);
  result.resize(used);
  return result;
}

bool all(const std::string&) { return true; }

class Archives : public testing::TestWithParam<int (*)(archive*)> {};

TEST_P(Archives, GivesTheWantedFiles) {
  const std::string long_text(100000, 'x');
  const std::string packed =
      pack(GetParam(), {{"a/", ""}, {"a/one.txt", "1"}, {"a/b/two.txt", long_text}, {"c", ""}});
  const auto files = read_archive(packed, "f", all);
  ASSERT_EQ(files.size(), 3u);
  EXPECT_EQ(files[0].name, "a/one.txt");
  EXPECT_EQ(files[0].bytes, "1");
  EXPECT_EQ(files[1].bytes, long_text);
  EXPECT_EQ(files[2].bytes, "");
  const auto texts =
      read_archive(packed, "f", [](const std::string& name) { return name.ends_with("two.txt"); });
  ASSERT_EQ(texts.size(), 1u);
  EXPECT_EQ(texts[0].name, "a/b/two.txt");
}

TEST_P(Archives, RefusesWhatIsDamagedOrTooLarge) {
  std::string text;  // that does not pack
  for (std::uint32_t state = 1; text.size() < 5000; text += static_cast<char>(state >> 24)) {
    state = state * 1664525u + 1013904223u;
  }
  const std::string packed = pack(GetParam(), {{"one.txt", text}, {"two.txt", text}});
  EXPECT_THAT(error_of(ErrorKind::data, [&] { read_archive(packed, "f", all, 9999); }),
              HasSubstr("f: two.txt: unpacks to more than"));
  EXPECT_EQ(read_archive(packed, "f", all, 10000).size(), 2u);
  EXPECT_THAT(error_of(ErrorKind::data, [&] { read_archive(packed.substr(0, 7000), "f", all); }),
              HasSubstr("damaged"));
  EXPECT_THAT(error_of(ErrorKind::data, [] { read_archive("no archive at all", "f", all); }),
              HasSubstr("f: no archive"));
}

INSTANTIATE_TEST_SUITE_P(Formats, Archives,
                         testing::Values(&archive_write_set_format_ustar,
                                         &archive_write_set_format_zip));

constexpr const char* kVoc =
    "<annotation><size><width>10</width><height>8</height><depth>3</depth></size>"
    "<object><name>cat</name><bndbox><xmin>1</xmin><ymin>2</ymin><xmax>10</xmax><ymax>7.5</ymax>"
    "</bndbox></object></annotation>";

std::string changed(const std::string& from, const std::string& to) {
  std::string text = kVoc;
  return text.replace(text.find(from), from.size(), to);
}

TEST(Voc, ReadsBoxes) {
  const VocPicture picture = parse_voc(kVoc, "f");
  EXPECT_EQ(picture.width, 10);
  EXPECT_EQ(picture.height, 8);
  ASSERT_EQ(picture.objects.size(), 1u);
  const VocObject& object = picture.objects[0];
  EXPECT_EQ(object.name, "cat");
  EXPECT_EQ(object.x_min, 1);
  EXPECT_EQ(object.y_min, 2);
  EXPECT_EQ(object.x_max, 10);
  EXPECT_EQ(object.y_max, 7.5f);
}

TEST(Voc, RefusesWhatIsWrong) {
  const auto error = [](const std::string& text) {
    return error_of(ErrorKind::data, [&] { parse_voc(text, "f.xml"); });
  };
  EXPECT_THAT(error("<annotation><size>"), HasSubstr("f.xml: byte "));
  EXPECT_THAT(error("<picture/>"), HasSubstr("no <annotation>"));
  EXPECT_THAT(error(changed("<depth>3</depth></size>", "</size><x>")), HasSubstr("f.xml: byte "));
  EXPECT_THAT(error(changed("<width>10</width>", "")), HasSubstr("<size> has no <width>"));
  EXPECT_THAT(error(changed("<width>10", "<width>1e9")), HasSubstr("<width> must be a whole"));
  EXPECT_THAT(error(changed("<ymax>7.5", "<ymax>high")), HasSubstr("<ymax> is \"high\""));
  EXPECT_THAT(error(changed("<xmax>10", "<xmax>11")), HasSubstr("a box of cat does not lie in"));
  EXPECT_THAT(error(changed("<xmin>1<", "<xmin>nan<")), HasSubstr("no number"));
}

}  // namespace
}  // namespace trireme::data
