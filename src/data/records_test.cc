// Record files and folders of pictures.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>

#include "base/checksum.h"
#include "base/file.h"
#include "base/testing/error.h"
#include "data/records.h"
#include "data/testing/files.h"
#include "data/testing/sequences.h"
#include "trireme/image.h"

namespace trireme::data {
namespace {

using ::testing::HasSubstr;

Dataset sample() {
  return from_tensors(
      {{"a name", Tensor::from<std::int64_t>({3, 2}, {1, -2, 3, 4, 5, 1LL << 40})},
       {"image", Tensor::from<float>({3, 1, 1, 2}, {0, 1, 51 / 255.0f, 7 / 255.0f, 0, 0})},
       {"raw", Tensor::from<float>({3, 1, 1, 1}, {0.1f, -0.0f, 3})},
       {"y", Tensor::from<double>({3}, {0.1, 1e300, -1})}},
      {"one class", "100%"});
}

void expect_same(const Dataset& a, const Dataset& b) {
  ASSERT_EQ(a.size(), b.size());
  ASSERT_EQ(a.columns().size(), b.columns().size());
  EXPECT_EQ(a.class_names(), b.class_names());
  for (std::size_t c = 0; c < a.columns().size(); ++c) {
    EXPECT_EQ(a.columns()[c].name, b.columns()[c].name);
    EXPECT_EQ(a.columns()[c].ids, b.columns()[c].ids);
    EXPECT_EQ(a.columns()[c].words, b.columns()[c].words);
  }
  const Batch left = a.all();
  const Batch right = b.all();
  for (const auto& [name, tensor] : left) EXPECT_TRUE(equal(tensor, right.at(name))) << name;
}

// Another process may write to a file that is in use.
TEST(Records, AFileThatIsShortenedIsAnError) {
  const TestDirectory directory;
  const std::string path = directory.path() + "/a.trec";
  std::vector<float> values(1 << 16);
  write_records(path, from_tensors({{"x", Tensor::from<float>({16, 1 << 12}, values)},
                                    {"y", Tensor::from<float>({16}, std::vector<float>(16))}}));
  const Dataset dataset = records(path);
  EXPECT_EQ(dataset.rows(15, 16).at("y").elements(), 1);
  std::filesystem::resize_file(path, 4096);
  EXPECT_THAT(error_of([&] { dataset.rows(15, 16); }),
              HasSubstr("a.trec: it was shortened while it was in use"));
}

// Damage of the index after it was checked.
TEST(Records, AnIndexThatChangesIsAnError) {
  const TestDirectory directory;
  const std::string path = directory.path() + "/a.trec";
  write_records(path, sample());
  const Dataset dataset = records(path);
  const std::string whole = read_file(path);
  for (const char byte : {'\xff', '\x7f', '\0'}) {
    std::string damaged = whole;
    damaged.replace(whole.size() - kRecordsFooter - 24, 16, std::string(16, byte));
    std::ofstream(path, std::ios::binary) << damaged;
    EXPECT_THAT(error_of([&] { dataset.all(); }), HasSubstr("damaged"));
  }
}

// In a container every process may have the number 1, so a killed one had ours.
TEST(Records, AStaleTemporaryFileIsRemoved) {
  const TestDirectory directory;
  const std::string path = directory.path() + "/a.trec";
  std::ofstream(path + ".tmp." + std::to_string(::getpid())) << "of a killed process";
  write_records(path, sample());
  expect_same(records(path), sample());
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(directory.path()), {}), 1);
}

