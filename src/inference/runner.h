#pragma once

// A compiled model, loaded and ready to run on the caller's memory.

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/feeds.h"
#include "device/device.h"
#include "inference/model_file.h"
#include "runtime/executor.h"
#include "trireme/tensor.h"

namespace trireme::inference {

class Runner {
 public:
  // Errors: those of CompiledModel::load.
  Runner(const std::string& directory, int threads);

  const ModelFile& model() const { return model_; }

  // Returns the sizes that follow from feeds of these dtypes and shapes. Errors: usage if they do
  // not match the inputs or a needed one is missing.
  SymbolSizes sizes(const std::vector<FeedView>& feeds) const;
  // Returns whether sizes determine the shape of the output. If not, only a run does.
  bool knows_shape(std::size_t output, const SymbolSizes& sizes) const;
  std::vector<std::int64_t> output_shape(std::size_t output, const SymbolSizes& sizes) const;

  // `outputs`: memory for each, in order; null for outputs whose shape only a run determines.
  // Errors: as Executor::run; usage for invalid splits.
  void run(const SymbolSizes& sizes, const std::map<std::string, const void*>& feeds,
           const std::vector<void*>& outputs);
  // The result of the last run for an output whose shape only a run determines; valid until the
  // next run.
  std::vector<std::int64_t> shape_after_run(std::size_t output) const;
  const void* memory_after_run(std::size_t output) const;

 private:
  void read_constants(const std::string& bytes, const std::string& path);
  void check_splits_of(const SymbolSizes& sizes,
                       const std::map<std::string, const void*>& feeds) const;

  ModelFile model_;
  std::map<std::string, Tensor> constants_;
  std::vector<std::string> needed_;  // inputs that the Plan reads
  std::unique_ptr<device::Device> device_;
  std::unique_ptr<runtime::Executor> executor_;
  runtime::Bindings bindings_;
  std::uint64_t runs_ = 0;
};

}  // namespace trireme::inference
