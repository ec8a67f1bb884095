#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "trireme/tensor.h"

inline constexpr std::int64_t kSheetPictures = 48;

// Writes a PNG of images, f32[n, 1 or 3, h, w], each with its true class and its predicted class:
// the largest of its scores, f32[n, classes]. Marks wrong predictions. Prints the path to stdout.
void save_sheet(const std::string& path, const std::string& title, const trireme::Tensor& images,
                const trireme::Tensor& labels, const trireme::Tensor& scores,
                const std::vector<std::string>& class_names);