TEST(Records, GiveBackWhatWasWritten) {
  const TestDirectory directory;
  const std::string path = directory.path() + "/a.trec";
  write_records(path, sample());
  const Dataset read = records(path);
  expect_same(read, sample());
  const std::int64_t rows[] = {2, 0, 2};
  EXPECT_TRUE(equal(read.gather(rows).at("y"), Tensor::from<double>({3}, {-1, 0.1, -1})));
  // The picture takes a byte a value, since all are n / 255; "raw" does not.
  const std::string file = read_file(path);
  EXPECT_THAT(file, HasSubstr("column image f32 u8 1 1 2\n"));
  EXPECT_THAT(file, HasSubstr("column raw f32 f32 1 1 1\n"));
  // Ids and words are kept; more examples than are in memory at a time.
  std::string text = "w,y\n";
  for (int i = 0; i < 600; ++i) text += (i % 3 == 0 ? "x y," : "%,") + std::to_string(i) + "\n";
  const Dataset table = csv(directory.write("t.csv", text), {.categories = {"w"}});
  write_records(path, table);
  expect_same(records(path), table);
  for (const auto& entry : std::filesystem::directory_iterator(directory.path())) {
    EXPECT_EQ(entry.path().string().find(".tmp"), std::string::npos);
  }
}

TEST(Records, NoticeEveryFlippedBitAndEveryCut) {
  const TestDirectory directory;
  const std::string path = directory.path() + "/a.trec";
  write_records(path, sample());
  const std::string file = read_file(path);
  const auto read = [](const std::string& bytes) {
    return error_of([&] { parse_records(RandomAccess(Blob::own(bytes)), "f").all(); });
  };
  EXPECT_EQ(read(file), "no error");
  for (std::size_t i = 0; i < file.size(); ++i) {
    std::string damaged = file;
    damaged[i] = static_cast<char>(damaged[i] ^ (1 << (i % 8)));
    EXPECT_THAT(read(damaged), HasSubstr("f: ")) << i;
    EXPECT_THAT(read(file.substr(0, i)), HasSubstr("f: ")) << i;
  }
  EXPECT_THAT(read(file + "x"), HasSubstr("f: cut short"));
  std::string newer = file;
  newer[8] = 9;
  EXPECT_THAT(read(newer), HasSubstr("version 9; this program reads versions 1 to 2"));
  std::string record = file;
  const std::size_t last = file.size() - kRecordsFooter - 4 * 8 - 1;
  record[last] = static_cast<char>(record[last] ^ 1);
  EXPECT_THAT(read(record), HasSubstr("the checksum of record 2 at byte"));
}

TEST(Records, LeaveAnEarlierFileWhereWritingFails) {
  const TestDirectory directory;
  const std::string path = directory.path() + "/a.trec";
  write_records(path, sample());
  const std::string before = read_file(path);
  int calls = 0;
  const Dataset failing = sample().map([&](Batch batch) {
    if (++calls > 2) throw std::runtime_error("cannot read on");
    return batch;
  });
  EXPECT_THROW(write_records(path, failing), std::runtime_error);
  EXPECT_EQ(read_file(path), before);
  EXPECT_THAT(error_of([&] { write_records(path, sample().take(0)); }), HasSubstr("is empty"));
  EXPECT_THAT(error_of([&] { write_records(directory.path() + "/no/a.trec", sample()); }),
              HasSubstr("nothing was changed"));
  EXPECT_THAT(error_of([&] { records(directory.path() + "/none.trec"); }), HasSubstr("none.trec"));
  EXPECT_THAT(error_of([&] { records(directory.write("b.trec", "text")); }),
              HasSubstr("not a record file"));
}

