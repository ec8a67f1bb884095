// sparse_table [ROWS] [REPEATS] [FOLDER]: measures a sparse table of ROWS (10,000,000) rows of 16
// floats with AdaGrad on one thread, using the class that servers use: rows created, looked up and
// updated per second, with uniform and with Zipf-distributed ids. Prints one JSON line each with
// the best of the repeats, since other programs can only make it slower, and with all of them. With
// a FOLDER, half of the rows are stored there on disk. Without one, the limit of the machine's
// memory is measured first: prefetched random accesses to lines of 64 bytes in as much memory as
// the table takes, with no other work. A lookup reads 2 lines per row (index and weights), an
// update changes 3 (index, weights and state).

#include <cmath>
#include <cstdlib>
#include <functional>

#include "distributed/table/table.h"
#include "measuring.h"

namespace {

using trireme::distributed::Id;
using trireme::distributed::SparseTable;

constexpr std::size_t kWidth = 16;
constexpr std::size_t kBatch = 13312;     // 512 examples of 26 ids
constexpr std::uint64_t kRowBytes = 167;  // memory per row, including the index
constexpr double kExponent = 1.05;        // of Zipf's law

const char* store = "memory";  // where the rows are stored
std::size_t batches = 512;     // per repeat; in memory their rows exceed all caches

double random_unit(std::uint64_t i) {
  return static_cast<double>(trireme::distributed::hash_of(i ^ 0x5bd1e995) >> 11) * 0x1p-53;
}

// The id of rank k. Ids are unordered, like those of hashed features.
Id id_of_rank(std::uint64_t rank) { return trireme::distributed::hash_of(rank + 77); }

std::vector<Id> uniform_ids(std::uint64_t rows) {
  std::vector<Id> ids(kBatch * batches);
  for (std::size_t i = 0; i < ids.size(); ++i) {
    ids[i] = id_of_rank(static_cast<std::uint64_t>(random_unit(i) * static_cast<double>(rows)));
  }
  return ids;
}

// Samples ids with the inverse of the distribution function of x^-kExponent on [1, rows + 1).
std::vector<Id> zipf_ids(std::uint64_t rows) {
  std::vector<Id> ids(kBatch * batches);
  const double power = 1 - kExponent, span = std::pow(static_cast<double>(rows) + 1, power) - 1;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    const double x = std::pow(1 + random_unit(i) * span, 1 / power);
    const auto rank = static_cast<std::uint64_t>(x) - 1;
    ids[i] = id_of_rank(rank < rows ? rank : rows - 1);
  }
  return ids;
}

void print(const std::string& what, const std::string& ids, std::uint64_t rows,
           std::vector<double> rates, double longest_call) {
  std::cout << "{\"case\": \"" << what << "\", \"ids\": \"" << ids << "\", \"store\": \"" << store
            << "\", \"rows\": " << rows << ", \"width\": " << kWidth << ", \"batch\": " << kBatch
            << ", \"million_rows_per_s\": " << *std::max_element(rates.begin(), rates.end())
            << ", \"all\": [";
  for (std::size_t i = 0; i < rates.size(); ++i) std::cout << (i == 0 ? "" : ", ") << rates[i];
  std::cout << "], \"longest_call_ms\": " << longest_call * 1e3 << "}" << std::endl;
}

// Runs work(batch number) for all batches, `repeats` times, and prints the result.
void measure(const std::string& what, const std::string& ids, std::uint64_t rows, int repeats,
             const std::function<void(std::size_t)>& work) {
  std::vector<double> rates;
  double longest = 0;
  for (int repeat = 0; repeat < repeats; ++repeat) {
    const double start = bench::now();
    double last = start;
    for (std::size_t i = 0; i < batches; ++i) {
      work(i);
      const double now = bench::now();
      longest = std::max(longest, now - last);
      last = now;
    }
    rates.push_back(static_cast<double>(kBatch * batches) / (last - start) / 1e6);
  }
  print(what, ids, rows, rates, longest);
}

