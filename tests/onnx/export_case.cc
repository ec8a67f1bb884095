// onnx_export_case MODEL FOLDER [ROWS]: exports a saved model to ONNX and writes FOLDER as a case:
// export_case.h. Inputs are random: floats in [0, 1), integers 0 or 1. Symbols have the size ROWS
// (3).

#include "export_case.h"

#include <iostream>

#include "trireme/error.h"

int main(int argc, char** argv) {
  using namespace trireme;  // NOLINT
  if (argc < 3) {
    std::cerr << "usage: onnx_export_case MODEL FOLDER [ROWS]\n";
    return 2;
  }
  try {
    trireme::Model model = load_model(argv[1]);
    const testing::Drawing drawing{.rows = argc > 3 ? std::stoll(argv[3]) : 3};
    testing::write_case(model, argv[2], testing::RandomFeeds(model, drawing).feeds());
  } catch (const Error& error) {
    std::cerr << error.what() << "\n";
    return 1;
  }
}