TEST(Records, HoldSequences) {
  const TestDirectory directory;
  const std::string path = directory.path() + "/a.trec";
  const Dataset data = sequences(300);
  write_records(path, data);
  const Dataset read = records(path);
  expect_same(read, data);
  for (const Column& column : data.columns()) {
    EXPECT_EQ(read.column(column.name).levels, column.levels) << column.name;
    EXPECT_EQ(read.column(column.name).shape, column.shape) << column.name;
  }
  const std::string file = read_file(path);
  EXPECT_EQ(file[8], 2);
  EXPECT_THAT(file, HasSubstr("column tree f32 f32 2\nlevels 2\n"));
  const std::int64_t rows[] = {7, 0, 299, 7};
  const Batch got = read.gather(rows), expected = data.gather(rows);
  for (const auto& [name, tensor] : expected) EXPECT_TRUE(equal(got.at(name), tensor)) << name;
  EXPECT_EQ(read.lengths("words", rows), data.lengths("words", rows));
  // Nothing is padded: the prefix, the header, 16 bytes a record for checksum and place, the last
  // place, the footer, ids, words, and two floats for each row of a tree; and all lengths.
  std::size_t branches = 0, leaves = 0, words = 0;
  const std::vector<std::int64_t> lengths = lengths_of(300);
  for (std::size_t i = 0; i < 300; ++i) {
    branches += i % 3, leaves += 2 * (i % 3), words += static_cast<std::size_t>(lengths[i]);
  }
  std::uint32_t text = 0;
  std::memcpy(&text, file.data() + 12, sizeof text);
  EXPECT_EQ(file.size(), kRecordsPrefix + text + 300 * 16 + 8 + kRecordsFooter + 300 * 8 +
                             (300 + words) * 8 + (300 + branches) * 8 + leaves * 8);
}

TEST(Records, NoticeEveryFlippedBitOfSequences) {
  const TestDirectory directory;
  const std::string path = directory.path() + "/a.trec";
  write_records(path, sequences(3));
  const std::string file = read_file(path);
  const auto read = [](const std::string& bytes) {
    return error_of([&] { parse_records(RandomAccess(Blob::own(bytes)), "f").all(); });
  };
  EXPECT_EQ(read(file), "no error");
  for (std::size_t i = 0; i < file.size(); ++i) {
    std::string damaged = file;
    damaged[i] = static_cast<char>(damaged[i] ^ (1 << (i % 8)));
    EXPECT_THAT(read(damaged), HasSubstr("f: ")) << i;
    EXPECT_THAT(read(file.substr(0, i)), HasSubstr("f: ")) << i;
  }
  std::string older = file;
  older[8] = 1;
  EXPECT_THAT(read(older), HasSubstr("version 1 has no ragged columns"));
}

// A file of version 2 with one record, whose checksums are right.
std::string with_record(const std::string& header, const std::string& payload) {
  const auto number = [](std::uint64_t value, std::size_t bytes = 8) {
    return std::string(reinterpret_cast<const char*>(&value), bytes);
  };
  std::string file(kRecordsMagic);
  file += number(2, 4) + number(header.size(), 4) + number(hash64(header)) + header;
  const std::size_t first = file.size();
  file += number(hash64(payload)) + payload;
  const std::string table = number(first) + number(file.size());
  const std::string end = number(file.size()) + number(1) + number(hash64(table));
  return file + table + end + std::string(kRecordsEnd);
}

