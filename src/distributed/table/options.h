#pragma once

// What a sparse table is made of. Plain descriptions, checked when the table is made.

#include <cstdint>
#include <string>

namespace trireme::distributed {

// How a row follows its gradient: the formulas of trireme/optimizer.h, element by element, for the
// rows that an update names; all other rows and their state stay as they are. Computed in f32
// without fused operations, so that every processor gives the same bits.
struct RowRule {
  enum class Kind : std::uint8_t { sgd, adagrad, adam, ftrl };
  Kind kind = Kind::sgd;
  double epsilon = 1e-10;             // of adagrad and adam
  double initial = 0;                 // of v, for adagrad and ftrl
  double beta1 = 0.9, beta2 = 0.999;  // of adam
  double beta = 1, l1 = 0, l2 = 0;    // of ftrl

  static RowRule sgd() { return {}; }
  static RowRule adagrad(double initial = 0, double epsilon = 1e-10);
  static RowRule adam(double beta1 = 0.9, double beta2 = 0.999, double epsilon = 1e-8);
  static RowRule ftrl(double beta = 1, double l1 = 0, double l2 = 0, double initial = 0);
};

// The state of a row with `width` weights, in floats: v of adagrad; m, then v of adam and ftrl.
int state_width(const RowRule& rule, int width);

// The weights of a row that is new: of (seed, name of the table, id) alone, so that any server
// makes the same row. uniform lies between low and high, normal has mean low and standard deviation
// high.
struct RowInitializer {
  enum class Kind : std::uint8_t { zeros, uniform, normal };
  Kind kind = Kind::zeros;
  double low = 0, high = 0;

  static RowInitializer zeros() { return {}; }
  static RowInitializer uniform(double low, double high) { return {Kind::uniform, low, high}; }
  static RowInitializer normal(double mean, double deviation) {
    return {Kind::normal, mean, deviation};
  }
};

// Where rows lie that do not fit into memory.
struct DiskOptions {
  // Its parent must exist, and cold rows that lie in it are deleted; empty: no disk.
  std::string folder;
  std::uint64_t limit = 0;                 // bytes on disk, 0: no limit
  std::uint64_t write_buffer = 64u << 20;  // bytes gathered before a file is written; two in memory
};

struct TableOptions {
  std::string name;
  int width = 0;  // floats in a row, 1 to 65536
  RowRule rule;
  RowInitializer initializer;
  bool float16 = false;  // weights are stored as f16; state stays f32
  std::uint64_t seed = 0;
  // A row comes into being when its id has been looked up so often; below that, lookups give the
  // initial value and updates are dropped and counted. 1 to 65535.
  int admission = 1;
  double decay = 1;  // show and click statistics are multiplied by this at every tick
  // Bytes of rows and index, 0: none. Room is made before a call, so an index that grows and rows
  // that several threads bring at once may pass it until the next call. A batch that needs more
  // than that passes it, too. Without a folder for cold rows, calls that need more fail instead.
  std::uint64_t memory_limit = 0;
  DiskOptions disk;
};

// Errors: usage, naming the table and the option.
void check_options(const TableOptions& options);

}  // namespace trireme::distributed
