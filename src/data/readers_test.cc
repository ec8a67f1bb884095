// IDX, CSV and packed files: what is right is read, what is damaged is refused with its place.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zlib.h>
#include <zstd.h>

#include <filesystem>
#include <fstream>

#include "base/file.h"
#include "base/testing/error.h"
#include "data/blob.h"
#include "data/csv.h"
#include "data/idx.h"
#include "data/libsvm.h"
#include "data/table.h"
#include "data/testing/files.h"

namespace trireme::data {
namespace {

using ::testing::HasSubstr;

std::string bytes(std::initializer_list<int> values) {
  std::string text;
  for (const int value : values) text += static_cast<char>(value);
  return text;
}

std::string gzip(const std::string& content) {
  z_stream stream{};
  deflateInit2(&stream, 6, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY);
  std::string packed(compressBound(content.size()) + 64, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(content.data()));
  stream.avail_in = static_cast<uInt>(content.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  deflate(&stream, Z_FINISH);
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  return packed;
}

std::string zstd(const std::string& content) {
  std::string packed(ZSTD_compressBound(content.size()), '\0');
  packed.resize(ZSTD_compress(packed.data(), packed.size(), content.data(), content.size(), 3));
  return packed;
}

std::string noise(std::size_t size, std::uint32_t seed = 1) {
  std::string text;
  std::uint32_t state = seed;
  while (text.size() < size) {
    state = state * 1664525u + 1013904223u;
    text += static_cast<char>(state >> 24);
  }
  return text;
}

TEST(Decompress, ReadsBothFormatsInSeveralParts) {
  const std::string a = noise(200000);
  const std::string b(300000, 'b');
  constexpr std::size_t limit = 1 << 20;
  EXPECT_EQ(decompress(gzip(a) + gzip(b), "x", limit), a + b);
  EXPECT_EQ(decompress(zstd(a) + zstd(b), "x", limit), a + b);
  EXPECT_EQ(decompress(gzip(""), "x", limit), "");
  EXPECT_EQ(decompress("plain", "x", limit), "plain");
  EXPECT_THAT(error_of([&] { decompress(gzip(b), "x.gz", 1000); }), HasSubstr("limit of 1000"));
  EXPECT_THAT(error_of([&] { decompress(zstd(b), "x.zst", 1000); }), HasSubstr("limit of 1000"));
}

TEST(Decompress, RefusesEveryTruncation) {
  const std::string content = noise(300) + std::string(300, 'c');
  for (const std::string& packed : {gzip(content), zstd(content)}) {
    for (std::size_t size = 4; size < packed.size(); ++size) {
      EXPECT_THAT(error_of([&] { decompress(packed.substr(0, size), "f", 1 << 20); }),
                  HasSubstr("f: damaged"))
          << size;
    }
  }
  std::string flipped = gzip(content);
  flipped[100] = static_cast<char>(flipped[100] ^ 0x10);
  EXPECT_THAT(error_of([&] { decompress(flipped, "f", 1 << 20); }), HasSubstr("f: damaged gzip"));
}

TEST(Idx, ReadsEveryType) {
  const auto read = [](std::string content) {
    return idx_tensor(parse_idx(Blob::own(std::move(content)), "f"));
  };
  EXPECT_TRUE(equal(read(bytes({0, 0, 8, 2, 0, 0, 0, 2, 0, 0, 0, 1, 7, 200})),
                    Tensor::from<std::uint8_t>({2, 1}, {7, 200})));
  EXPECT_TRUE(
      equal(read(bytes({0, 0, 9, 1, 0, 0, 0, 1, 0xff})), Tensor::from<std::int32_t>({1}, {-1})));
  EXPECT_TRUE(equal(read(bytes({0, 0, 11, 1, 0, 0, 0, 1, 0xff, 0xfe})),
                    Tensor::from<std::int32_t>({1}, {-2})));
  EXPECT_TRUE(equal(read(bytes({0, 0, 12, 1, 0, 0, 0, 1, 0, 0, 1, 2})),
                    Tensor::from<std::int32_t>({1}, {258})));
  EXPECT_TRUE(equal(read(bytes({0, 0, 13, 1, 0, 0, 0, 1, 0x3f, 0xc0, 0, 0})),
                    Tensor::from<float>({1}, {1.5f})));
  EXPECT_TRUE(equal(read(bytes({0, 0, 14, 0, 0xc0, 0, 0, 0, 0, 0, 0, 0})), Tensor::scalar(-2.0)));
  EXPECT_EQ(read(bytes({0, 0, 8, 2, 0, 0, 0, 0, 0, 0, 0, 9})).type_str(), "u8[0, 9]");
}

TEST(Idx, NamesFileAndByteOfDamage) {
  const auto read = [](std::string content) {
    return error_of([&] { parse_idx(Blob::own(std::move(content)), "some/file"); });
  };
  EXPECT_THAT(read(""), HasSubstr("some/file: not an IDX file"));
  EXPECT_THAT(read("\x7f"
                   "ELF...."),
              HasSubstr("bytes 0 and 1"));
  EXPECT_THAT(read(bytes({0, 0, 3, 1, 0, 0, 0, 1, 0})), HasSubstr("type 3 at byte 2"));
  EXPECT_THAT(read(bytes({0, 0, 8, 2, 0, 0, 0, 1})), HasSubstr("file ends at byte 8"));
  EXPECT_THAT(read(bytes({0, 0, 8, 1, 0, 0, 0, 5, 1, 2})), HasSubstr("cut short"));
  EXPECT_THAT(read(bytes({0, 0, 8, 1, 0, 0, 0, 1, 1, 2})), HasSubstr("after its end"));
  const int f = 0xff;
  EXPECT_THAT(read(bytes({0, 0, 8, 3, f, f, f, f, f, f, f, f, f, f, f, f, 1})),
              HasSubstr("more than 2^64"));
}

TEST(Idx, ChecksImagesAgainstLabels) {
  const TestDirectory directory;
  const TestVariable cache("TRIREME_CACHE_DIR", directory.path() + "/cache");
  const std::string images = directory.write(
      "images.gz", gzip(bytes({0, 0, 8, 3, 0, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0, 2, 0, 255, 51, 102})));
  const auto labels = [&](std::initializer_list<int> values) {
    std::string content = bytes({0, 0, 8, 1, 0, 0, 0, static_cast<int>(values.size())});
    return directory.write("labels", content + bytes(values));
  };
  const Dataset data = idx_images(images, labels({3, 0}), {.classes = 4});
  const Batch batch = data.all();
  EXPECT_TRUE(equal(batch.at("image"),
                    Tensor::from<float>({2, 1, 1, 2}, {0.0f, 1.0f, 51 / 255.0f, 102 / 255.0f})));
  EXPECT_TRUE(equal(batch.at("label"), Tensor::from<std::int64_t>({2}, {3, 0})));
  EXPECT_THAT(error_of([&] { idx_images(images, labels({3, 0}), {.classes = 3}); }),
              HasSubstr("labels: row 0 has label 3, labels are 0 to 2"));
  EXPECT_THAT(error_of([&] { idx_images(images, labels({3})); }), HasSubstr("has 1 labels"));
  EXPECT_THAT(error_of([&] { idx_images(directory.path() + "/none", labels({3})); }),
              HasSubstr("none"));
}

TEST(Blob, KeepsWhatItUnpackedAndMapsIt) {
  const TestDirectory directory;
  const std::string cache_path = directory.path() + "/cache";
  const TestVariable cache("TRIREME_CACHE_DIR", cache_path);
  const std::string content = noise(100000) + std::string(5000, 'x');
  const std::string path = directory.write("file.gz", gzip(content));
  EXPECT_EQ(read_blob_cached(path).bytes, content);
  std::string kept;
  for (const auto& entry : std::filesystem::directory_iterator(cache_path + "/data")) {
    EXPECT_EQ(kept, "") << "more than one file";
    kept = entry.path().string();
  }
  // The second read comes from the kept file: a mark made in it is seen.
  std::string marked = read_file(kept);
  marked[5] = static_cast<char>(marked[5] ^ 1);
  write_file_atomically(kept, marked);
  EXPECT_NE(read_blob_cached(path).bytes, content);
  // A kept file that is not whole is not used.
  write_file_atomically(kept, marked.substr(0, 50000));
  EXPECT_EQ(read_blob_cached(path).bytes, content);
  // A packed file that changed is read again.
  directory.write("file.gz", gzip("other"));
  EXPECT_EQ(read_blob_cached(path).bytes, "other");
}

// Its size and its time are those of the file before.
TEST(Blob, AChangedFileIsReadAgainWhateverItsTime) {
  const TestDirectory directory;
  const TestVariable cache("TRIREME_CACHE_DIR", directory.path() + "/cache");
  const std::string path = directory.write("file.gz", gzip(noise(20000, 1)));
  const auto time = std::filesystem::last_write_time(path);
  EXPECT_EQ(read_blob_cached(path).bytes, noise(20000, 1));
  const auto size = std::filesystem::file_size(path);
  for (const bool in_place : {true, false}) {
    const std::string content = noise(20000, in_place ? 2 : 3), packed = gzip(content);
    ASSERT_EQ(packed.size(), size);
    if (in_place) std::ofstream(path, std::ios::binary) << packed;
    else write_file_atomically(path, packed);
    std::filesystem::last_write_time(path, time);
    EXPECT_EQ(read_blob_cached(path).bytes, content);
    EXPECT_EQ(read_blob_cached(path).bytes, content) << "from the cache";
  }
  EXPECT_EQ(
      std::distance(std::filesystem::directory_iterator(directory.path() + "/cache/data"), {}), 1)
      << "the kept content of the earlier files is gone";
}

TEST(Blob, UnpacksUpToALimitThatCanBeRaised) {
  const TestDirectory directory;
  const std::string path = directory.write("file.gz", gzip(std::string(100000, 'x')));
  {
    const TestVariable limit("TRIREME_MAX_FILE_BYTES", "99999");
    EXPECT_THAT(error_of([&] { read_blob(path); }), HasSubstr("limit of 99999"));
    EXPECT_THAT(error_of([&] { read_blob(path); }), HasSubstr("set TRIREME_MAX_FILE_BYTES"));
  }
  const TestVariable limit("TRIREME_MAX_FILE_BYTES", "100000");
  EXPECT_EQ(read_blob(path).bytes.size(), 100000u);
}

TEST(Blob, WorksWithoutACache) {
  const TestDirectory directory;
  const std::string path = directory.write("file.gz", gzip("content"));
  const std::string blocked = directory.write("blocked", "");
  const TestVariable cache("TRIREME_CACHE_DIR", blocked);  // a file: no directory can be made
  EXPECT_EQ(read_blob_cached(path).bytes, "content");
}

TEST(Csv, ReadsQuotesBlanksAndLineEnds) {
  const CsvTable table = parse_csv(
      "\xef\xbb\xbf"
      "a, b ,\"c,\"\"x\"\r\n1,two,\"l1\nl2\"\r\n\n-2e1,,z",
      "t");
  EXPECT_EQ(table.header, (std::vector<std::string>{"a", "b", "c,\"x"}));
  EXPECT_EQ(table.columns[1].words(), (std::vector<std::string>{"two", ""}));
  EXPECT_EQ(table.columns[2].words(), (std::vector<std::string>{"l1\nl2", "z"}));
  EXPECT_EQ(table.numbers(0), (std::vector<double>{1, -20}));
  EXPECT_EQ(table.lines, (std::vector<int>{2, 5}));
  const CsvTable bare = parse_csv("skip me\n1;2\n3;4\n", "t", {';', false, 1});
  EXPECT_EQ(bare.header, (std::vector<std::string>{"0", "1"}));
  EXPECT_EQ(bare.numbers(1), (std::vector<double>{2, 4}));
  EXPECT_EQ(parse_csv("a,b\n1,\n", "t").columns[1].words(), std::vector<std::string>{""});
}

// A row of separators is a row of empty cells.
TEST(Csv, EmptyCellsTakeLittleMemory) {
  std::string text = "a,b,c,d\n";
  for (int i = 0; i < 1000; ++i) text += ",,,\n";
  const CsvTable table = parse_csv(text, "t");
  EXPECT_EQ(table.columns[3].size(), 1000u);
  EXPECT_EQ(table.columns[3][999], "");
  EXPECT_LE(sizeof(table.columns[3][0]), 16u) << "a view";
}

TEST(Csv, FillsOfMissingIntegers) {
  const auto load = [](double fill) {
    return error_of([&] {
      table_from_csv("n,y\n,1\n2,3\n", "t.csv",
                     {.integers = {"n"}, .missing = Missing::constant, .missing_value = fill});
    });
  };
  EXPECT_EQ(load(-7), "no error");
  for (const double fill : {1e300, -1e300, 9223372036854775808.0}) {
    EXPECT_THAT(load(fill), HasSubstr("t.csv:2: column \"n\": missing value, and")) << fill;
  }
}

TEST(Csv, NamesTheLineOfAMistake) {
  const auto load = [](const std::string& text) {
    return error_of([&] { table_from_csv(text, "t.csv", {}); });
  };
  EXPECT_THAT(load("a,b\n1,2\n3\n"), HasSubstr("t.csv:3: 1 cells"));
  EXPECT_THAT(load("a,b\n1,2\n3,x\n"), HasSubstr("t.csv:3: column \"b\": \"x\" is not a number"));
  EXPECT_THAT(load("a,b\n1,2\n,4\n"), HasSubstr("t.csv:3: column \"a\": missing value"));
  EXPECT_THAT(load("a,b\n1,nan\n"), HasSubstr("is not a number"));
  EXPECT_THAT(load("a,b\n1,\"2\n3,4\n"), HasSubstr("t.csv:2: a quote is not closed"));
  EXPECT_THAT(load("a,b\n1,\"2\"3\n"), HasSubstr("t.csv:2: text after a closing quote"));
  EXPECT_THAT(load(""), HasSubstr("no rows"));
  EXPECT_THAT(load("a,b\n"), HasSubstr("a header, but no rows"));
  EXPECT_THAT(error_of([] { table_from_csv("alpha,beta\n1,2\n", "t", {.target = "bet"}); }),
              HasSubstr("did you mean \"beta\"?"));
}

TEST(Csv, LinesOfBlanksAreNoRows) {
  for (const char* text :
       {"a,y\n1,1\n2,2\n   \n", "a,y\n\n1,1\n \t \n2,2", "\n \na,y\n1,1\n2,2\n\n\n"}) {
    EXPECT_EQ(parse_csv(text, "t").numbers(1), (std::vector<double>{1, 2})) << text;
  }
  EXPECT_EQ(parse_csv("a\tb\n\t\n", "t", {.separator = '\t'}).rows(), 1u)
      << "separators are no blanks";
}

TEST(Csv, LinesEndWithCarriageReturnsToo) {
  const CsvTable table = parse_csv("a,y\r1,2\r\r3,\"4\"\r", "t");
  EXPECT_EQ(table.numbers(1), (std::vector<double>{2, 4}));
  EXPECT_EQ(table.lines, (std::vector<int>{2, 4}));
  EXPECT_EQ(parse_csv("a,b\r\n1,\r\n", "t").columns[1].words(), std::vector<std::string>{""});
  EXPECT_THAT(error_of([] { table_from_csv("a,y\r1,2\r3\r", "t", {}); }),
              HasSubstr("t:3: 1 cells"));
}

TEST(Csv, TwoColumnsOfOneNameAreAnError) {
  EXPECT_THAT(error_of(ErrorKind::data, [] { table_from_csv("a,a,y\n1,10,1\n", "t", {}); }),
              HasSubstr("t:1: two columns have the name \"a\""));
  EXPECT_EQ(parse_csv("x,x\n1,2\n", "t", {.header = false, .skip_lines = 1}).header,
            (std::vector<std::string>{"0", "1"}));
}

TEST(Csv, QuotesMayFollowBlanks) {
  const std::string text = "a, b,y\n1, \"x, z\" ,1\n2, \"w\",2\n";
  EXPECT_EQ(parse_csv(text, "t", {.skip_initial_space = true}).columns[1].words(),
            (std::vector<std::string>{"x, z", "w"}));
  EXPECT_THAT(error_of([&] { parse_csv(text, "t"); }), HasSubstr("set skip_initial_space"));
}

TEST(Csv, NumbersOfOtherCountries) {
  const CsvTable thousands =
      parse_csv("a,y\n\"1,234\",1\n\"-2,345,678.5\",2\n", "t", {.thousands = ','});
  EXPECT_EQ(thousands.numbers(0), (std::vector<double>{1234, -2345678.5}));
  const CsvTable comma =
      parse_csv("a;y\n1,5;1\n-2,5e1;2\n", "t", {.separator = ';', .decimal = ','});
  EXPECT_EQ(comma.numbers(0), (std::vector<double>{1.5, -25}));
  const CsvTable both =
      parse_csv("a;y\n1.234,5;1\n", "t", {.separator = ';', .decimal = ',', .thousands = '.'});
  EXPECT_EQ(both.numbers(0), std::vector<double>{1234.5});
  for (const char* wrong : {"1.5", ",1.5", "1,,5", "1,5,", "1,x"}) {
    const CsvTable table = parse_csv("a;y\n" + std::string(wrong) + ";1\n", "t",
                                     {.separator = ';', .decimal = '_', .thousands = ','});
    EXPECT_THAT(error_of(ErrorKind::data, [&] { table.numbers(0); }), HasSubstr("is not a number"))
        << wrong;
  }
  EXPECT_THAT(error_of(ErrorKind::usage, [] { parse_csv("a,y\n1,2\n", "t", {.decimal = ','}); }),
              HasSubstr("also separates"));
  const Batch whole =
      table_from_csv("a,y\n\"1,234\",\"5,000\"\n", "t", {.thousands = ',', .integers = {"a"}})
          .all();
  EXPECT_EQ(whole.at("a").item<std::int64_t>(), 1234);
  EXPECT_EQ(whole.at("target").item<float>(), 5000);
}

TEST(Csv, NumbersBeyondF32AreErrors) {
  EXPECT_THAT(error_of(ErrorKind::data, [] { table_from_csv("a,y\n1e39,1\n2,2\n", "t", {}); }),
              HasSubstr("t:2: column \"a\": \"1e39\" is too large for f32"));
  EXPECT_THAT(error_of(ErrorKind::data, [] { table_from_csv("a,y\n1,1\n2,-1e39\n", "t", {}); }),
              HasSubstr("t:3: column \"y\""));
  const Batch scaled = table_from_csv("a,y\n1e39,1\n3e39,2\n", "t", {.standardize = true}).all();
  EXPECT_TRUE(equal(scaled.at("features"), Tensor::from<float>({2, 1}, {-1, 1})));
}

TEST(Csv, AColumnOfEqualNumbersIsStandardizedToZero) {
  std::string text = "a,b,y\n";
  for (int i = 1; i <= 10; ++i) text += "0.1,1e300," + std::to_string(i) + "\n";
  const Batch batch = table_from_csv(text, "t", {.standardize = true}).all();
  EXPECT_THAT(batch.at("features").to_vector<float>(), ::testing::Each(0.0f));
}

TEST(TextFiles, ByteOrderMarksAreNoContent) {
  const std::string mark = "\xef\xbb\xbf";
  const Batch sparse = libsvm_from_text(mark + "1 0:1.5 1:2\n0 0:1 1:3\n", "t", {}).all();
  EXPECT_THAT(sparse.at("target").to_vector<float>(), ::testing::ElementsAre(1, 0));
  EXPECT_EQ(parse_csv(mark + "a,y\n1,2\n", "t").header[0], "a");
}

TEST(Csv, MakesFeaturesAndTarget) {
  const Batch batch = table_from_csv("price,color,size\n10,red,1\n20,blue,3\n", "t",
                                     {.target = "price", .one_hot = {"color"}})
                          .all();
  EXPECT_TRUE(equal(batch.at("features"), Tensor::from<float>({2, 3}, {0, 1, 1, 1, 0, 3})));
  EXPECT_TRUE(equal(batch.at("target"), Tensor::from<float>({2, 1}, {10, 20})));
  const Batch scaled = table_from_csv("a,b,y\n1,5,0\n3,5,1\n", "t", {.standardize = true}).all();
  EXPECT_TRUE(equal(scaled.at("features"), Tensor::from<float>({2, 2}, {-1, 0, 1, 0})));
}

constexpr const char* kTyped =
    "age,job,sex,score,income\n30,cook,m,1.5,low\n?,smith,f,?,high\n50,?,m,2.5,low\n";

CsvOptions typed() {
  return {.categories = {"job"},
          .integers = {"age"},
          .classes = true,
          .missing = Missing::constant,
          .missing_value = -1,
          .missing_word = "?"};
}

TEST(Csv, MakesTypedColumns) {
  CsvOptions options = typed();
  options.one_hot = {"sex"};
  const Dataset data = table_from_csv(kTyped, "t", options);
  const Batch batch = data.all();
  EXPECT_TRUE(equal(batch.at("age"), Tensor::from<std::int64_t>({3}, {30, -1, 50})));
  EXPECT_TRUE(equal(batch.at("job"), Tensor::from<std::int64_t>({3}, {1, 2, 0})));
  EXPECT_TRUE(
      equal(batch.at("features"), Tensor::from<float>({3, 3}, {0, 1, 1.5f, 1, 0, -1, 0, 1, 2.5f})));
  EXPECT_TRUE(equal(batch.at("label"), Tensor::from<std::int64_t>({3}, {1, 0, 1})));
  EXPECT_EQ(data.class_names(), (std::vector<std::string>{"high", "low"}));
  EXPECT_EQ(data.column("job").ids, 3);
  EXPECT_EQ(data.column("job").words, (std::vector<std::string>{"", "cook", "smith"}));
  // Passing through map() keeps what the ids mean.
  EXPECT_EQ(data.map([](Batch b) { return b; }).column("job").ids, 3);
}

// 300 rows of as many words: 720,000 bytes of zeros and ones.
TEST(Csv, TooManyWordsForZerosAndOnesAreAnError) {
  std::string text = "id,y\n";
  for (int i = 0; i < 300; ++i) text += "w" + std::to_string(i) + ",1\n";
  const auto load = [&] { return table_from_csv(text, "t.csv", {.one_hot = {"id"}}); };
  EXPECT_EQ(load().all().at("features").shape(), (std::vector<std::int64_t>{300, 300}));
  const TestVariable limit("TRIREME_MAX_FILE_BYTES", "719999");
  const std::string message = error_of([&] { load(); });
  EXPECT_THAT(message, HasSubstr("column \"id\" has 300 different words in 300 rows"));
  EXPECT_THAT(message, HasSubstr("one of the categories"));
}

TEST(Csv, FillsMissingNumbersWithTheMean) {
  const Batch batch =
      table_from_csv("a,b,y\n1,,0\n3,4,1\n,8,2\n", "t", {.named = true, .missing = Missing::mean})
          .all();
  EXPECT_TRUE(equal(batch.at("a"), Tensor::from<float>({3, 1}, {1, 3, 2})));
  EXPECT_TRUE(equal(batch.at("b"), Tensor::from<float>({3, 1}, {6, 4, 8})));
  EXPECT_FALSE(batch.contains("features"));
}

TEST(Csv, FitsOneFileAndReadsAnother) {
  const TestDirectory directory;
  const std::string train = directory.write("train.csv", "x,w,y\n1,a,0\n3,b,1\n");
  const std::string test = directory.write("test.csv", "x,w,y\n5,b,0\n2,z,1\n");
  const Dataset data = csv(test, {.standardize = true, .categories = {"w"}, .fit = train});
  EXPECT_TRUE(equal(data.all().at("features"), Tensor::from<float>({2, 1}, {3, 0})));
  EXPECT_TRUE(equal(data.all().at("w"), Tensor::from<std::int64_t>({2}, {2, 0})));
  const std::string other = directory.write("other.csv", "x,y\n1,2\n");
  EXPECT_THAT(error_of([&] { csv(test, {.fit = other}); }), HasSubstr("are not those of"));
}

TEST(Csv, HintsAtTheOptionThatReadsACell) {
  const auto hint = [](const char* text) {
    return error_of([&] { table_from_csv(text, "t.csv", {}); });
  };
  EXPECT_THAT(hint("a,y\nN/A,1\n"), HasSubstr("set missing_word to it"));
  EXPECT_THAT(hint("a,y\nnan,1\n"), HasSubstr("set missing_word to it"));
  EXPECT_THAT(hint("a;y\n1;2\n"), HasSubstr("set separator to \";\""));
  EXPECT_THAT(hint("a\ty\n1\t2\n"), HasSubstr("set separator to \"\\t\""));
  EXPECT_THAT(hint("a,y\n\"1,5\",1\n"), HasSubstr("set decimal or thousands"));
  EXPECT_THAT(hint("a,y\n,1\n"), HasSubstr("set missing to a mean or a number"));
  EXPECT_TRUE(equal(table_from_csv("a,y\n1e-400,1\n", "t.csv", {}).all().at("features"),
                    Tensor::from<float>({1, 1}, {0})));
}

TEST(Csv, SaysWhatDoesNotFitTheTypes) {
  const auto load = [](const char* text, const CsvOptions& options) {
    return error_of([&] { table_from_csv(text, "t.csv", options); });
  };
  CsvOptions strict = typed();
  strict.missing = Missing::error;
  strict.one_hot = {"sex"};
  EXPECT_THAT(load(kTyped, strict), HasSubstr("t.csv:3: column \"score\": missing value"));
  EXPECT_THAT(load(kTyped, typed()),
              HasSubstr("column \"sex\": \"m\" is not a number\n  hint   a column"));
  EXPECT_THAT(load("a,y\n1.5,0\n", {.integers = {"a"}}), HasSubstr("not a whole number"));
  EXPECT_THAT(load("a,y\n,0\n", {.integers = {"a"}, .missing = Missing::mean}),
              HasSubstr("no mean"));
  EXPECT_THAT(load("a,y\n1,\n", {.missing = Missing::mean}),
              HasSubstr("column \"y\": missing value"));
  EXPECT_THAT(load("a,y\n1,\n", {.classes = true}), HasSubstr("column \"y\": missing value"));
  EXPECT_THAT(load("1,2\n", {.header = false, .names = {"a"}}), HasSubstr("1 names"));
  EXPECT_THAT(load("a,y\n1,2\n", {.names = {"a", "b"}}), HasSubstr("without header"));
  EXPECT_THAT(load("a,y\n1,2\n", {.categories = {"b"}}), HasSubstr("no column \"b\""));
  EXPECT_THAT(load("target,y\n1,2\n", {.categories = {"target"}}),
              HasSubstr("two columns are called \"target\""));
}

TEST(Libsvm, ReadsRowsOfEqualLength) {
  const Dataset data =
      libsvm_from_text("1 0:1 7:2.5\n\n-1 3:1e1 2:-1 # comment\r\n", "t", {.zero_one = true});
  const Batch batch = data.all();
  EXPECT_TRUE(equal(batch.at("ids"), Tensor::from<std::int64_t>({2, 2}, {0, 7, 3, 2})));
  EXPECT_TRUE(equal(batch.at("values"), Tensor::from<float>({2, 2}, {1, 2.5f, 10, -1})));
  EXPECT_TRUE(equal(batch.at("target"), Tensor::from<float>({2, 1}, {1, 0})));
  EXPECT_EQ(data.column("ids").ids, 8);
}

TEST(Libsvm, ReadsRankingGroups) {
  const Batch batch =
      libsvm_from_text("1 qid:1 0:1.5 1:2.0 # best\n0 qid:1 0:1 1:3\n2 qid:-7 0:1 1:3\n", "t", {})
          .all();
  EXPECT_TRUE(equal(batch.at("qid"), Tensor::from<std::int64_t>({3}, {1, 1, -7})));
  EXPECT_TRUE(equal(batch.at("values"), Tensor::from<float>({3, 2}, {1.5f, 2, 1, 3, 1, 3})));
  const auto load = [](const char* text) {
    return error_of([&] { libsvm_from_text(text, "t", {}); });
  };
  EXPECT_THAT(load("1 qid:1 0:1\n1 0:1\n"), HasSubstr("t:2: some rows have a qid"));
  EXPECT_THAT(load("1 0:1\n1 qid:1 0:1\n"), HasSubstr("t:2: some rows have a qid"));
  EXPECT_THAT(load("1 qid:x 0:1\n"), HasSubstr("\"qid:x\" is not a whole number"));
}

TEST(Libsvm, NamesTheLineOfAMistake) {
  const auto load = [](const char* text) {
    return error_of([&] { libsvm_from_text(text, "t.libfm", {.ids = 10}); });
  };
  EXPECT_THAT(load(""), HasSubstr("t.libfm: the file has no rows"));
  EXPECT_THAT(load("1\n2\n"), HasSubstr("no id:value pairs"));
  EXPECT_THAT(load("1 2:3\n1 2:3 4:5\n"), HasSubstr("t.libfm:2: 2 id:value pairs, but"));
  EXPECT_THAT(load("1 2:3\nx 2:3\n"), HasSubstr("t.libfm:2: \"x\" is not a number"));
  EXPECT_THAT(load("1 2:inf\n"), HasSubstr("not a number"));
  EXPECT_THAT(load("1 2\n"), HasSubstr("not a pair"));
  EXPECT_THAT(load("1 -2:1\n"), HasSubstr("not a pair"));
  EXPECT_THAT(load("1 10:1\n"), HasSubstr("id 10 is out of range, ids are 0 to 9"));
}

}  // namespace
}  // namespace trireme::data
