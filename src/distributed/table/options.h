#pragma once

// The options of a sparse table, as plain data. The constructor of the table checks them.

#include <cstdint>
#include <string>

namespace trireme::distributed {

// How a gradient changes a row: the formulas of trireme/optimizer.h, element by element, for the
// rows of an update. Other rows and their state do not change. Computed in f32 without fused
// operations, so that every processor computes equal bits.
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

// The weights of a new row. They depend only on seed, name of the table and id, so that every
// server makes an equal row. uniform is between low and high; normal has mean low and standard
// deviation high.
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

// The folder for rows that do not fit into memory.
struct DiskOptions {
  // Its parent must exist. Existing cold rows in it are deleted. Empty: no disk.
  std::string folder;
  std::uint64_t limit = 0;  // bytes on disk, 0: no limit
  std::uint64_t write_buffer = 64u
                               << 20;  // bytes collected before a file is written; two in memory
};

struct TableOptions {
  std::string name;
  int width = 0;  // floats in a row, 1 to 65536
  RowRule rule;
  RowInitializer initializer;
  bool float16 = false;  // weights are stored as f16; state stays f32
  std::uint64_t seed = 0;
  // The number of lookups of an id, 1 to 65535, at which its row is created. Before that, lookups
  // return the initial value, and updates are dropped and counted.
  int admission = 1;
  double decay = 1;  // show and click statistics are multiplied by this at every tick
  // The limit in bytes of rows and index; 0: no limit. Space is made before a call, so a growing
  // index and rows from several threads may exceed it until the next call. A batch that needs more
  // also exceeds it. Without a folder for cold rows, calls that need more fail instead.
  std::uint64_t memory_limit = 0;
  DiskOptions disk;
};

// Errors: usage with the table and the option.
void check_options(const TableOptions& options);

}  // namespace trireme::distributed
