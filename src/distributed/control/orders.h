#pragma once

// What the leader asks of a server as a whole, as JSON in frames: save, load and export_rows.

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "distributed/checkpoint/catalog.h"
#include "distributed/checkpoint/export.h"
#include "distributed/server/protocol.h"
#include "distributed/server/spread.h"

namespace trireme::distributed {

// Write everything that the server has to a checkpoint's folder.
struct SaveOrder {
  checkpoint::Begun checkpoint;
};
struct SaveReport {
  std::vector<checkpoint::Part> parts;
  Declarations declared;
};

// Take what a checkpoint has of the server's slots and of these blocks in place of all that is there. Checkpoint 0: nothing
// is left.
struct LoadOrder {
  std::int64_t checkpoint = 0;
  std::uint64_t updates = 0;
  Declarations declared;
};
struct LoadReport {
  std::uint64_t rows = 0, bytes = 0;
  std::string damage;  // why it could not be loaded; then nothing is there
};

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
std::string text_of(const ExportOrder& order);
ExportOrder export_order_of(const std::string& text);
std::string text_of(const ExportReport& report);
ExportReport export_report_of(const std::string& text);
std::string text_of(const Declarations& declared);
Declarations declarations_of(const std::string& text);

// All blocks of dense parameters with these declarations, as clients have them. Errors: data.
std::vector<DenseBlockPlace> blocks_of(const std::map<std::uint32_t, std::string>& dense);
// A block of a dense parameter as a checkpoint names it.
checkpoint::DenseRange range_of_block(std::uint32_t number, std::uint32_t block, std::size_t bytes);

}  // namespace trireme::distributed
