#include "distributed/control/server_keeper.h"

#include <fmt/core.h>

#include <cstring>
#include <memory>
#include <new>
#include <optional>

#include "base/error.h"
#include "distributed/checkpoint/restore.h"
#include "distributed/server/dense.h"
#include "distributed/server/spread.h"
#include "distributed/table/no_space.h"

namespace trireme::distributed {
namespace {

constexpr std::size_t kMaxOrders = 4;

Frame answer_of(const Frame& request, Code code, std::string text) {
  Frame answer;
  answer.header = request.header;
  answer.header.code = code;
  answer.payload = Payload(std::move(text));
  return answer;
}

std::vector<SlotRange> ranges_of(const Shard& shard) {
  std::vector<SlotRange> ranges;
  for (const auto& [first, last] : shard.slots()) ranges.push_back({first, last});
  return ranges;
}

}  // namespace

ServerKeeper::ServerKeeper(Store& store, Shard& shard, const KeeperOptions& options)
    : store_(store),
      shard_(shard),
      options_(options),
      writer_({.server = options.name}),
      exporter_({.server = options.name}),
      thread_([this] { run(); }) {}

ServerKeeper::~ServerKeeper() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  wake_.notify_all();
  thread_.join();
}

bool ServerKeeper::handle(const Frame& request, Answer& answer) {
  const auto op = static_cast<Op>(request.header.op);
  if (op == Op::insert_slots || op == Op::drop_slots) forget(request);
  if (op == Op::describe) {
    answer(answer_of(request, Code::ok, text_of(shard_.declarations())));
    return true;
  }
  const bool known = op == Op::save || op == Op::load || op == Op::tick || op == Op::export_rows;
  if (!known) return false;
  if (!shard_.obeys(request.header.sequence)) {
    answer(answer_of(request, Code::stale, ""));
    return true;
  }
  answer.put_aside();
  {
    const std::lock_guard lock(mutex_);
    if (orders_.size() >= kMaxOrders) {
      answer(answer_of(request, Code::busy, ""));
      return true;
    }
    orders_.push_back({request, std::move(answer)});
  }
  wake_.notify_all();
  return true;
}

// Slots move: the next checkpoint and the next export have them completely.
void ServerKeeper::forget(const Frame& request) {
  const std::optional<std::string> table = shard_.table_name(request.header.table);
  if (!table || request.payload.size() < 2 * sizeof(std::int32_t)) return;
  PayloadReader reader(request.payload);
  const auto first = reader.value<std::int32_t>(), last = reader.value<std::int32_t>();
  if (first < 0 || last < first || last > kSlots) return;
  const std::lock_guard lock(writer_mutex_);
  writer_.forget(*table, {first, last});
  exporter_.forget(*table, {first, last});
}

void ServerKeeper::run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    wake_.wait(lock, [this] { return stop_ || !orders_.empty(); });
    if (stop_) return;
    Order order = std::move(orders_.front());
    orders_.pop_front();
    lock.unlock();
    order.answer(obey(order.request));
    lock.lock();
  }
}

Frame ServerKeeper::obey(const Frame& request) {
  try {
    const std::string text = request.payload.text();
    const auto done = [&](const auto& report) {
      return answer_of(request, Code::ok, text_of(report));
    };
    switch (static_cast<Op>(request.header.op)) {
      case Op::save: return done(save(save_order_of(text)));
      case Op::load: return done(load(load_order_of(text)));
      case Op::export_rows: return done(export_rows(export_order_of(text)));
      default: return done(tick(tick_order_of(text)));
    }
  } catch (const NoSpace& error) {
    return answer_of(request, Code::no_space, error.what());
  } catch (const std::bad_alloc&) {
    return answer_of(request, Code::failed, "the server has no memory left for this order");
  } catch (const std::exception& error) {
    return answer_of(request, Code::failed, error.what());
  }
}