// Measures rows per second if each row reads or changes `kLines` random lines of the memory. The
// sum keeps the compiler from removing the reads.
template <std::size_t kLines, bool kChange>
void measure_limit(const std::string& what, std::vector<std::uint64_t>& memory, int repeats) {
  constexpr std::size_t kRows = kBatch * 256, kAhead = 16, kLine = 8;
  const std::size_t lines = memory.size() / kLine;
  const auto place = [&](std::size_t row, std::size_t line) {
    return &memory[trireme::distributed::hash_of(row * kLines + line) % lines * kLine];
  };
  std::vector<double> rates;
  for (int repeat = 0; repeat < repeats; ++repeat) {
    std::uint64_t sum = 0;
    const double start = bench::now();
    for (std::size_t row = 0; row < kRows; ++row) {
      for (std::size_t line = 0; line < kLines; ++line) {
        __builtin_prefetch(place(row + kAhead, line), kChange ? 1 : 0);
        if constexpr (kChange) ++*place(row, line);
        else sum += *place(row, line);
      }
    }
    rates.push_back(static_cast<double>(kRows) / (bench::now() - start) / 1e6);
    memory[0] += sum;
  }
  print(what, "uniform", memory.size() * sizeof(memory[0]) / kRowBytes, rates, 0);
}

void make_rows(SparseTable& table, std::uint64_t rows, float* out) {
  std::vector<Id> ids;
  double longest = 0;
  const double start = bench::now();
  for (std::uint64_t first = 0; first < rows; first += kBatch) {
    ids.clear();
    for (std::uint64_t i = first; i < std::min(rows, first + kBatch); ++i) {
      ids.push_back(id_of_rank(i));
    }
    const double before = bench::now();
    table.lookup(ids, out);
    longest = std::max(longest, bench::now() - before);
  }
  print("make", "rising", rows, {static_cast<double>(rows) / (bench::now() - start) / 1e6},
        longest);
}

}  // namespace

int main(int argc, char** argv) {
  const std::uint64_t rows = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 10'000'000;
  const int repeats = argc > 2 ? std::atoi(argv[2]) : 5;
  if (rows < 1 || repeats < 1 || argc > 4) {
    std::cerr << "usage: sparse_table [ROWS] [REPEATS] [FOLDER]\n";
    return 2;
  }
  trireme::distributed::TableOptions options;
  options.name = "table";
  options.width = static_cast<int>(kWidth);
  options.rule = trireme::distributed::RowRule::adagrad();
  options.initializer = trireme::distributed::RowInitializer::uniform(-0.01, 0.01);
  if (argc > 3) {
    store = "disk";
    batches = 64;
    options.disk.folder = std::string(argv[3]) + "/sparse-table-benchmark";
    options.memory_limit = rows * kRowBytes / 2;
  }
  if (argc <= 3) {
    std::vector<std::uint64_t> memory(rows * kRowBytes / sizeof(std::uint64_t) + 8);
    measure_limit<2, false>("limit of lookup", memory, repeats);
    measure_limit<3, true>("limit of update", memory, repeats);
  }
  SparseTable table(options);
  std::vector<float> out(kBatch * kWidth), gradients(kBatch * kWidth);
  for (std::size_t i = 0; i < gradients.size(); ++i) gradients[i] = bench::uniform(1, i) - 0.5F;
  make_rows(table, rows, out.data());
  for (const bool zipf : {false, true}) {
    const std::vector<Id> ids = zipf ? zipf_ids(rows) : uniform_ids(rows);
    const std::string name = zipf ? "zipf" : "uniform";
    const auto batch = [&](std::size_t i) {
      return std::span<const Id>(ids.data() + i * kBatch, kBatch);
    };
    measure("lookup", name, rows, repeats,
            [&](std::size_t i) { table.lookup(batch(i), out.data()); });
    measure("update", name, rows, repeats,
            [&](std::size_t i) { table.update(batch(i), gradients.data(), {.rate = 0.01}); });
  }
  std::cout << "{\"case\": \"memory\", \"store\": \"" << store
            << "\", \"table_mb\": " << static_cast<double>(table.statistics().memory) / 1e6
            << ", \"peak_mb\": " << bench::peak_memory_mb() << "}\n";
  return 0;
}
