// onnx_export_case MODEL FOLDER [ROWS]: exports a saved model to ONNX and writes FOLDER as a case
// that onnx_node_cases and onnx_runtime.py read: the model, inputs and the outputs of Trireme.
// Inputs are random: floats in [0, 1), integers 0 or 1. Symbols have the size ROWS (3).

#include <filesystem>
#include <fstream>
#include <iostream>
#include <random>
#include <string>

#include <protozero/pbf_writer.hpp>

#include "onnx/tensor.h"
#include "trireme/error.h"
#include "trireme/onnx.h"
#include "trireme/saved_model.h"

namespace fs = std::filesystem;
using namespace trireme;  // NOLINT

namespace {

void write_tensor(const fs::path& file, const Tensor& tensor) {
  std::string bytes;
  {
    protozero::pbf_writer out(bytes);
    for (const std::int64_t size : tensor.shape()) out.add_int64(1, size);
    out.add_int32(2, static_cast<std::int32_t>(onnx::element_type_of(tensor.dtype())));
    out.add_bytes(9, reinterpret_cast<const char*>(tensor.bytes()), tensor.size_bytes());
  }
  std::ofstream(file, std::ios::binary) << bytes;
}

Tensor random_tensor(const trireme::Model::Port& port, std::int64_t rows, std::mt19937& random) {
  std::vector<std::int64_t> shape;
  for (const Dim& dim : port.shape) {
    SymbolSizes sizes;
    for (const std::string& symbol : dim.symbols()) sizes[symbol] = rows;
    shape.push_back(dim.evaluate(sizes));
  }
  Tensor numbers(f64, shape);
  for (std::int64_t i = 0; i < numbers.elements(); ++i) {
    numbers.data<double>()[i] = is_float(port.dtype) ? std::uniform_real_distribution<>()(random)
                                                     : static_cast<double>(random() % 2);
  }
  return numbers.cast(port.dtype);
}

void run(const std::string& path, const fs::path& folder, std::int64_t rows) {
  trireme::Model model = load_model(path);
  fs::create_directories(folder);
  onnx::export_model(model, (folder / "model.onnx").string());
  std::ofstream list(folder / "case.txt");
  list << "1e-5 1e-6 0\n";
  std::mt19937 random(1);
  Feeds feeds;
  for (const auto& port : model.inputs()) {
    const std::string file = "in_" + std::to_string(feeds.size()) + ".pb";
    feeds[port.name] = random_tensor(port, rows, random);
    write_tensor(folder / file, feeds[port.name]);
    list << "in " << port.name << " tensor " << file << "\n";
  }
  const std::vector<Tensor> outputs = model.predict(feeds);
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const std::string file = "out_" + std::to_string(i) + ".pb";
    write_tensor(folder / file, outputs[i]);
    list << "out " << model.outputs()[i].name << " tensor " << file << "\n";
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) {
    std::cerr << "usage: onnx_export_case MODEL FOLDER [ROWS]\n";
    return 2;
  }
  try {
    run(argv[1], argv[2], argc > 3 ? std::stoll(argv[3]) : 3);
  } catch (const Error& error) {
    std::cerr << error.what() << "\n";
    return 1;
  }
}
