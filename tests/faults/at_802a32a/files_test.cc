// Files that are written, cached and read, at commit 802a32a: faults 6, 7, 9 and the data of 10.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <cmath>
#include <filesystem>
#include <fstream>

#include "base/checksum.h"
#include "base/error_test.h"
#include "base/file.h"
#include "codegen/codegen.h"
#include "codegen/llvm/object_cache.h"
#include "codegen/testing/kernels.h"
#include "data/blob.h"
#include "data/csv.h"
#include "data/records.h"
#include "data/table.h"
#include "data/test_files.h"
#include "trireme/trireme.h"

namespace trireme {
namespace {

namespace fs = std::filesystem;
using data::TestDirectory;
using data::TestVariable;
using ::testing::HasSubstr;

// --- 6: temporary files of a killed process with the same number, as in every container

// The name of a temporary file that an earlier process with our number has left.
std::string stale(const std::string& path, int count = -1) {
  return path + ".tmp." + std::to_string(::getpid()) +
         (count < 0 ? "" : "." + std::to_string(count));
}

TEST(Fault6, RecordsAreWrittenBesideAStaleFile) {
  const TestDirectory directory;
  const std::string path = directory.path() + "/out.trec";
  std::ofstream(stale(path)) << "of a killed process";
  EXPECT_EQ(error_of([&] {
              data::write_records(path, data::from_tensors({{"x", Tensor(f32, {2, 1})}}));
            }),
            "no error");
}

TEST(Fault6, AnyFileIsWrittenBesideStaleOnes) {
  const TestDirectory directory;
  const std::string path = directory.path() + "/file";
  for (int count = 0; count < 100; ++count) std::ofstream(stale(path, count)) << "x";
  EXPECT_EQ(error_of([&] { write_file_atomically(path, "content"); }), "no error");
}

TEST(Fault6, ASavedModelHasNoFilesOfAStaleFolder) {
  const TestDirectory directory;
  const std::string path = directory.path() + "/model";
  fs::create_directory(stale(path));
  std::ofstream(stale(path) + "/stranger") << "x";
  Program program("net");
  const Value x = program.input("x", f32, {batch, 2});
  Session session(program);
  save_model(program, session, path, {.outputs = {x * 2.0}});
  EXPECT_FALSE(fs::exists(path + "/stranger")) << "a file of another process is in the model";
}

// --- 7: code from a cache that others may write to

class Fault7 : public ::testing::Test {
 protected:
  // Statistics after a kernel was compiled, or found.
  codegen::CodegenStatistics compile() const {
    const auto code = codegen::make_llvm_codegen({.cache_directory = directory_.path()});
    const kernel_ir::Kernel kernel = codegen::testing::unary_map(kernel_ir::ExprOp::sqrt, f32, 8);
    code->compile({&kernel});
    return code->statistics();
  }
  std::string folder() const { return directory_.path() + "/kernels"; }
  const TestDirectory directory_;
};

TEST_F(Fault7, AFolderThatOthersMayWriteToIsNotUsed) {
  compile();
  fs::permissions(folder(), fs::perms::all);
  EXPECT_EQ(compile().cached, 0) << "code from a folder that all may write to was run";
}

TEST_F(Fault7, AFolderOfAnotherUserIsNotUsed) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give a folder to another user";
  compile();
  ASSERT_EQ(::chown(folder().c_str(), 12345, 12345), 0);
  EXPECT_EQ(compile().cached, 0) << "code from a folder of another user was run";
}

TEST_F(Fault7, TheFolderIsForItsOwnerAlone) {
  ::umask(022);
  compile();
  struct stat status{};
  ASSERT_EQ(::stat(folder().c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0700u) << "others may look into the folder of kernels";
}

// Another version of LLVM makes other code from the same kernel.
TEST_F(Fault7, TheKeyOfAKernelHasTheVersionOfLlvm) {
  kernel_ir::Kernel kernel = codegen::testing::unary_map(kernel_ir::ExprOp::sqrt, f32, 8);
  kernel.name.clear();
  for (std::string& name : kernel.sizes) name.clear();
  for (kernel_ir::Buffer& buffer : kernel.buffers) buffer.name.clear();
  const codegen::Target target = codegen::host_target();
  EXPECT_NE(codegen::object_key(kernel, target),
            checksum("3\n" + target.str() + "\n" + kernel_ir::print(kernel)))
      << "the key is made without the version of LLVM";
}

// --- 9: small files that take much memory

std::int64_t peak_kilobytes() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss;
}

TEST(Fault9, ALongPictureIsMadeShortFirst) {
  const Tensor picture(u8, {300000, 1, 1});
  const std::int64_t before = peak_kilobytes();
  EXPECT_EQ(image::resize(picture, 224, 224).elements(), 224 * 224);
  EXPECT_LT(peak_kilobytes() - before, 100000) << "KB, for a picture of 300 KB";
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

TEST(Fault9, APackedFileHasALimit) {
  const TestDirectory directory;
  const TestVariable limit("TRIREME_MAX_FILE_BYTES", "99999");
  const std::string path = directory.write("file.gz", gzip(std::string(100000, 'x')));
  EXPECT_THAT(error_of([&] { data::read_blob(path); }), HasSubstr("limit of 99999"));
}

TEST(Fault9, AFileHasALimit) {
  const TestDirectory directory;
  const TestVariable limit("TRIREME_MAX_FILE_BYTES", "9");
  const std::string path = directory.write("ten", "0123456789");
  EXPECT_THAT(error_of([&] { read_file(path); }), HasSubstr("more than 9 bytes"));
}

TEST(Fault9, AnEmptyCellTakesLittleMemory) {
  const data::CsvTable table = data::parse_csv("a,b\n,\n,\n", "t");
  EXPECT_LE(sizeof(table.columns[1][0]), 16u) << "bytes of an empty cell";
}

// --- 10: smaller faults of data

std::string noise(std::size_t size, std::uint32_t state) {
  std::string text;
  while (text.size() < size) {
    state = state * 1664525u + 1013904223u;
    text += static_cast<char>(state >> 24);
  }
  return text;
}

TEST(Fault10Data, AChangedFileOfTheSameSizeAndTimeIsReadAgain) {
  const TestDirectory directory;
  const TestVariable cache("TRIREME_CACHE_DIR", directory.path() + "/cache");
  const std::string path = directory.write("file.gz", gzip(noise(20000, 1)));
  const auto time = fs::last_write_time(path);
  EXPECT_TRUE(data::read_blob_cached(path).bytes == noise(20000, 1));
  const std::string packed = gzip(noise(20000, 2));
  ASSERT_EQ(packed.size(), fs::file_size(path));
  std::ofstream(path, std::ios::binary) << packed;
  fs::last_write_time(path, time);
  EXPECT_TRUE(data::read_blob_cached(path).bytes == noise(20000, 2))
      << "the data of an earlier file were read";
}

TEST(Fault10Data, ARecordFileThatIsShortenedIsAnError) {
  const TestDirectory directory;
  const std::string path = directory.path() + "/a.trec";
  const std::vector<float> values(1 << 16);
  data::write_records(
      path, data::from_tensors({{"x", Tensor::from<float>({16, 1 << 12}, values)},
                                {"y", Tensor::from<float>({16}, std::vector<float>(16))}}));
  const data::Dataset dataset = data::records(path);
  EXPECT_EQ(dataset.rows(15, 16).at("y").elements(), 1);
  fs::resize_file(path, 4096);
  EXPECT_NE(error_of([&] { dataset.rows(15, 16); }), "no error");
}

TEST(Fault10Data, AFillThatNoIntegerHas) {
  EXPECT_NE(error_of([] {
              data::table_from_csv(
                  "n,y\n,1\n2,3\n", "t.csv",
                  {.integers = {"n"}, .missing = data::Missing::constant, .missing_value = 1e300});
            }),
            "no error")
      << "1e300 was cast to an integer";
}

}  // namespace
}  // namespace trireme
