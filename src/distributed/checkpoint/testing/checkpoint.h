#pragma once

// For tests: a job's servers, each with a table for some of the slots, beside one table that has
// them all.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "distributed/checkpoint/restore.h"
#include "distributed/checkpoint/writer.h"
#include "distributed/coordination/memory_store.h"
#include "distributed/table/testing/table.h"

namespace trireme::distributed::checkpoint {

// A folder in memory if possible: syncing hundreds of files takes seconds on a busy disk, and files
// survive a killed process in both places.
class MemoryDirectory {
 public:
  MemoryDirectory() {
    std::string pattern = "/dev/shm/trireme-XXXXXX";
    if (::mkdtemp(pattern.data()) == nullptr) {
      pattern = (std::filesystem::temp_directory_path() / "trireme-XXXXXX").string();
      EXPECT_NE(::mkdtemp(pattern.data()), nullptr) << pattern;
    }
    path_ = pattern;
  }
  ~MemoryDirectory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// The slots of server `number` of `servers`: of 24 ranges, every so manyth.
inline std::vector<SlotRange> slots_of_server(int number, int servers) {
  constexpr int kRanges = 24;
  std::vector<SlotRange> slots;
  for (int i = number; i < kRanges; i += servers) {
    slots.push_back({kSlots * i / kRanges, kSlots * (i + 1) / kRanges});
  }
  return slots;
}

struct Server {
  std::vector<SlotRange> slots;
  std::unique_ptr<SparseTable> table;
  std::unique_ptr<Writer> writer;
  std::vector<float> dense;  // rows [first, last) of a parameter f32[kDenseRows, 3]
  std::int64_t first = 0, last = 0;

  bool has(Id id) const {
    const int slot = slot_of(id);
    return std::any_of(slots.begin(), slots.end(), [&](const SlotRange& range) {
      return slot >= range.first && slot < range.last;
    });
  }
};

inline constexpr std::int64_t kDenseRows = 37;

class Servers {
 public:
  Servers(const TableOptions& options, int count, WriterOptions writer = {}) {
    static int made = 0;  // a new process has a new name
    for (int i = 0; i < count; ++i) {
      Server server;
      server.slots = slots_of_server(i, count);
      server.table = std::make_unique<SparseTable>(options);
      writer.server = "server" + std::to_string(i) + "-" + std::to_string(made++);
      server.writer = std::make_unique<Writer>(writer);
      server.first = kDenseRows * i / count;
      server.last = kDenseRows * (i + 1) / count;
      server.dense.resize(static_cast<std::size_t>(server.last - server.first) * 3);
      servers_.push_back(std::move(server));
    }
  }

  std::vector<Server>& all() { return servers_; }

  // update(table, ids, gradients) of each server's ids.
  template <class Update>
  void for_ids(const std::vector<Id>& ids, const std::vector<float>& values, const Update& update) {
    const std::size_t width = values.size() / std::max<std::size_t>(ids.size(), 1);
    for (Server& server : servers_) {
      std::vector<Id> own;
      std::vector<float> rows;
      for (std::size_t i = 0; i < ids.size(); ++i) {
        if (!server.has(ids[i])) continue;
        own.push_back(ids[i]);
        rows.insert(rows.end(), &values[i * width], &values[i * width] + width);
      }
      update(*server.table, own, rows);
    }
  }

  std::uint64_t digest() {
    std::uint64_t sum = 0;
    for (Server& server : servers_) {
      for (const SlotRange& range : server.slots) {
        sum += server.table->digest(range.first, range.last);
      }
      // Nothing beside its own.
      EXPECT_EQ(server.table->digest(), [&] {
        std::uint64_t own = 0;
        for (const SlotRange& range : server.slots) {
          own += server.table->digest(range.first, range.last);
        }
        return own;
      }());
    }
    return sum;
  }

