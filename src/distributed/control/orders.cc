#include "distributed/control/orders.h"

#include <fmt/core.h>

#include "base/error.h"
#include "distributed/checkpoint/part_json.h"
#include "distributed/coordination/message.h"

namespace trireme::distributed {

std::string text_of(const SaveOrder& order) { return encode(order); }
std::string text_of(const SaveReport& report) { return encode(report); }
std::string text_of(const LoadOrder& order) { return encode(order); }
std::string text_of(const LoadReport& report) { return encode(report); }
std::string text_of(const TickOrder& order) { return encode(order); }
std::string text_of(const TickReport& report) { return encode(report); }
std::string text_of(const ExportOrder& order) { return encode(order); }
std::string text_of(const ExportReport& report) { return encode(report); }
std::string text_of(const Declarations& declared) { return encode(declared); }

SaveOrder save_order_of(const std::string& text) {
  return decode<SaveOrder>(text, "an order to save");
}
SaveReport save_report_of(const std::string& text) {
  return decode<SaveReport>(text, "a report of saved data");
}
LoadOrder load_order_of(const std::string& text) {
  return decode<LoadOrder>(text, "an order to load");
}
LoadReport load_report_of(const std::string& text) {
  return decode<LoadReport>(text, "a report of loaded data");
}
TickOrder tick_order_of(const std::string& text) {
  return decode<TickOrder>(text, "an order of a tick");
}
TickReport tick_report_of(const std::string& text) {
  return decode<TickReport>(text, "a report of a tick");
}
ExportReport export_report_of(const std::string& text) {
  return decode<ExportReport>(text, "a report of exported rows");
}
Declarations declarations_of(const std::string& text) {
  return decode<Declarations>(text, "a list of declarations");
}

ExportOrder export_order_of(const std::string& text) {
  const char* const what = "an order to export";
  ExportOrder order = decode<ExportOrder>(text, what);
  if (order.table >= kMaxTables || order.folder.empty() || order.number < 1) {
    fail_data(fmt::format("{} is not valid: table {}, folder \"{}\", number {}", what, order.table,
                          order.folder, order.number));
  }
  return order;
}

std::vector<DenseBlockPlace> blocks_of(const std::map<std::uint32_t, std::string>& dense) {
  std::vector<DenseBlockPlace> blocks;
  for (const auto& [number, bytes] : dense) {
    const DenseDeclaration declaration = dense_declaration(bytes);
    for (const DenseBlockPlace& block :
         cut_into_blocks(number, declaration.rows, declaration.columns)) {
      blocks.push_back(block);
    }
  }
  return blocks;
}

std::vector<Blocks> blocks_by_server(const std::map<std::uint32_t, std::string>& dense,
                                     int servers) {
  const std::vector<DenseBlockPlace> blocks = blocks_of(dense);
  std::vector<Blocks> result(static_cast<std::size_t>(servers));
  const std::vector<int> places = spread_by_size(blocks, servers);
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    result[static_cast<std::size_t>(places[i])][blocks[i].parameter].push_back(blocks[i].block);
  }
  return result;
}

checkpoint::DenseRange range_of_block(std::uint32_t number, std::uint32_t block,
                                      std::size_t bytes) {
  const auto size = static_cast<std::int64_t>(bytes);
  return {fmt::format("dense {} block {}", number, block), u8, {size}, 0, size};
}

}  // namespace trireme::distributed
