#pragma once

// Requests of the leader to a server as a whole, as JSON in frames: save, load, tick and
// export_rows.

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "distributed/checkpoint/catalog.h"
#include "distributed/checkpoint/export.h"
#include "distributed/server/protocol.h"
#include "distributed/server/spread.h"
#include "distributed/table/table.h"

namespace trireme::distributed {

// Write the slots of the server of all tables, and these blocks of dense parameters, to the folder
// of a checkpoint. The server may have other blocks that have moved. `over`: the written data must
// have these tasks completely, and nothing of other tasks.
struct SaveOrder {
  checkpoint::Begun checkpoint;
  Blocks blocks = {};
  TasksOver over = {};

  template <class Visitor>
  void fields(Visitor& visit) {
    visit("id", checkpoint.id);
    visit("delta", checkpoint.delta);
    visit("base", checkpoint.base);
    visit("previous", checkpoint.previous);
    visit("folder", checkpoint.folder);
    visit("blocks", blocks);
    visit("over", over);
  }
};
struct SaveReport {
  std::vector<checkpoint::Part> parts;
  Declarations declared;
  // It has something of other tasks: their number, and one of them. Then the files are no
  // checkpoint.
  std::uint64_t begun = 0;
  TaskOf first = {};

  template <class Visitor>
  void fields(Visitor& visit) {
    visit("parts", parts);
    visit("declared", declared);
    visit("begun", begun);
    visit("first", first);
  }
};

// Replace everything by the slots of the server and these blocks from a checkpoint. Checkpoint 0:
// remove everything.
struct LoadOrder {
  std::int64_t checkpoint = 0;
  std::uint64_t updates = 0;
  std::int64_t ticks = 0;  // first ticks of the clocks of its tables
  Declarations declared;

  template <class Visitor>
  void fields(Visitor& visit) {
    visit("checkpoint", checkpoint);
    visit("updates", updates);
    visit("ticks", ticks);
    visit("declared", declared);
  }
};
struct LoadReport {
  std::uint64_t rows = 0, bytes = 0;
  std::string damage;  // why it could not be loaded; then nothing remains

  template <class Visitor>
  void fields(Visitor& visit) {
    visit("rows", rows);
    visit("bytes", bytes);
    visit("damage", damage);
  }
};

// Age rows to this number of ticks of the job; then remove those that are not worth their place.
struct TickOrder {
  std::int64_t ticks = 0;
  Eviction eviction = {};

  template <class Visitor>
  void fields(Visitor& visit) {
    visit("ticks", ticks);
    visit("unused_for", eviction.unused_for);
    visit("below", eviction.below);
    visit("show_weight", eviction.show_weight);
    visit("click_weight", eviction.click_weight);
  }
};
struct TickReport {
  std::uint64_t evicted = 0;  // rows

  template <class Visitor>
  void fields(Visitor& visit) {
    visit("evicted", evicted);
  }
};
// The clock of a table after this number of ticks: it wraps around.
inline std::uint16_t clock_after(std::int64_t ticks) { return static_cast<std::uint16_t>(ticks); }
// Write the table of the server for an export, as checkpoint::Exporter.
struct ExportOrder {
  std::uint32_t table = 0;  // its number
  std::string folder;       // of the table; it exists
  std::int64_t number = 1;
  bool delta = false;

  template <class Visitor>
  void fields(Visitor& visit) {
    visit("table", table);
    visit("folder", folder);
    visit("number", number);
    visit("delta", delta);
  }
};
struct ExportReport {
  std::vector<checkpoint::ExportPart> parts;

  template <class Visitor>
  void fields(Visitor& visit) {
    visit("parts", parts);
  }
};

// Errors of the parsers: data.
std::string text_of(const SaveOrder& order);
SaveOrder save_order_of(const std::string& text);
std::string text_of(const SaveReport& report);
SaveReport save_report_of(const std::string& text);
std::string text_of(const LoadOrder& order);
LoadOrder load_order_of(const std::string& text);
std::string text_of(const LoadReport& report);
LoadReport load_report_of(const std::string& text);
std::string text_of(const TickOrder& order);
TickOrder tick_order_of(const std::string& text);
std::string text_of(const TickReport& report);
TickReport tick_report_of(const std::string& text);
std::string text_of(const ExportOrder& order);
ExportOrder export_order_of(const std::string& text);
std::string text_of(const ExportReport& report);
ExportReport export_report_of(const std::string& text);
std::string text_of(const Declarations& declared);
Declarations declarations_of(const std::string& text);

// All blocks of dense parameters with these declarations, as clients have them. Errors: data.
std::vector<DenseBlockPlace> blocks_of(const std::map<std::uint32_t, std::string>& dense);
// The same for each of `servers` servers, as clients spread them.
std::vector<Blocks> blocks_by_server(const std::map<std::uint32_t, std::string>& dense,
                                     int servers);
// The name of a block of a dense parameter in a checkpoint.
checkpoint::DenseRange range_of_block(std::uint32_t number, std::uint32_t block, std::size_t bytes);

}  // namespace trireme::distributed
