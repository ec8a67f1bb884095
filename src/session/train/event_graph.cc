#include "session/train/event_graph.h"

#include <protozero/pbf_writer.hpp>

#include <map>
#include <set>
#include <vector>

namespace trireme {
namespace {

// Field numbers of TensorFlow's graph.proto, node_def.proto, attr_value.proto, tensor_shape.proto
// and versions.proto.
namespace graph_field {
constexpr int kNode = 1, kVersions = 4, kProducer = 1;
constexpr int kName = 1, kOp = 2, kInput = 3, kAttribute = 5;
constexpr int kKey = 1, kValue = 2, kList = 1, kListShape = 7, kType = 6, kDim = 2, kSize = 1;
constexpr int kProducerVersion = 22;
}  // namespace graph_field

using protozero::pbf_writer;

int type_number(DType dtype) {
  switch (dtype) {
    case DType::f32: return 1;
    case DType::f64: return 2;
    case DType::i32: return 3;
    case DType::u8: return 4;
    case DType::i16: return 5;
    case DType::i8: return 6;
    case DType::i64: return 9;
    case DType::boolean: return 10;
    case DType::bf16: return 14;
    case DType::u16: return 17;
    case DType::f16: return 19;
    case DType::u32: return 22;
    case DType::u64: return 23;
  }
  return 0;
}

class GraphWriter {
 public:
  std::string write(const ir::Program& program) {
    for (const auto& argument : program.main().arguments) source(*argument, "input", "");
    for (const auto& parameter : program.parameters()) {
      std::string name = parameter->name();
      if (const std::size_t dot = name.rfind('.'); dot != std::string::npos) name[dot] = '/';
      source(*parameter->value, "parameter", name);
    }
    add_block(program.main(), "");
    std::string versions;
    pbf_writer(versions).add_int32(graph_field::kProducer, graph_field::kProducerVersion);
    pbf_writer(graph_).add_message(graph_field::kVersions, versions);
    return graph_;
  }

 private:
  std::string unique(const std::string& name) {
    std::string made = name;
    for (int i = 1; !taken_.insert(made).second; ++i) made = name + "_" + std::to_string(i);
    return made;
  }

  void source(const ir::Value& value, const char* op, const std::string& name) {
    const std::string made = unique(name.empty() ? value.name : name);
    names_[&value] = made;
    add_node(made, op, {}, {&value});
  }

  void add_block(const ir::Block& block, const std::string& inside) {
    for (const auto& op : block.ops) {
      const std::string& layer = op->location.layer;
      const std::string place = !inside.empty() ? inside + "/" : layer.empty() ? "" : layer + "/";
      const std::string name = unique(place + op->name());
      std::vector<std::string> inputs;
      for (const ir::Value* operand : op->operands) inputs.push_back(names_[operand]);
      std::vector<const ir::Value*> results;
      for (const auto& result : op->results) {
        names_[result.get()] =
            name + (result->index > 0 ? ":" + std::to_string(result->index) : "");
        results.push_back(result.get());
      }
      add_node(name, op->name(), inputs, results);
      for (const auto& nested : op->blocks) {
        for (const auto& argument : nested->arguments) {
          source(*argument, "argument", name + "/" + argument->name);
        }
        add_block(*nested, name);
      }
    }
  }

  void add_node(const std::string& name, const std::string& op,
                const std::vector<std::string>& inputs,
                const std::vector<const ir::Value*>& results) {
    std::string node;
    pbf_writer writer(node);
    writer.add_string(graph_field::kName, name);
    writer.add_string(graph_field::kOp, op);
    for (const std::string& input : inputs) writer.add_string(graph_field::kInput, input);
    if (!results.empty()) {
      std::string type, shapes, list;
      pbf_writer(type).add_enum(graph_field::kType, type_number(results.front()->type.dtype));
      for (const ir::Value* result : results) {
        pbf_writer(shapes).add_message(graph_field::kListShape, shape_of(*result));
      }
      pbf_writer(list).add_message(graph_field::kList, shapes);
      writer.add_message(graph_field::kAttribute, attribute("T", type));
      writer.add_message(graph_field::kAttribute, attribute("_output_shapes", list));
    }
    pbf_writer(graph_).add_message(graph_field::kNode, node);
  }

  static std::string attribute(const char* key, const std::string& value) {
    std::string entry;
    pbf_writer writer(entry);
    writer.add_string(graph_field::kKey, key);
    writer.add_message(graph_field::kValue, value);
    return entry;
  }

  static std::string shape_of(const ir::Value& value) {
    std::string shape;
    for (const Dim& dim : value.type.shape) {
      std::string size;
      pbf_writer(size).add_int64(graph_field::kSize, dim.is_constant() ? dim.constant() : -1);
      pbf_writer(shape).add_message(graph_field::kDim, size);
    }
    return shape;
  }

  std::string graph_;
  std::set<std::string> taken_;
  std::map<const ir::Value*, std::string> names_;
};

}  // namespace

std::string graph_of(const ir::Program& program) { return GraphWriter().write(program); }

}  // namespace trireme
