#pragma once

// Nodes for rows of sequences. ONNX has no sequences of different lengths: they are packed rows and
// splits, as in the saved model.

#include <string>

#include "onnx/export/exporter.h"

namespace trireme::onnx {

// For each row the number of its sequence, i64[rows].
std::string sequence_ids(Exporter& e, const std::string& splits, const Dim& rows);

// `updates`, which have the given shape, combined with `start` at the rows `indices` i64[shape[0]].
struct ScatteredRows {
  std::string start, indices, updates;
  Shape shape;
};
std::string scattered_rows(Exporter& e, const ScatteredRows& s, const char* reduction);

}  // namespace trireme::onnx
