// The disk cache: found again, never trusted blindly, never a reason to fail.

#include <gtest/gtest.h>
#include <llvm/Config/llvm-config.h>
#include <unistd.h>

#include <chrono>
#include <cmath>
#include <filesystem>
#include <fstream>

#include "base/checksum.h"
#include "base/file.h"
#include "codegen/codegen.h"
#include "codegen/llvm/object_cache.h"
#include "codegen/testing/kernels.h"

namespace trireme::codegen {
namespace {

namespace fs = std::filesystem;
using kernel_ir::ExprOp;
using kernel_ir::Kernel;

class CacheTest : public ::testing::Test {
 protected:
  CacheTest() {
    static int count = 0;
    directory_ = fs::temp_directory_path() / ("trireme_cache_test." + std::to_string(::getpid()) +
                                              "." + std::to_string(count++));
    fs::create_directories(directory_);
  }
  ~CacheTest() override { fs::remove_all(directory_); }

  std::unique_ptr<Codegen> codegen(int threads = 1) const {
    return make_llvm_codegen({.cache_directory = directory_.string(), .threads = threads});
  }

  std::vector<fs::path> files() const {
    std::vector<fs::path> result;
    for (const auto& entry : fs::directory_iterator(directory_ / "kernels")) {
      result.push_back(entry.path());
    }
    return result;
  }

