// Bad data: one error that names the file and the place, and the documented exit code.

#include <gmock/gmock.h>

#include "in_command_folder.h"
#include "trireme/data.h"
#include "trireme/image.h"

namespace trireme::testing {
namespace {

using ::testing::HasSubstr;

class DataMisuse : public InCommandFolder {
 protected:
  void job(const std::string& data, const std::string& more = "") {
    write(path("job.toml"), "[data]\ntrain = " + data + "\nbatch = 2\n" + more +
                                "[model]\nlayers = [{ linear = { units = 1 } }]\n"
                                "[train]\nloss = \"mse\"\n");
  }

  void picture(const std::string& name, std::int64_t height, std::int64_t width) {
    Tensor picture(u8, {height, width, 3});
    image::save_png(path(name), picture);
  }
};

TEST_F(DataMisuse, CorruptRecords) {
  write(path("a.csv"), "x,y\n1,2\n3,4\n");
  EXPECT_EQ(run_here(kTrireme + " data convert a.csv a.trec").code, 0);
  EXPECT_EQ(run_here(kTrireme + " data verify a.trec").code, 0);
  std::string file = read(path("a.trec"));
  // Before the end: 32 bytes, an index of 3 places, and the last record's last byte.
  std::string flipped = file;
  flipped[file.size() - 57] = static_cast<char>(flipped[file.size() - 57] ^ 1);
  write(path("flipped.trec"), flipped);
  fails("data verify flipped.trec", 3, "flipped.trec: damaged: the checksum of record 1");
  job("\"flipped.trec\"");
  fails("train job.toml --quiet", 3, "the checksum of record 1");
  write(path("short.trec"), file.substr(0, file.size() - 1));
  fails("data verify short.trec", 3, "short.trec: cut short");
  file[8] = 3;
  write(path("newer.trec"), file);
  fails("data verify newer.trec", 3, "version 3; this program reads versions 1 to 2");
  fails("data verify none.trec", 4, "none.trec");
  fails("data convert a.csv a.bin", 2, "ends in .trec");
}

TEST_F(DataMisuse, SequencesInAJob) {
  const std::vector<std::vector<std::int64_t>> words = {{1, 2, 3}, {4}};
  data::write_records(path("s.trec"), data::from_ragged({{"words", RaggedTensor::from(words)}},
                                                        {{"target", Tensor(f32, {2, 1})}}));
  EXPECT_EQ(run_here(kTrireme + " data verify s.trec").code, 0);
  job("\"s.trec\"");
  fails("train job.toml --quiet", 2, "job.toml:5\n  input  %words : i64[words]");
  const std::string embedded = "train job.toml --quiet --set 'model.layers=[";
  fails(embedded + "{embedding={dim=2}}]'", 3, "\"num_embeddings\" is missing");
  fails(embedded + "{embedding={width=2,rows=9}},{linear={units=1}}]'", 2, "f32[words, 1]");
  fails(embedded + "{embedding={width=2,rows=4}},\"sequence_sum\",{linear={units=1}}]'", 3,
        "is outside [0, 4): there are 4 rows");
  fails("train job.toml --set data.target=words --set data.input=target", 3,
        "column \"words\" is ragged, and no input has such sequences");
}

TEST_F(DataMisuse, CorruptPackOfPictures) {
  write(path("cifar10_train.rec"), std::string("\x03\x05\x00\x00\x00"
                                               "abc",
                                               8));
  fails("data verify cifar10/train", 4, "cifar10: no cifar10_train.rec");
  const std::string here = "env TRIREME_DATA=. " + kTrireme;
  Outcome outcome = run_here(here + " data verify cifar10/train");
  EXPECT_EQ(outcome.code, 3);
  EXPECT_THAT(outcome.output, HasSubstr("record 0 at byte 0: cut short: the picture takes 5"));
  write(path("cifar10_train.rec"), std::string("\x03\x03\x00\x00\x00"
                                               "abc",
                                               8));
  outcome = run_here(here + " data verify cifar10/train");
  EXPECT_EQ(outcome.code, 3);
  EXPECT_THAT(outcome.output, HasSubstr("record 0 at byte 0: neither a PNG nor a JPEG"));
}

TEST_F(DataMisuse, DamagedTextAndArchives) {
  const std::string here = "env TRIREME_DATA=. " + kTrireme;
  const auto fails_here = [&](const std::string& command, int code, const std::string& what) {
    const Outcome outcome = run_here(here + " data " + command);
    EXPECT_EQ(outcome.code, code) << outcome.output;
    EXPECT_THAT(outcome.output, HasSubstr(what));
  };
  fails("data verify tatoeba/train", 4, "put fra-eng.zip");
  fails("data verify tatoeba", 2, "say which part");
  fails("data verify tatoeba/half", 2, "there are train and test");
  write(path("fra-eng.zip"), "PK\x03\x04 and no more");
  fails_here("verify tatoeba/train", 3, "fra-eng.zip: no archive, or a damaged one");
  write(path("bccd_voc.tar"), std::string(700, 'x'));
  fails_here("verify bccd/train", 3, "bccd_voc.tar: no archive, or a damaged one");
  write(path("banking77.test.csv"), "text,category\n\"what?,lost\n");
  fails_here("verify banking77/test", 3, "banking77.test.csv:2:");
  write(path("tinyshakespeare.txt"), "First \xe9 Citizen");
  fails_here("verify tiny_shakespeare/train", 3, "byte 7 of the line is not UTF-8");
  write(path("clinc150.json"), "{\"train\": 1}");
  fails_here("verify clinc150/train", 3, "no list \"train\" of examples");
  fails_here("convert tiny_shakespeare/train t.trec", 2, "is text, which has to become numbers");
}

TEST_F(DataMisuse, PicturesOfMixedSizes) {
  run_here("mkdir -p pictures/cat pictures/dog");
  fails("data verify pictures", 3, "pictures: no pictures");
  picture("pictures/cat/1.png", 4, 4);
  picture("pictures/dog/2.png", 4, 6);
  fails("data verify pictures", 3, "pictures/dog/2.png: the picture has 6 x 4 pixels");
}

TEST_F(DataMisuse, MissingColumnsAndWrongTypes) {
  write(path("a.csv"), "age,job,price\n30,cook,1\n31.5,?,2\n");
  job("{ csv = \"a.csv\", target = \"prise\" }");
  fails("train job.toml --quiet", 2, "did you mean \"price\"?");
  job("{ csv = \"a.csv\", categories = [\"jobs\"] }");
  fails("train job.toml --quiet", 2, "did you mean \"job\"?");
  job("{ csv = \"a.csv\" }");
  fails("train job.toml --quiet", 3, "a.csv:2: column \"job\": \"cook\" is not a number");
  job("{ csv = \"a.csv\", integers = [\"age\"], one_hot = [\"job\"] }");
  fails("train job.toml --quiet", 3, "a.csv:3: column \"age\": \"31.5\" is not a whole number");
  job("{ csv = \"a.csv\", one_hot = [\"job\"], missing_word = \"?\" }");
  fails("train job.toml --quiet", 3, "a.csv:3: column \"job\": missing value");
  job("{ csv = \"a.csv\", missing = \"men\" }");
  fails("train job.toml --quiet", 3, "job.toml:2: data.train.missing: must be");
}

TEST_F(DataMisuse, EmptyDataSets) {
  write(path("empty.csv"), "a,b\n");
  fails("data verify empty.csv", 3, "empty.csv: the file has a header, but no rows");
  write(path("empty.libsvm"), "\n# nothing\n");
  fails("data verify empty.libsvm", 3, "empty.libsvm: the file has no rows");
}

TEST_F(DataMisuse, SparseRowsOfDifferentLengths) {
  write(path("a.libsvm"), "1 0:1 2:1\n0 3:1\n");
  fails("data verify a.libsvm", 3, "a.libsvm:2: 1 id:value pairs, but the first row has 2");
  job("{ libsvm = \"a.libsvm\", ids = 2 }");
  fails("train job.toml --quiet", 3, "a.libsvm:1: id 2 is out of range");
}

TEST_F(DataMisuse, AugmentationsThatDoNotFit) {
  write(path("a.csv"), "x,y\n1,2\n");
  job("\"a.csv\"", "augment = [\"flip\"]\n");
  fails("train job.toml --quiet", 3,
        "job.toml:4: data.augment[0]: flip: the data set has no column of pictures");
  job("\"a.csv\"", "augment = [\"flop\"]\n");
  fails("train job.toml --quiet", 3, "unknown augmentation \"flop\"; did you mean \"flip\"?");
  job("\"a.csv\"", "augment = \"flip\"\n");
  fails("train job.toml --quiet", 3, "must be a list");
  job("\"a.csv\"", "workers = 0\n");
  fails("train job.toml --quiet", 3, "data.workers: must be at least 1");
}

}  // namespace
}  // namespace trireme::testing
