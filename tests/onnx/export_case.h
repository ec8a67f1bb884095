#pragma once

// Writes a saved model, exported to ONNX, as a case that onnx_node_cases and onnx_runtime.py read:
// the model, inputs and the outputs of Trireme.

#include <filesystem>
#include <fstream>
#include <map>
#include <random>
#include <string>
#include <vector>

#include <protozero/pbf_writer.hpp>

#include "ir/program.h"
#include "onnx/tensor.h"
#include "trireme/onnx.h"
#include "trireme/saved_model.h"

namespace trireme::testing {

namespace fs = std::filesystem;

inline void write_tensor(const fs::path& file, const Tensor& tensor) {
  std::string bytes;
  {
    protozero::pbf_writer out(bytes);
    for (const std::int64_t size : tensor.shape()) out.add_int64(1, size);
    out.add_int32(2, static_cast<std::int32_t>(onnx::element_type_of(tensor.dtype())));
    out.add_bytes(9, reinterpret_cast<const char*>(tensor.bytes()), tensor.size_bytes());
  }
  std::ofstream(file, std::ios::binary) << bytes;
}

// How random inputs are drawn.
struct Drawing {
  std::int64_t rows = 3;     // size of symbols
  std::int64_t below = 2;    // integers are 0 to below - 1
  bool empty = false;        // all sequences have no rows
  double low = 0, high = 1;  // of floats
};

// Inputs of a model. Lengths of sequences are 0 to 3, and their rows as many as the lengths add to.
class RandomFeeds {
 public:
  RandomFeeds(const trireme::Model& model, const Drawing& drawing)
      : drawing_(drawing), random_(static_cast<unsigned>(drawing.rows)) {
    const auto& inputs = model.program().ir().main().arguments;
    for (bool changed = true; changed;) {
      changed = false;
      for (const auto& input : inputs) {
        if (input->type.splits_of.empty() || feeds_.contains(input->name)) continue;
        const Dim count = input->type.shape[0] - Dim(1);
        if (is_known(count, model)) changed = true, add_splits(*input, count);
      }
    }
    for (const auto& input : inputs) {
      if (!feeds_.contains(input->name)) feeds_[input->name] = numbers(input->type);
    }
  }

  const Feeds& feeds() const { return feeds_; }

 private:
  // Whether its symbols are no rows of sequences that are not drawn yet.
  bool is_known(const Dim& dim, const trireme::Model& model) const {
    for (const auto& input : model.program().ir().main().arguments) {
      for (const std::string& symbol : dim.symbols()) {
        if (input->type.splits_of == symbol && !sizes_.contains(symbol)) return false;
      }
    }
    return true;
  }

  std::int64_t size(const Dim& dim) {
    for (const std::string& symbol : dim.symbols()) sizes_.emplace(symbol, drawing_.rows);
    return dim.evaluate(sizes_);
  }

  void add_splits(const ir::Value& input, const Dim& count) {
    Tensor splits(i64, {size(count) + 1});
    std::int64_t end = 0;
    for (std::int64_t i = 0; i < splits.elements(); ++i) {
      splits.data<std::int64_t>()[i] = end;
      if (i + 1 < splits.elements() && !drawing_.empty) end += static_cast<int>(random_() % 4);
    }
    sizes_[input.type.splits_of] = end;
    feeds_[input.name] = splits;
  }

  Tensor numbers(const ir::Type& type) {
    std::vector<std::int64_t> shape;
    for (const Dim& dim : type.shape) shape.push_back(size(dim));
    Tensor result(f64, shape);
    for (std::int64_t i = 0; i < result.elements(); ++i) {
      result.data<double>()[i] =
          is_float(type.dtype)
              ? std::uniform_real_distribution<>(drawing_.low, drawing_.high)(random_)
              : static_cast<double>(random_() % static_cast<unsigned>(drawing_.below));
    }
    return result.cast(type.dtype);
  }

  Drawing drawing_;
  std::mt19937 random_;
  SymbolSizes sizes_;
  Feeds feeds_;
};

inline void write_case(trireme::Model& model, const fs::path& folder, const Feeds& feeds,
                       std::int64_t opset = 18) {
  fs::create_directories(folder);
  onnx::export_model(model, (folder / "model.onnx").string(), {.opset = opset});
  std::ofstream list(folder / "case.txt");
  list << "1e-5 1e-6 0\n";
  int files = 0;
  const auto write = [&](const char* way, const std::string& name, const Tensor& tensor) {
    const std::string file = std::to_string(files++) + ".pb";
    write_tensor(folder / file, tensor);
    list << way << " " << name << " tensor " << file << "\n";
  };
  for (const auto& port : model.inputs()) write("in", port.name, feeds.at(port.name));
  const std::vector<Tensor> outputs = model.predict(feeds);
  for (std::size_t i = 0; i < outputs.size(); ++i)
    write("out", model.outputs()[i].name, outputs[i]);
}

}  // namespace trireme::testing
