#pragma once

// What the leader asks of a server as a whole, as JSON in frames: save, load, tick and export_rows.

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

// Write to a checkpoint's folder the server's slots of all tables, and these blocks of dense
// parameters: it may have others still, which another server has by now. `over`: of these tasks all
// is in what is written, and of no others anything may be.
struct SaveOrder {
  checkpoint::Begun checkpoint;
  Blocks blocks = {};
  TasksOver over = {};
};
struct SaveReport {
  std::vector<checkpoint::Part> parts;
  Declarations declared;
  // Of other tasks something is: how many these are, and one of them. What was written is no
  // checkpoint then.
  std::uint64_t begun = 0;
  TaskOf first = {};
};

// Take what a checkpoint has of the server's slots and of these blocks in place of all that is
// there. Checkpoint 0: nothing is left.
struct LoadOrder {
  std::int64_t checkpoint = 0;
  std::uint64_t updates = 0;
  std::int64_t ticks = 0;  // by which its tables' clocks begin
  Declarations declared;
};
struct LoadReport {
  std::uint64_t rows = 0, bytes = 0;
  std::string damage;  // why it could not be loaded; then nothing is there
};

// Rows are to be as old as so many ticks of the job; then those go that are not worth their place.
struct TickOrder {
  std::int64_t ticks = 0;
  Eviction eviction = {};
};
struct TickReport {
  std::uint64_t evicted = 0;  // rows
};
// A table's clock after so many ticks: it goes round.
inline std::uint16_t clock_after(std::int64_t ticks) { return static_cast<std::uint16_t>(ticks); }
// Write what the server has of a table for an export, as checkpoint::Exporter does.
struct ExportOrder {
  std::uint32_t table = 0;  // its number
  std::string folder;       // of the table, which is there
  std::int64_t number = 1;
  bool delta = false;
};
struct ExportReport {
  std::vector<checkpoint::ExportPart> parts;
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
// The same as each of so many servers has them, as clients spread them.
std::vector<Blocks> blocks_by_server(const std::map<std::uint32_t, std::string>& dense,
                                     int servers);
// A block of a dense parameter as a checkpoint names it.
checkpoint::DenseRange range_of_block(std::uint32_t number, std::uint32_t block, std::size_t bytes);

}  // namespace trireme::distributed
