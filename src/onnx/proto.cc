#include "onnx/proto.h"

#include <utility>

#include <protozero/pbf_reader.hpp>

#include "base/error.h"

namespace trireme::onnx {
namespace {

using protozero::pbf_reader;

constexpr int kMaxDepth = 64;  // of graphs in graphs and of types in types

// Reads messages. Every function takes the bytes of one message; fields of later versions are
// skipped.
class Parser {
 public:
  Model model(pbf_reader in) {
    Model model;
    while (in.next()) {
      switch (in.tag()) {
        case 1: model.ir_version = integer(in); break;
        case 2: model.producer = text(in); break;
        case 7: model.graph = graph(message(in)); break;
        case 8: opset(message(in), model.opsets); break;
        case 25: model.functions.push_back(function(message(in))); break;
        default: in.skip();
      }
    }
    return model;
  }

  TensorProto tensor(pbf_reader in) {
    TensorProto tensor;
    while (in.next()) {
      switch (in.tag()) {
        case 1: integers(in, tensor.dims); break;
        case 2: tensor.type = static_cast<ElementType>(integer(in)); break;
        case 4: floats(in, tensor.floats); break;
        case 5:
        case 7: integers(in, tensor.integers); break;
        case 6: tensor.strings.push_back(text(in)); break;
        case 8: tensor.name = text(in); break;
        case 9: tensor.raw = bytes(in); break;
        case 10: doubles(in, tensor.doubles); break;
        case 11: unsigned_integers(in, tensor.unsigned_integers); break;
        case 13: entry(message(in), tensor.external); break;
        case 14: tensor.is_external = integer(in) == 1; break;
        default: in.skip();
      }
    }
    return tensor;
  }

 private:
  static void require(bool holds) {
    if (!holds) throw protozero::exception();
  }

  // Wire types are checked, because pbf_reader checks them in debug builds only.
  static bool has(const pbf_reader& in, protozero::pbf_wire_type type) {
    return in.wire_type() == type;
  }
  static std::string_view bytes(pbf_reader& in) {
    require(has(in, protozero::pbf_wire_type::length_delimited));
    const protozero::data_view view = in.get_view();
    return {view.data(), view.size()};
  }
  static std::string text(pbf_reader& in) { return std::string(bytes(in)); }
  static pbf_reader message(pbf_reader& in) {
    const std::string_view view = bytes(in);
    return pbf_reader(protozero::data_view(view.data(), view.size()));
  }
  static std::int64_t integer(pbf_reader& in) {
    require(has(in, protozero::pbf_wire_type::varint));
    return in.get_int64();
  }
  static float number(pbf_reader& in) {
    require(has(in, protozero::pbf_wire_type::fixed32));
    return in.get_float();
  }

  // Repeated numbers are packed or not.
  static void integers(pbf_reader& in, std::vector<std::int64_t>& to) {
    if (has(in, protozero::pbf_wire_type::varint)) return to.push_back(in.get_int64());
    require(has(in, protozero::pbf_wire_type::length_delimited));
    const auto range = in.get_packed_int64();
    to.insert(to.end(), range.begin(), range.end());
  }
  static void unsigned_integers(pbf_reader& in, std::vector<std::uint64_t>& to) {
    if (has(in, protozero::pbf_wire_type::varint)) return to.push_back(in.get_uint64());
    require(has(in, protozero::pbf_wire_type::length_delimited));
    const auto range = in.get_packed_uint64();
    to.insert(to.end(), range.begin(), range.end());
  }
  static void floats(pbf_reader& in, std::vector<float>& to) {
    if (has(in, protozero::pbf_wire_type::fixed32)) return to.push_back(in.get_float());
    require(has(in, protozero::pbf_wire_type::length_delimited));
    const auto range = in.get_packed_float();
    to.insert(to.end(), range.begin(), range.end());
  }
  static void doubles(pbf_reader& in, std::vector<double>& to) {
    if (has(in, protozero::pbf_wire_type::fixed64)) return to.push_back(in.get_double());
    require(has(in, protozero::pbf_wire_type::length_delimited));
    const auto range = in.get_packed_double();
    to.insert(to.end(), range.begin(), range.end());
  }

  static void entry(pbf_reader in, std::map<std::string, std::string>& to) {
    std::string key, value;
    while (in.next()) {
      switch (in.tag()) {
        case 1: key = text(in); break;
        case 2: value = text(in); break;
        default: in.skip();
      }
    }
    to[std::move(key)] = std::move(value);
  }

  static void opset(pbf_reader in, Opsets& to) {
    std::string domain;
    std::int64_t version = 0;
    while (in.next()) {
      switch (in.tag()) {
        case 1: domain = text(in); break;
        case 2: version = integer(in); break;
        default: in.skip();
      }
    }
    to[domain == "ai.onnx" ? "" : domain] = version;
  }

  SparseTensorProto sparse(pbf_reader in) {
    SparseTensorProto tensor;
    while (in.next()) {
      switch (in.tag()) {
        case 1: tensor.values = this->tensor(message(in)); break;
        case 2: tensor.indices = this->tensor(message(in)); break;
        case 3: integers(in, tensor.dims); break;
        default: in.skip();
      }
    }
    return tensor;
  }

  static DimProto dim(pbf_reader in) {
    DimProto dim;
    while (in.next()) {
      switch (in.tag()) {
        case 1: dim.size = integer(in); break;
        case 2: dim.symbol = text(in); break;
        default: in.skip();
      }
    }
    return dim;
  }

  static std::vector<DimProto> shape(pbf_reader in) {
    std::vector<DimProto> dims;
    while (in.next()) {
      if (in.tag() == 1) dims.push_back(dim(message(in)));
      else in.skip();
    }
    return dims;
  }

