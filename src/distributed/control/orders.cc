#include "distributed/control/orders.h"

#include <fmt/core.h>

#include "distributed/control/json.h"

namespace trireme::distributed {
namespace {

Json json_of(const TasksOver& over) {
  Json json = {{"epoch", over.epoch}, {"tasks", Json::array()}};
  for (const auto& [first, last] : over.ranges) json["tasks"].push_back({first, last});
  return json;
}

TasksOver tasks_over_in(const Json& json) {
  TasksOver over;
  over.epoch = json.at("epoch").get<std::uint32_t>();
  for (const Json& range : json.at("tasks")) {
    over.ranges.emplace_back(range.at(0).get<std::uint32_t>(), range.at(1).get<std::uint32_t>());
  }
  return over;
}

}  // namespace

std::string text_of(const SaveOrder& order) {
  Json json;
  json["id"] = order.checkpoint.id;
  json["delta"] = order.checkpoint.delta;
  json["base"] = order.checkpoint.base;
  json["previous"] = order.checkpoint.previous;
  json["folder"] = checkpoint::escaped(order.checkpoint.folder);
  json["blocks"] = json_of_blocks(order.blocks);
  json["over"] = json_of(order.over);
  return json.dump();
}

SaveOrder save_order_of(const std::string& text) {
  return parsed_json(text, "order to save", [](const Json& json) {
    SaveOrder order;
    order.checkpoint.id = json.at("id").get<std::int64_t>();
    order.checkpoint.delta = json.at("delta").get<bool>();
    order.checkpoint.base = json.at("base").get<std::int64_t>();
    order.checkpoint.previous = json.at("previous").get<std::int64_t>();
    order.checkpoint.folder = checkpoint::unescaped(json.at("folder").get<std::string>());
    order.blocks = blocks_in(json.at("blocks"));
    order.over = tasks_over_in(json.at("over"));
    return order;
  });
}

std::string text_of(const SaveReport& report) {
  Json json;
  json["parts"] = Json::array();
  for (const checkpoint::Part& part : report.parts) {
    json["parts"].push_back(checkpoint::part_json(part));
  }
  json["declared"] = json_of(report.declared);
  json["begun"] = report.begun;
  json["first"] = {report.first.epoch, report.first.task};
  return json.dump();
}

SaveReport save_report_of(const std::string& text) {
  return parsed_json(text, "report of what was saved", [](const Json& json) {
    SaveReport report;
    for (const Json& part : json.at("parts")) report.parts.push_back(checkpoint::part_from(part));
    report.declared = declared_in(json.at("declared"));
    report.begun = json.at("begun").get<std::uint64_t>();
    const Json& first = json.at("first");
    report.first = {first.at(0).get<std::uint32_t>(), first.at(1).get<std::uint32_t>()};
    return report;
  });
}

std::string text_of(const LoadOrder& order) {
  Json json;
  json["checkpoint"] = order.checkpoint;
  json["updates"] = order.updates;
  json["ticks"] = order.ticks;
  json["declared"] = json_of(order.declared);
  return json.dump();
}

LoadOrder load_order_of(const std::string& text) {
  return parsed_json(text, "order to load", [](const Json& json) {
    LoadOrder order;
    order.checkpoint = json.at("checkpoint").get<std::int64_t>();
    order.updates = json.at("updates").get<std::uint64_t>();
    order.ticks = json.at("ticks").get<std::int64_t>();
    order.declared = declared_in(json.at("declared"));
    return order;
  });
}

std::string text_of(const LoadReport& report) {
  Json json;
  json["rows"] = report.rows;
  json["bytes"] = report.bytes;
  json["damage"] = checkpoint::escaped(report.damage);
  return json.dump();
}

LoadReport load_report_of(const std::string& text) {
  return parsed_json(text, "report of what was loaded", [](const Json& json) {
    return LoadReport{json.at("rows").get<std::uint64_t>(), json.at("bytes").get<std::uint64_t>(),
                      checkpoint::unescaped(json.at("damage").get<std::string>())};
  });
}

std::string text_of(const TickOrder& order) {
  return Json{{"ticks", order.ticks},
              {"unused_for", order.eviction.unused_for},
              {"below", order.eviction.below},
              {"show_weight", order.eviction.show_weight},
              {"click_weight", order.eviction.click_weight}}
      .dump();
}

TickOrder tick_order_of(const std::string& text) {
  return parsed_json(text, "order of a tick", [](const Json& json) {
    TickOrder order;
    order.ticks = json.at("ticks").get<std::int64_t>();
    order.eviction.unused_for = json.at("unused_for").get<int>();
    order.eviction.below = json.at("below").get<double>();
    order.eviction.show_weight = json.at("show_weight").get<double>();
    order.eviction.click_weight = json.at("click_weight").get<double>();
    return order;
  });
}

std::string text_of(const TickReport& report) { return Json{{"evicted", report.evicted}}.dump(); }

TickReport tick_report_of(const std::string& text) {
  return parsed_json(text, "report of a tick", [](const Json& json) {
    return TickReport{json.at("evicted").get<std::uint64_t>()};
  });
}

std::string text_of(const ExportOrder& order) {
  Json json;
  json["table"] = order.table;
  json["folder"] = checkpoint::escaped(order.folder);
  json["number"] = order.number;
  json["delta"] = order.delta;
  return json.dump();
}

ExportOrder export_order_of(const std::string& text) {
  return parsed_json(text, "order to export", [](const Json& json) {
    ExportOrder order;
    order.table = static_cast<std::uint32_t>(checkpoint::whole_at(json, "table", kMaxTables - 1));
    order.folder = checkpoint::text_at(json, "folder");
    order.number = checkpoint::count_at(json, "number");
    order.delta = json.at("delta").get<bool>();
    if (order.folder.empty() || order.number < 1) fail_data("exports have a folder and a number");
    return order;
  });
}

std::string text_of(const ExportReport& report) {
  Json json;
  json["parts"] = Json::array();
  for (const checkpoint::ExportPart& part : report.parts) {
    json["parts"].push_back(checkpoint::export_part_json(part));
  }
  return json.dump();
}

ExportReport export_report_of(const std::string& text) {
  return parsed_json(text, "report of what was exported", [](const Json& json) {
    ExportReport report;
    for (const Json& part : json.at("parts")) {
      report.parts.push_back(checkpoint::export_part_from(part));
    }
    return report;
  });
}

std::string text_of(const Declarations& declared) { return json_of(declared).dump(); }

Declarations declarations_of(const std::string& text) {
  return parsed_json(text, "list of declarations", declared_in);
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