  fs::path directory_;
};

void expect_sqrt(const CompiledKernel& kernel) {
  float x[3] = {4, 9, 2};
  float y[3] = {};
  void* buffers[] = {x, y};
  const std::int64_t sizes[] = {3};
  kernel.run(buffers, sizes, 0, 1);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(y[i], std::sqrt(x[i]));
}

TEST_F(CacheTest, ASecondProcessCompilesNothing) {
  const Kernel kernel = testing::unary_map(ExprOp::sqrt, f32, 8);
  auto first = codegen();
  expect_sqrt(*first->compile({&kernel})[0]);
  EXPECT_EQ(first->statistics().compiled, 1);
  EXPECT_EQ(first->statistics().cached, 0);
  EXPECT_GT(first->statistics().compile_ms, 0);
  EXPECT_EQ(files().size(), 1u);

  auto second = codegen();
  expect_sqrt(*second->compile({&kernel})[0]);
  EXPECT_EQ(second->statistics().compiled, 0);
  EXPECT_EQ(second->statistics().cached, 1);
}

TEST_F(CacheTest, TheKeyIsWhatTheKernelDoesAndTheTarget) {
  const Kernel kernel = testing::unary_map(ExprOp::sqrt, f32, 8);
  const Target target = host_target();
  Kernel renamed = kernel;
  renamed.name = "other";
  renamed.buffers[0].name = "other";
  renamed.sizes[0] = "other";
  EXPECT_EQ(object_key(kernel, target), object_key(renamed, target));
  EXPECT_NE(object_key(kernel, target),
            object_key(testing::unary_map(ExprOp::floor, f32, 8), target));
  EXPECT_NE(object_key(kernel, target),
            object_key(testing::unary_map(ExprOp::sqrt, f32, 16), target));
  Target other = target;
  other.cpu = "x86-64";
  EXPECT_NE(object_key(kernel, target), object_key(kernel, other));
  EXPECT_EQ(object_key(kernel, target).size(), 32u);
}

// Another version of LLVM, or of the generator, makes other code from the same kernel.
TEST_F(CacheTest, TheKeyHasTheVersionOfLlvmAndTheDigestOfTheGenerator) {
  const Kernel kernel = testing::unary_map(ExprOp::sqrt, f32, 8);
  Kernel nameless = kernel;
  nameless.name.clear();
  for (std::string& name : nameless.sizes) name.clear();
  for (kernel_ir::Buffer& buffer : nameless.buffers) buffer.name.clear();
  const std::string versions =
      std::string(codegen_digest()) + "\nLLVM " + LLVM_VERSION_STRING + "\n";
  EXPECT_EQ(object_key(kernel, host_target()),
            checksum(versions + host_target().str() + "\n" + print(nameless)));
}

TEST_F(CacheTest, EqualKernelsAreCompiledOnce) {
  const Kernel a = testing::unary_map(ExprOp::sqrt, f32, 8);
  Kernel b = a;
  b.name = "other";
  auto compiler = codegen();
  const auto kernels = compiler->compile({&a, &b, &a});
  EXPECT_EQ(compiler->statistics().compiled, 1);
  ASSERT_EQ(kernels.size(), 3u);
  for (const auto& kernel : kernels) expect_sqrt(*kernel);
  compiler->compile({&b});
  EXPECT_EQ(compiler->statistics().compiled, 1);
  EXPECT_EQ(compiler->statistics().cached, 0);
}

TEST_F(CacheTest, DamagedFilesAreCompiledAgain) {
  const Kernel kernel = testing::unary_map(ExprOp::sqrt, f32, 8);
  codegen()->compile({&kernel});
  const std::string path = files().at(0).string();
  const std::string good = read_file(path);
  std::vector<std::string> damaged = {"", "x", good.substr(0, 20), good.substr(0, good.size() - 1),
                                      good + "x"};
  for (std::size_t at : {std::size_t{0}, std::size_t{9}, std::size_t{13}, std::size_t{25},
                         std::size_t{40}, good.size() / 2, good.size() - 1}) {
    std::string flipped = good;
    flipped[at] = static_cast<char>(flipped[at] ^ 1);
    damaged.push_back(flipped);
  }
  for (const std::string& content : damaged) {
    std::ofstream(path, std::ios::binary | std::ios::trunc) << content;
    auto compiler = codegen();
    expect_sqrt(*compiler->compile({&kernel})[0]);
    EXPECT_EQ(compiler->statistics().compiled, 1) << content.size() << " bytes";
    EXPECT_EQ(read_file(path), good);
  }
}

// A process that can write there could make this one run its code.
TEST_F(CacheTest, AFolderThatOthersMayWriteToIsNotUsed) {
  const Kernel kernel = testing::unary_map(ExprOp::sqrt, f32, 8);
  codegen()->compile({&kernel});
  fs::permissions(directory_ / "kernels", fs::perms::all);
  auto second = codegen();
  expect_sqrt(*second->compile({&kernel})[0]);
  EXPECT_EQ(second->statistics().cached, 0);
  EXPECT_EQ(second->statistics().compiled, 1);
}

TEST_F(CacheTest, ADirectoryThatCannotBeUsedIsNoError) {
  const Kernel kernel = testing::unary_map(ExprOp::sqrt, f32, 8);
  const std::string file = (directory_ / "file").string();
  std::ofstream(file) << "in the way";
  auto compiler = make_llvm_codegen({.cache_directory = file + "/below"});
  expect_sqrt(*compiler->compile({&kernel})[0]);
}

TEST_F(CacheTest, KernelsOutliveTheCodegen) {
  const Kernel kernel = testing::unary_map(ExprOp::sqrt, f32, 8);
  std::shared_ptr<CompiledKernel> compiled = codegen()->compile({&kernel})[0];
  expect_sqrt(*compiled);
}

TEST_F(CacheTest, ManyKernelsOnTwoThreadsAndLoadedQuickly) {
  std::vector<Kernel> kernels;
  for (const int lanes : {1, 2, 4, 8, 16}) {
    for (const ExprOp op :
         {ExprOp::sqrt, ExprOp::floor, ExprOp::ceil, ExprOp::neg, ExprOp::abs, ExprOp::trunc}) {
      kernels.push_back(testing::unary_map(op, f32, lanes));
    }
  }
  std::vector<const Kernel*> pointers;
  for (const Kernel& kernel : kernels) pointers.push_back(&kernel);
  auto first = codegen(2);
  const auto compiled = first->compile(pointers);
  EXPECT_EQ(first->statistics().compiled, 30);
  for (std::size_t i = 0; i < kernels.size(); i += 6) expect_sqrt(*compiled[i]);

  const auto start = std::chrono::steady_clock::now();
  auto second = codegen();
  const auto loaded = second->compile(pointers);
  const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - start;
  std::printf("30 kernels from the cache: %.1f ms\n", took.count());
  EXPECT_EQ(second->statistics().cached, 30);
  for (std::size_t i = 0; i < kernels.size(); i += 6) expect_sqrt(*loaded[i]);
}

}  // namespace
}  // namespace trireme::codegen