  // The values of the dense parameter are 1000 * step + their place.
  void set_dense(std::int64_t step) {
    for (Server& server : servers_) {
      std::iota(server.dense.begin(), server.dense.end(),
                static_cast<float>(1000 * step + server.first * 3));
    }
  }
  void expect_dense(std::int64_t step) const {
    for (const Server& server : servers_) {
      for (std::size_t i = 0; i < server.dense.size(); ++i) {
        ASSERT_EQ(server.dense[i],
                  static_cast<float>(1000 * step + server.first * 3) + static_cast<float>(i));
      }
    }
  }

  // All parts of a checkpoint.
  std::vector<Part> write(const Begun& begun) {
    std::vector<Part> parts;
    for (Server& server : servers_) {
      DenseRows dense{dense_range(server), [&](std::uint64_t offset, char* to, std::size_t bytes) {
                        std::memcpy(to, reinterpret_cast<char*>(server.dense.data()) + offset,
                                    bytes);
                      }};
      for (Part& part : server.writer->write(begun, {{*server.table, server.slots}}, {dense})) {
        parts.push_back(std::move(part));
      }
    }
    return parts;
  }

  static Manifest manifest(const Begun& begun, std::int64_t step, std::vector<Part> parts) {
    Manifest manifest{
        .id = begun.id, .delta = begun.delta, .base = begun.base, .previous = begun.previous};
    manifest.step = step;
    manifest.snapshot = "queue of step " + std::to_string(step);
    manifest.parts = std::move(parts);
    return manifest;
  }

  // A whole checkpoint; its id.
  std::int64_t save(Catalog& catalog, bool delta, std::int64_t step) {
    set_dense(step);
    const Begun begun = catalog.begin(delta);
    catalog.commit(manifest(begun, step, write(begun)));
    return begun.id;
  }

  Share share() {
    Share share;
    for (Server& server : servers_) {
      share.tables.push_back({*server.table, server.slots});
      share.dense.push_back(
          {dense_range(server), [&server](std::uint64_t offset, std::string_view bytes) {
             ASSERT_LE(offset + bytes.size(), server.dense.size() * sizeof(float));
             std::memcpy(reinterpret_cast<char*>(server.dense.data()) + offset, bytes.data(),
                         bytes.size());
           }});
    }
    return share;
  }

 private:
  static DenseRange dense_range(const Server& server) {
    return {"net.w", DType::f32, {kDenseRows, 3}, server.first, server.last};
  }

  std::vector<Server> servers_;
};

// The same training, at random, of servers and of the table that has all.
class Training {
 public:
  Training(SparseTable& whole, unsigned seed) : whole_(whole), batches_(seed) {}

  void run(Servers& servers, int steps) {
    const auto width = static_cast<std::size_t>(whole_.options().width);
    for (int i = 0; i < steps; ++i) {
      ++step_;
      const std::vector<Id> ids = batches_.ids(40, 2000);
      const std::vector<float> gradients = batches_.floats(ids.size() * width);
      const auto update = [&](SparseTable& table, const std::vector<Id>& own,
                              const std::vector<float>& rows) {
        table.update(own, rows.data(), {.rate = 0.1, .step = step_});
        const std::vector<float> counts(2 * own.size(), 1);
        table.count(own, counts.data());
        if (step_ % 3 == 0) table.tick();
        if (step_ % 7 == 0) table.evict({.unused_for = 5});
      };
      update(whole_, ids, gradients);
      servers.for_ids(ids, gradients, update);
    }
  }

 private:
  SparseTable& whole_;
  Batches batches_;
  std::int64_t step_ = 0;
};

inline TableOptions words() {
  TableOptions options = small_options(RowRule::adam(), 3);
  options.decay = 0.9;
  return options;
}

inline CatalogOptions catalog_options(const MemoryDirectory& directory) {
  return {.folder = directory.path() + "/checkpoints", .prefix = "job/checkpoint/"};
}

// In place, without the care that writers take.
inline void overwrite(const std::string& path, const std::string& content) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file.write(content.data(), static_cast<std::streamsize>(content.size()));
}

inline std::string flipped(std::string bytes, std::size_t at) {
  bytes[at] = static_cast<char>(bytes[at] ^ 0x10);
  return bytes;
}

}  // namespace trireme::distributed::checkpoint
