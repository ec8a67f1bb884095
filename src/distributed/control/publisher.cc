#include "distributed/control/publisher.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>

#include "base/checksum.h"
#include "base/error.h"
#include "base/file.h"
#include "base/safetensors.h"
#include "distributed/control/orders.h"

namespace trireme::distributed {
namespace {

constexpr Milliseconds kLongest{600000};      // in which a server writes all it has of a table
constexpr Milliseconds kBlockTimeout{20000};  // in which it gives a block

bool is_plain(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
         c == '_';
}

Frame export_order(const ExportOrder& what) { return order(Op::export_rows, text_of(what)); }

}  // namespace

std::string line_of(const Published& what, double seconds) {
  const double megabytes = static_cast<double>(what.bytes) / 1e6;
  if (what.tables == 0) {
    return fmt::format("export of dense parameters alone: {:.1f} MB in {:.2f} s", megabytes,
                       seconds);
  }
  return fmt::format("export {}{}: {} table{}, {} rows{}, {:.1f} MB in {:.2f} s", what.number,
                     what.base ? ", a base" : "", what.tables, what.tables == 1 ? "" : "s",
                     what.rows, what.base ? "" : " changed", megabytes, seconds);
}

std::string folder_name(const std::string& table) {
  constexpr std::size_t kLongest = 200;
  std::string name;
  for (const char c : table) {
    if (is_plain(c) || (c == '.' && !name.empty())) name += c;
    else name += fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  if (name.size() <= kLongest) return name;
  return name.substr(0, kLongest) + "-" + checksum(table);
}

void Publisher::begin() {
  next_ = Clock::now() + std::chrono::milliseconds(static_cast<std::int64_t>(options_.every * 1e3));
}

bool Publisher::due(bool last) const {
  return !options_.folder.empty() && (last || Clock::now() >= next_);
}

Published Publisher::publish(const Declarations& declared, const SlotMap& map,
                             const std::string& note, const std::function<void()>& check) {
  begin();
  Published all;
  for (const auto& [number, bytes] : declared.tables) {
    publish_table(number, table_declaration(bytes).options, note, check, all);
  }
  publish_dense(declared, map, note, check, all);
  anew_ = false;
  begin();
  return all;
}

void Publisher::publish_table(std::uint32_t number, const TableOptions& table,
                              const std::string& note, const std::function<void()>& check,
                              Published& all) {
  const std::string folder = options_.folder + "/" + folder_name(table.name);
  make_directories(folder);
  const checkpoint::NextExport next =
      checkpoint::next_export(folder, table, anew_ ? 0 : options_.deltas);
  const ExportOrder what{number, folder, next.number, next.delta};
  checkpoint::Export exported{next.number, next.delta, note, {}};
  for (const Frame& answer :
       server_clients_.ask_all([&](std::size_t) { return export_order(what); }, kLongest)) {
    for (checkpoint::ExportPart& part : export_report_of(answer.payload.text()).parts) {
      all.rows += part.rows + part.removed;
      all.bytes += part.sum.bytes;
      exported.parts.push_back(std::move(part));
    }
  }
  check();
  checkpoint::publish(folder, table, exported);
  all.number = std::max(all.number, next.number);
  all.base = all.base && !next.delta;
  ++all.tables;
}

void Publisher::publish_dense(const Declarations& declared, const SlotMap& map,
                              const std::string& note, const std::function<void()>& check,
                              Published& all) {
  Safetensors content;
  content.metadata = {{"format", "trireme export"}, {"note", note}};
  std::map<std::uint32_t, Tensor> tensors;
  for (const auto& [number, bytes] : declared.dense) {
    const DenseDeclaration dense = dense_declaration(bytes);
    Tensor tensor = Tensor::uninitialized(DType::f32, {dense.rows, dense.columns});
    tensors.emplace(number, tensor);
    content.tensors.emplace(dense.name, std::move(tensor));
  }
  const std::vector<DenseBlockPlace> blocks = blocks_of(declared.dense);
  const std::vector<int> places = spread_by_size(blocks, map.servers());
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    Tensor& tensor = tensors.at(blocks[i].parameter);
    read_dense(blocks[i], places[i], map, tensor.data<float>() + blocks[i].first * tensor.dim(1));
  }
  const std::string bytes = safetensors_bytes(content);
  check();
  make_directories(options_.folder);
  write_file_atomically(options_.folder + "/dense.safetensors", bytes);
  all.bytes += bytes.size();
}

void Publisher::read_dense(const DenseBlockPlace& block, int server, const SlotMap& map,
                           float* to) {
  Frame pull = order(Op::dense_pull);
  pull.header.table = block.parameter;
  pull.header.count = block.block;
  pull.header.map_version = map.version();
  const Frame weights =
      server_clients_.ask(static_cast<std::size_t>(server), std::move(pull), kBlockTimeout);
  PayloadReader reader(weights.payload);
  reader.read_to(to, static_cast<std::size_t>(block.bytes / sizeof(float)));
  reader.end();
}

}  // namespace trireme::distributed
