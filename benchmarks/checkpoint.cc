// checkpoint FOLDER [ROWS] [REPEATS]: checkpoints of a sparse table in FOLDER, on one thread. The
// table has ROWS (1,000,000) rows of 16 floats with AdaGrad. Measures a full checkpoint, a delta of
// a tenth of the rows, checking and loading both, and an export. Prints one JSON line each with the
// median of the repeats: MB (10^6 bytes) of files per second.

#include <cstdlib>
#include <filesystem>
#include <functional>
#include <numeric>

#include "distributed/checkpoint/export.h"
#include "distributed/checkpoint/restore.h"
#include "distributed/checkpoint/writer.h"
#include "distributed/coordination/memory_store.h"
#include "distributed/table/table.h"
#include "measuring.h"

namespace {

using namespace trireme::distributed;
using namespace trireme::distributed::checkpoint;

constexpr std::size_t kBatch = 10000;

TableOptions table_options() {
  TableOptions options;
  options.name = "table";
  options.width = 16;
  options.rule = RowRule::adagrad();
  options.initializer = RowInitializer::uniform(-0.01, 0.01);
  return options;
}

// Updates rows [0, rows) and creates missing ones.
void update_rows(SparseTable& table, std::uint64_t rows) {
  std::vector<Id> ids;
  std::vector<float> gradients(kBatch * 16);
  for (std::size_t i = 0; i < gradients.size(); ++i) gradients[i] = bench::uniform(1, i) - 0.5F;
  for (std::uint64_t first = 0; first < rows; first += kBatch) {
    ids.resize(std::min<std::uint64_t>(kBatch, rows - first));
    std::iota(ids.begin(), ids.end(), first);
    table.update(ids, gradients.data(), {.rate = 0.01});
  }
}

struct Figures {
  std::vector<double> seconds;
  std::uint64_t bytes = 0;

  void print(const std::string& what, std::uint64_t rows) {
    std::sort(seconds.begin(), seconds.end());
    const double median = seconds[seconds.size() / 2];
    std::cout << "{\"case\": \"" << what << "\", \"rows\": " << rows
              << ", \"mb\": " << static_cast<double>(bytes) / 1e6 << ", \"seconds\": " << median
              << ", \"mb_per_s\": " << static_cast<double>(bytes) / 1e6 / median << "}"
              << std::endl;
  }
};

void time(Figures& figures, const std::function<std::uint64_t()>& work) {
  const double start = bench::now();
  figures.bytes = work();
  figures.seconds.push_back(bench::now() - start);
}

std::uint64_t save(Catalog& catalog, Writer& writer, SparseTable& table, bool delta) {
  const Begun begun = catalog.begin(delta);
  Manifest manifest{
      .id = begun.id, .delta = begun.delta, .base = begun.base, .previous = begun.previous};
  manifest.parts = writer.write(begun, {{table, {{0, kSlots}}}}, {});
  std::uint64_t bytes = 0;
  for (const Part& part : manifest.parts) bytes += part.sum.bytes;
  catalog.commit(manifest);
  return bytes;
}

void measure(const std::string& folder, std::uint64_t rows, int repeats) {
  const auto store = make_memory_store();
  Catalog catalog(*store, {.folder = folder + "/checkpoints", .prefix = "c/"});
  SparseTable table(table_options());
  Writer writer({.server = "s"});
  Figures full, delta, check, loading, base;
  for (int i = 0; i < repeats; ++i) {
    update_rows(table, rows);
    time(full, [&] { return save(catalog, writer, table, false); });
    update_rows(table, rows / 10);
    time(delta, [&] { return save(catalog, writer, table, true); });
    const auto list = catalog.list();
    SparseTable other(table_options());
    const Share share{{{other, {{0, kSlots}}}}, {}};
    time(check, [&] {
      if (damage(catalog, list, list[0].id, share)) std::abort();
      return full.bytes + delta.bytes;
    });
    time(loading, [&] { return load(catalog, list, list[0].id, share).bytes; });
    if (other.digest() != table.digest()) std::abort();
    std::filesystem::create_directories(folder + "/export");
    Exporter exporter({.server = "s"});
    time(base, [&] {
      std::uint64_t bytes = 0;
      for (const ExportPart& part :
           exporter.write(folder + "/export", table, {{0, kSlots}}, 1, false)) {
        bytes += part.sum.bytes;
      }
      return bytes;
    });
  }
  full.print("write full", rows);
  delta.print("write delta", rows / 10);
  check.print("check both", rows);
  loading.print("load both", rows);
  base.print("export", rows);
  std::cout << "{\"case\": \"memory\", \"table_mb\": "
            << static_cast<double>(table.statistics().memory) / 1e6
            << ", \"peak_mb\": " << bench::peak_memory_mb() << "}\n";
}

}  // namespace

int main(int argc, char** argv) {
  const std::uint64_t rows = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 1'000'000;
  const int repeats = argc > 3 ? std::atoi(argv[3]) : 3;
  if (argc < 2 || argc > 4 || rows < 10 || repeats < 1) {
    std::cerr << "usage: checkpoint FOLDER [ROWS] [REPEATS]\n";
    return 2;
  }
  const std::string folder = std::string(argv[1]) + "/checkpoint-benchmark";
  measure(folder, rows, repeats);
  std::filesystem::remove_all(folder);
  return 0;
}