  static void tensor_type(pbf_reader in, TypeProto& type) {
    type.kind = TypeProto::Kind::tensor;
    while (in.next()) {
      switch (in.tag()) {
        case 1: type.element = static_cast<ElementType>(integer(in)); break;
        case 2: type.shape = shape(message(in)); break;
        default: in.skip();
      }
    }
  }

  void inner_type(pbf_reader in, TypeProto::Kind kind, TypeProto& type) {
    type.kind = kind;
    while (in.next()) {
      if (in.tag() == 1) type.inner = std::make_shared<TypeProto>(this->type(message(in)));
      else in.skip();
    }
  }

  TypeProto type(pbf_reader in) {
    const Nested nested(depth_);
    TypeProto type;
    while (in.next()) {
      switch (in.tag()) {
        case 1: tensor_type(message(in), type); break;
        case 4: inner_type(message(in), TypeProto::Kind::sequence, type); break;
        case 9: inner_type(message(in), TypeProto::Kind::optional, type); break;
        case 5:
        case 7:
        case 8:
          type.kind = TypeProto::Kind::other;
          in.skip();
          break;
        default: in.skip();
      }
    }
    return type;
  }

  ValueInfo value(pbf_reader in) {
    ValueInfo value;
    while (in.next()) {
      switch (in.tag()) {
        case 1: value.name = text(in); break;
        case 2: value.type = type(message(in)); break;
        default: in.skip();
      }
    }
    return value;
  }

  AttributeProto attribute(pbf_reader in) {
    AttributeProto a;
    while (in.next()) {
      switch (in.tag()) {
        case 1: a.name = text(in); break;
        case 2: a.f = number(in); break;
        case 3: a.i = integer(in); break;
        case 4: a.s = text(in); break;
        case 5: a.t = std::make_shared<TensorProto>(tensor(message(in))); break;
        case 6: a.g = std::make_shared<Graph>(graph(message(in))); break;
        case 7: floats(in, a.floats_); break;
        case 8: integers(in, a.ints_); break;
        case 9: a.strings_.push_back(text(in)); break;
        case 14: a.tp = std::make_shared<TypeProto>(type(message(in))); break;
        case 20: a.kind = static_cast<int>(integer(in)); break;
        case 21: a.reference = text(in); break;
        case 22: a.sparse = std::make_shared<SparseTensorProto>(sparse(message(in))); break;
        default: in.skip();
      }
    }
    return a;
  }

  Node node(pbf_reader in) {
    Node node;
    while (in.next()) {
      switch (in.tag()) {
        case 1: node.inputs.push_back(text(in)); break;
        case 2: node.outputs.push_back(text(in)); break;
        case 3: node.name = text(in); break;
        case 4: node.type = text(in); break;
        case 5: node.attributes.push_back(attribute(message(in))); break;
        case 7: node.domain = domain(in); break;
        case 8: node.overload = text(in); break;
        default: in.skip();
      }
    }
    return node;
  }

  static std::string domain(pbf_reader& in) {
    std::string name = text(in);
    return name == "ai.onnx" ? "" : name;
  }

  Graph graph(pbf_reader in) {
    const Nested nested(depth_);
    Graph graph;
    while (in.next()) {
      switch (in.tag()) {
        case 1: graph.nodes.push_back(node(message(in))); break;
        case 2: graph.name = text(in); break;
        case 5: graph.initializers.push_back(tensor(message(in))); break;
        case 11: graph.inputs.push_back(value(message(in))); break;
        case 12: graph.outputs.push_back(value(message(in))); break;
        case 13: graph.values.push_back(value(message(in))); break;
        case 15: graph.sparse_initializers.push_back(sparse(message(in))); break;
        default: in.skip();
      }
    }
    return graph;
  }

  Function function(pbf_reader in) {
    Function function;
    while (in.next()) {
      switch (in.tag()) {
        case 1: function.name = text(in); break;
        case 4: function.inputs.push_back(text(in)); break;
        case 5: function.outputs.push_back(text(in)); break;
        case 6: function.attributes.push_back(text(in)); break;
        case 7: function.nodes.push_back(node(message(in))); break;
        case 9: opset(message(in), function.opsets); break;
        case 10: function.domain = domain(in); break;
        case 11: function.defaults.push_back(attribute(message(in))); break;
        case 13: function.overload = text(in); break;
        default: in.skip();
      }
    }
    return function;
  }

  class Nested {
   public:
    explicit Nested(int& depth) : depth_(depth) { require(++depth_ <= kMaxDepth); }
    ~Nested() { --depth_; }
    Nested(const Nested&) = delete;
    Nested& operator=(const Nested&) = delete;

   private:
    int& depth_;
  };

  int depth_ = 0;
};

template <class Read>
auto parsed(std::string_view bytes, const std::string& name, const char* what, Read read) {
  try {
    return read(pbf_reader(protozero::data_view(bytes.data(), bytes.size())));
  } catch (const protozero::exception&) {
    fail_data(name + " is no " + what +
              ": its bytes are damaged, cut short, or of another format\n  hint   check it with "
              "onnx.checker, and save it again");
  }
}

}  // namespace

Model parse_model(std::shared_ptr<const std::string> bytes, const std::string& name) {
  Model model =
      parsed(*bytes, name, "ONNX model", [](pbf_reader in) { return Parser().model(in); });
  if (model.opsets.empty() && model.graph.nodes.empty()) {
    fail_data(name + " is no ONNX model: it has neither nodes nor versions of operators");
  }
  model.bytes = std::move(bytes);
  return model;
}

TensorProto parse_tensor(std::string_view bytes, const std::string& name) {
  return parsed(bytes, name, "ONNX tensor", [](pbf_reader in) { return Parser().tensor(in); });
}

}  // namespace trireme::onnx