TEST(Records, RefuseLengthsThatCannotBe) {
  const auto read = [](const std::string& header, const std::vector<std::int64_t>& numbers) {
    const std::string payload(reinterpret_cast<const char*>(numbers.data()), numbers.size() * 8);
    return error_of(ErrorKind::data, [&] {
      parse_records(RandomAccess(Blob::own(with_record(header, payload))), "f").all();
    });
  };
  const std::string one = "column x i64 i64\nlevels 1\n", two = "column x i64 i64\nlevels 2\n";
  const std::string none = "column x i64 i64 0\nlevels 1\n";
  EXPECT_EQ(read(one, {0}), "no error");
  EXPECT_EQ(read(one, {2, 5, 6}), "no error");
  EXPECT_EQ(read(two, {2, 1, 1, 5, 6}), "no error");
  EXPECT_EQ(read(none, {1000}), "no error");
  const std::int64_t huge = std::int64_t{1} << 61;
  for (const std::vector<std::int64_t>& numbers :
       std::vector<std::vector<std::int64_t>>{{3, 5, 6}, {1, 5, 6}, {-1, 5}, {huge, 5}}) {
    EXPECT_THAT(read(one, numbers), HasSubstr("f: damaged: the lengths in record 0 at byte"));
  }
  for (const std::vector<std::int64_t>& numbers : std::vector<std::vector<std::int64_t>>{
           {2, 1, 2, 5, 6}, {2, -1, 3, 5, 6}, {5, 1, 1}, {2, huge, huge, 5}, {-1}, {huge}}) {
    EXPECT_THAT(read(two, numbers), HasSubstr("f: damaged: the lengths in record 0 at byte"));
  }
  EXPECT_THAT(read(none, {huge}), HasSubstr("the lengths in record 0"));
  EXPECT_THAT(read("column x i64 i64\nlevels 0\n", {0}), HasSubstr("1 to 16 levels"));
  EXPECT_THAT(read("column x i64 i64\nlevels 17\n", {0}), HasSubstr("1 to 16 levels"));
  EXPECT_THAT(read("column x f32 u8\nlevels 1\n", {0}), HasSubstr("stored as another dtype"));
  EXPECT_THAT(read("levels 1\n", {0}), HasSubstr("not known here"));
  EXPECT_THAT(read("column x.splits i64 i64\n", {0}), HasSubstr("as the splits of another"));
}

void save(const TestDirectory& directory, const std::string& name, std::int64_t height,
          std::int64_t width, int shade) {
  const std::string path = directory.path() + "/" + name;
  make_directories(std::filesystem::path(path).parent_path().string());
  Tensor picture(u8, {height, width, 3});
  std::fill_n(picture.data<std::uint8_t>(), picture.elements(), static_cast<std::uint8_t>(shade));
  image::save_png(path, picture);
}

TEST(ImageFolder, MakesAClassOfEverySubfolder) {
  const TestDirectory directory;
  save(directory, "dog/b.png", 2, 3, 51);
  save(directory, "dog/a.PNG", 2, 3, 102);
  save(directory, "cat/x.png", 2, 3, 255);
  directory.write("dog/notes.txt", "no picture");
  directory.write("readme", "");
  const Dataset data = image_folder(directory.path());
  EXPECT_EQ(data.class_names(), (std::vector<std::string>{"cat", "dog"}));
  const Batch batch = data.all();
  EXPECT_EQ(batch.at("image").type_str(), "f32[3, 3, 2, 3]");
  EXPECT_TRUE(equal(batch.at("label"), Tensor::from<std::int64_t>({3}, {0, 1, 1})));
  EXPECT_FLOAT_EQ(batch.at("image").data<float>()[18], 0.4f);
  EXPECT_EQ(image_folder(directory.path(), {.channels = 1}).column("image").shape[0], 1);
}

TEST(ImageFolder, NamesThePictureThatDoesNotFit) {
  const TestDirectory directory;
  save(directory, "a/1.png", 4, 4, 1);
  save(directory, "a/2.png", 4, 5, 1);
  const Dataset mixed = image_folder(directory.path());
  EXPECT_THAT(error_of([&] { mixed.all(); }), HasSubstr("a/2.png: the picture has 5 x 4 pixels"));
  EXPECT_EQ(image_folder(directory.path(), {.height = 2, .width = 3}).all().at("image").type_str(),
            "f32[2, 3, 2, 3]");
  directory.write("a/3.png", "no png");
  EXPECT_THAT(error_of([&] { image_folder(directory.path(), {.height = 2, .width = 3}).all(); }),
              HasSubstr("a/3.png"));
  const TestDirectory empty;
  EXPECT_THAT(error_of([&] { image_folder(empty.path()); }), HasSubstr("no pictures"));
  EXPECT_THAT(error_of([&] { image_folder(empty.path() + "/none"); }), HasSubstr("cannot list"));
  EXPECT_THAT(error_of([&] { image_folder(empty.path(), {.height = 2}); }), HasSubstr("resize"));
}

}  // namespace
}  // namespace trireme::data