SaveReport ServerKeeper::save(const SaveOrder& order) {
  const Declarations declared = shard_.declarations();
  const std::vector<SlotRange> slots = ranges_of(shard_);
  std::vector<checkpoint::TableSlots> tables;
  for (const auto& [number, bytes] : declared.tables) {
    tables.push_back({*shard_.table(number), slots});
  }
  std::vector<checkpoint::DenseRows> dense;
  for (const auto& [number, blocks] : order.blocks) {
    for (const std::uint32_t block : blocks) {
      const auto content = std::make_shared<const std::string>(shard_.block(number, block));
      if (content->empty()) {
        fail_io(fmt::format("block {} of dense parameter {} is not here", block, number));
      }
      dense.push_back({range_of_block(number, block, content->size()),
                       [content](std::uint64_t offset, char* to, std::size_t count) {
                         std::memcpy(to, content->data() + offset, count);
                       }});
    }
  }
  const std::lock_guard lock(writer_mutex_);
  SaveReport report{writer_.write(order.checkpoint, tables, dense), declared};
  // Read afterwards, so that it includes pushes during the writing.
  const std::set<TaskOf> begun = shard_.begun_tasks(order.over);
  report.begun = begun.size();
  if (!begun.empty()) report.first = *begun.begin();
  return report;
}

TickReport ServerKeeper::tick(const TickOrder& order) {
  shard_.set_clock(clock_after(order.ticks));
  TickReport report;
  for (const auto& [number, bytes] : shard_.declarations().tables) {
    report.evicted += shard_.table(number)->evict(order.eviction);
  }
  return report;
}

ExportReport ServerKeeper::export_rows(const ExportOrder& order) {
  SparseTable* const table = shard_.table(order.table);
  if (table == nullptr) fail_data("there is no table " + std::to_string(order.table) + " here");
  const std::lock_guard lock(writer_mutex_);
  return {exporter_.write(order.folder, *table, ranges_of(shard_), order.number, order.delta)};
}

LoadReport ServerKeeper::load(const LoadOrder& order) {
  for (const auto& [number, bytes] : shard_.declarations().tables) {
    const std::lock_guard lock(writer_mutex_);
    writer_.forget(shard_.table(number)->options().name, {});
    exporter_.forget(shard_.table(number)->options().name, {});
  }
  shard_.replace(order.declared, clock_after(order.ticks));
  shard_.set_updates(order.updates);
  if (order.checkpoint == 0) return {};
  checkpoint::Share share;
  const std::vector<SlotRange> slots = ranges_of(shard_);
  for (const auto& [number, bytes] : order.declared.tables) {
    share.tables.push_back({*shard_.table(number), slots});
  }
  std::map<std::uint32_t, std::map<std::uint32_t, std::string>> blocks;
  for (const auto& [number, wanted] : order.declared.blocks) {
    const DenseDeclaration declaration = dense_declaration(order.declared.dense.at(number));
    for (const std::uint32_t block : wanted) {
      std::string& bytes = blocks[number][block];
      bytes.resize(DenseBlock::content_bytes(
          declaration, floats_of_block(declaration.rows, declaration.columns, block)));
      share.dense.push_back({range_of_block(number, block, bytes.size()),
                             [&bytes](std::uint64_t offset, std::string_view piece) {
                               bytes.replace(offset, piece.size(), piece);
                             }});
    }
  }
  try {
    checkpoint::Catalog catalog(store_, {.folder = options_.folder, .prefix = options_.prefix});
    const checkpoint::Loaded loaded =
        checkpoint::load(catalog, catalog.list(), order.checkpoint, share);
    for (const auto& [number, all] : blocks) {
      for (const auto& [block, bytes] : all) shard_.put_block(number, block, bytes);
    }
    return {loaded.rows, loaded.bytes, ""};
  } catch (const checkpoint::Damaged& error) {
    return {0, 0, error.what()};
  }
}

}  // namespace trireme::distributed
