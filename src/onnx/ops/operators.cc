#include "onnx/ops/operators.h"

#include <map>
#include <string>
#include <utility>

#include "onnx/importer.h"

namespace trireme::onnx {
namespace {

using List = Operators (*)();

constexpr List kLists[] = {
    elementwise_operators, type_operators,         activation_operators,    shape_operators,
    index_operators,       reduction_operators,    constant_operators,      product_operators,
    control_operators,     convolution_operators,  pooling_operators,       normalization_operators,
    recurrent_operators,   quantization_operators, sequence_operators,      loss_operators,
    attention_operators,   spectral_operators,     image_operators,         selection_operators,
    classic_operators,     tree_operators,         support_vector_operators};

}  // namespace

const Operator* find_operator(std::string_view domain, std::string_view type) {
  using Key = std::pair<std::string_view, std::string_view>;
  static const std::map<Key, const Operator*> index = [] {
    std::map<Key, const Operator*> made;
    for (const List list : kLists) {
      for (const Operator& op : list()) made[{op.domain, op.type}] = &op;
    }
    return made;
  }();
  const auto found = index.find({domain, type});
  return found == index.end() ? nullptr : found->second;
}

}  // namespace trireme::onnx
