// Requests to a shard that it handles at once: declarations, lookups, pushes.

#include "distributed/server/shard.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "distributed/server/shard_parts.h"
#include "distributed/table/no_space.h"

namespace trireme::distributed {

void check_numbers(const StepNumbers& numbers) {
  if (!(numbers.rate > 0) || !std::isfinite(numbers.rate) || numbers.step < 1) {
    fail_usage(
        fmt::format("a push with rate {} and step {}: rates are positive, steps count from 1",
                    numbers.rate, numbers.step));
  }
}

void check_number(std::uint32_t number) {
  if (number >= kMaxTables) {
    fail_usage(
        fmt::format("number {} of a table or parameter; they are below {}", number, kMaxTables));
  }
}

Shard::Rows::Rows(const Frame& request, std::size_t width) {
  thread_local std::vector<Id> id_copy;
  thread_local std::vector<float> value_copy;
  PayloadReader reader(request.payload);
  numbers = reader.value<StepNumbers>();
  part = reader.value<std::uint32_t>();
  reader.value<std::uint32_t>();
  ids = reader.values(request.header.count, id_copy);
  values = reader.values(request.header.count * width, value_copy);
  reader.end();
  if ((request.header.flags & kDelta) == 0) check_numbers(numbers);
}

Shard::Shard(const ShardOptions& options)
    : options_(options), counters_(std::make_unique<Counters>()), slot_steps_(kSlots) {}
Shard::~Shard() = default;

std::shared_lock<std::shared_mutex> Shard::shared() const {
  const std::lock_guard gate(gate_);
  return std::shared_lock(mutex_);
}

std::unique_lock<std::shared_mutex> Shard::alone() const {
  const std::lock_guard gate(gate_);
  return std::unique_lock(mutex_);
}

Frame Shard::answer_to(const Frame& request, Code code) const {
  Frame answer;
  answer.header = request.header;
  answer.header.code = code;
  answer.header.map_version = map_.version();
  answer.header.count = 0;
  if (code == Code::wrong_map) ++counters_->wrong_map;
  if (code == Code::stale) ++counters_->stale;
  return answer;
}

void Shard::handle(const Peer&, Frame request, Answer& answer) {
  const Header header = request.header;
  if (broken_) {
    Frame busy;
    {
      const auto lock = shared();
      busy = answer_to(request, Code::busy);
    }
    return give(answer, std::move(busy));
  }
  try {
    perform(std::move(request), answer);
  } catch (const NoSpace& error) {
    give_no_space(header, error.what(), answer);
  } catch (const Error& error) {  // which the transport answers
    const bool refused = error.kind() == ErrorKind::usage || error.kind() == ErrorKind::data ||
                         error.kind() == ErrorKind::not_found;
    counters_->count(header.op, refused ? Code::refused : Code::failed);
    throw;
  }
}

// The client must repeat the request; space may become available meanwhile.
void Shard::give_no_space(const Header& request, const std::string& why, Answer& answer) {
  {
    const std::lock_guard full_lock(full_mutex_);
    full_ = why;
  }
  Frame frame;
  {
    const auto lock = shared();
    frame = answer_to({.header = request}, Code::no_space);
  }
  frame.payload.append(why);
  give(answer, std::move(frame));
}

std::optional<std::string> Shard::disk_full() const {
  const auto lock = shared();
  const bool full = std::any_of(tables_.begin(), tables_.end(),
                                [](const auto& each) { return each.second->rows.is_disk_full(); });
  if (!full) return std::nullopt;
  // The table knows it a moment before the error with the reason is caught.
  const std::lock_guard full_lock(full_mutex_);
  return full_.empty() ? std::nullopt : std::optional(full_);
}

void Shard::give(Answer& answer, Frame frame) {
  counters_->count(frame.header.op, frame.header.code);
  answer(std::move(frame));
}

void Shard::perform(Frame request, Answer& answer) {
  switch (static_cast<Op>(request.header.op)) {
    case Op::set_map:
    case Op::set_members:
    case Op::tasks_over: give(answer, control(request)); return;
    case Op::declare_table: give(answer, declare_table(request)); return;
    case Op::declare_dense: give(answer, declare_dense(request)); return;
    case Op::insert_slots:
    case Op::drop_slots: give(answer, move_slots(request)); return;
    case Op::dense_insert: give(answer, dense_insert(request)); return;
    case Op::dense_drop: give(answer, dense_drop(request)); return;
    case Op::finish_step: finish_step(request, answer); return;
    default: break;
  }
  Frame result;
  {
    const auto lock = shared();
    result = serve(request);
  }
  give(answer, std::move(result));
}

Frame Shard::serve(const Frame& request) {
  switch (static_cast<Op>(request.header.op)) {
    // For rows it is enough that they are here, unless servers count the parts of a step.
    case Op::dense_pull:
    case Op::dense_push:
      if (request.header.map_version != map_.version()) return answer_to(request, Code::wrong_map);
      break;
    default: break;
  }
  switch (static_cast<Op>(request.header.op)) {
    case Op::lookup:
    case Op::push:
    case Op::count:
    case Op::read_slots:
    case Op::digest:
      if (!tables_.contains(request.header.table)) return answer_to(request, Code::undeclared);
      break;
    default: break;
  }
  switch (static_cast<Op>(request.header.op)) {
    case Op::lookup: return lookup(request);
    case Op::push: return push(request);
    case Op::count: return count(request);
    case Op::dense_pull: return dense_pull(request);
    case Op::dense_push: return dense_push(request);
    case Op::read_slots: return read_slots(request);
    case Op::dense_read: return dense_read(request);
    case Op::digest: return digest(request);
    case Op::statistics:
    case Op::get_map: return tell(request);
    default:
      fail_usage(fmt::format("operation {} is none of a parameter server's", request.header.op));
  }
}

// --- The map and the members

bool Shard::obey(std::uint64_t epoch) {
  if (epoch < epoch_) return false;
  epoch_ = epoch;
  return true;
}

void Shard::drop_held() {
  if (half_applied_ && !broken_) {
    failure_.emplace(ErrorKind::io, "a step was applied in part when there was no room for more");
    broken_ = true;
  }
  held_.clear();
}

namespace {

// The answer to members that finished a step that will not happen.
Frame turned_away_frame() {
  Frame frame;
  frame.header.op = static_cast<std::uint8_t>(Op::finish_step);
  frame.header.code = Code::stale;
  return frame;
}

}  // namespace

bool Shard::set_map(const SlotMap& map, std::uint64_t epoch) {
  std::vector<Answer> turned_away;
  {
    const auto lock = alone();
    if (!obey(epoch) || map.version() < map_.version()) return false;
    if (map == map_) return true;
    map_ = map;
    for (int slot = 0; slot < kSlots; ++slot) {
      owned_[static_cast<std::size_t>(slot)] = map.owner(slot) == options_.place;
    }
    const std::lock_guard steps_lock(steps_mutex_);
    drop_held();
    turned_away = steps_.begin(steps_.generation(), 0);
  }
  for (Answer& answer : turned_away) give(answer, turned_away_frame());
  return true;
}

bool Shard::set_members(std::uint32_t generation, int members, std::uint64_t epoch) {
  if (members < 0 || members > 1 << 16)
    fail_usage(fmt::format("{} members of a generation", members));
  std::vector<Answer> turned_away;
  {
    const auto lock = alone();
    const std::lock_guard steps_lock(steps_mutex_);
    if (!obey(epoch) || generation < steps_.generation()) return false;
    if (generation == steps_.generation() && members == steps_.members()) return true;
    drop_held();
    turned_away = steps_.begin(generation, members);
  }
  for (Answer& answer : turned_away) give(answer, turned_away_frame());
  return true;
}

// Set before their marks are removed, so that a request without marks finds that they are over.
bool Shard::set_tasks_over(const TasksOver& over, std::uint32_t generation, std::uint64_t epoch) {
  const bool known = [&] {  // for which nothing need stand still
    const auto lock = shared();
    return epoch == epoch_;
  }();
  if (!known && !obeys(epoch)) return false;
  const auto lock = shared();
  {
    const std::lock_guard steps_lock(steps_mutex_);
    if (generation != steps_.generation()) return false;
  }
  {
    const std::lock_guard over_lock(over_mutex_);
    const bool more =
        over.epoch != over_->epoch ? over.epoch > over_->epoch : over.tasks() > over_->tasks();
    if (!more) return true;
    over_ = std::make_shared<const TasksOver>(over);
  }
  for (const auto& [number, table] : tables_) table->dedup.forget(over);
  for (const auto& [number, dense] : dense_) {
    for (const auto& [block, values] : dense->blocks) values->forget(over);
  }
  return true;
}

std::set<TaskOf> Shard::begun_tasks(const TasksOver& over) const {
  std::set<TaskOf> begun;
  const auto lock = shared();
  for (const auto& [number, table] : tables_) table->dedup.add_begun(over, begun);
  for (const auto& [number, dense] : dense_) {
    for (const auto& [block, values] : dense->blocks) values->add_begun(over, begun);
  }
  return begun;
}

bool Shard::is_over(const Source& source, std::uint64_t number) const {
  const auto over = [this] {
    const std::lock_guard lock(over_mutex_);
    return over_;
  }();
  return over->has(source, number);
}

SlotMap Shard::map() const {
  const auto lock = shared();
  return map_;
}

Shard::Members Shard::members() const {
  const std::lock_guard lock(steps_mutex_);
  return {steps_.generation(), steps_.members()};
}

Frame Shard::control(const Frame& request) {
  const Header& header = request.header;
  bool obeyed = false;
  if (static_cast<Op>(header.op) == Op::set_map) {
    obeyed = set_map(SlotMap::from_bytes(request.payload.text()), header.sequence);
  } else if (static_cast<Op>(header.op) == Op::tasks_over) {
    PayloadReader reader(request.payload);
    const TasksOver over = tasks_over_of(reader);
    reader.end();
    obeyed = set_tasks_over(over, header.generation, header.sequence);
  } else {
    if (header.count > 1u << 16)
      fail_usage(fmt::format("{} members of a generation", header.count));
    obeyed = set_members(header.generation, static_cast<int>(header.count), header.sequence);
    if (obeyed && request.payload.size() > 0) {
      PayloadReader reader(request.payload);
      const auto step = reader.value<std::uint64_t>(), updates = reader.value<std::uint64_t>();
      reader.end();
      begin_at(step, updates);
    }
  }
  const auto lock = shared();
  return answer_to(request, obeyed ? Code::ok : Code::stale);
}

// --- Declarations

namespace {

[[noreturn]] void fail_otherwise(const char* what, std::uint32_t number, const std::string& name) {
  fail_usage(fmt::format("{} {} ('{}') has been declared already, with other options", what, number,
                         name));
}

}  // namespace

Frame Shard::declare_table(const Frame& request) {
  const std::uint32_t number = request.header.table;
  check_number(number);
  PayloadReader reader(request.payload);
  const TableDeclaration declaration = table_declaration(reader);
  reader.end();
  std::string bytes = to_bytes(declaration);
  const auto lock = alone();
  const auto found = tables_.find(number);
  if (found != tables_.end()) {
    if (found->second->bytes != bytes) fail_otherwise("table", number, declaration.options.name);
    return answer_to(request);
  }
  declare(number, declaration, std::move(bytes));
  return answer_to(request);
}

void Shard::declare(std::uint32_t number, const TableDeclaration& declaration, std::string bytes) {
  TableOptions options = declaration.options;
  if (declaration.spill) {
    if (options_.folder.empty()) {
      fail_usage(fmt::format("table '{}' wants a disk, and the server has no folder for one",
                             options.name));
    }
    options.disk.folder = fmt::format("{}/table-{}", options_.folder, number);
    options.disk.write_buffer = options_.write_buffer;
  }
  const auto table = tables_.emplace(
      number, std::make_unique<Table>(declaration, std::move(bytes), options, options_.sources));
  table.first->second->rows.set_clock(clock_);
}

Frame Shard::declare_dense(const Frame& request) {
  const std::uint32_t number = request.header.table, block = request.header.count;
  check_number(number);
  if (block >= kMaxBlocks) fail_usage("a dense parameter has fewer than 2^20 blocks");
  PayloadReader reader(request.payload);
  const DenseDeclaration declaration = dense_declaration(reader);
  std::vector<float> scratch;
  const std::span<const float> weights = reader.values(reader.left() / sizeof(float), scratch);
  reader.end();
  std::string bytes = to_bytes(declaration);
  const auto lock = alone();
  if (request.header.map_version != map_.version()) return answer_to(request, Code::wrong_map);
  std::unique_ptr<Dense>& dense = dense_[number];
  if (dense == nullptr) dense = std::make_unique<Dense>(Dense{declaration, bytes, {}});
  if (dense->bytes != bytes) fail_otherwise("dense parameter", number, declaration.name);
  std::shared_ptr<DenseBlock>& place = dense->blocks[block];
  if (place == nullptr)
    place = std::make_shared<DenseBlock>(declaration, weights, options_.sources);
  if (place->size() != weights.size()) fail_otherwise("dense parameter", number, declaration.name);
  return answer_to(request);
}

SparseTable* Shard::table(std::uint32_t number) {
  const auto lock = shared();
  const auto found = tables_.find(number);
  return found == tables_.end() ? nullptr : &found->second->rows;
}

std::optional<std::string> Shard::table_name(std::uint32_t number) const {
  const auto lock = shared();
  const auto found = tables_.find(number);
  if (found == tables_.end()) return std::nullopt;
  return found->second->declaration.options.name;
}

Shard::Table& Shard::table_of(const Header& header) const { return *tables_.at(header.table); }

// --- Rows

bool Shard::owns(std::span<const Id> ids) const {
  bool all = true;
  for (const Id id : ids) all &= owned_[static_cast<std::size_t>(slot_of(id))];
  return all;
}

Frame Shard::lookup(const Frame& request) {
  Table& table = table_of(request.header);
  thread_local std::vector<Id> scratch;
  PayloadReader reader(request.payload);
  const std::span<const Id> ids = reader.values(request.header.count, scratch);
  reader.end();
  if (!owns(ids)) return answer_to(request, Code::wrong_map);
  const std::size_t floats = ids.size() * table.width();
  if (floats * sizeof(float) + kHeaderBytes > kLargestFrame) {
    fail_usage(fmt::format("a lookup of {} rows of {} floats: more than a frame has room for",
                           ids.size(), table.width()));
  }
  Frame answer = answer_to(request);
  answer.header.count = request.header.count;
  if (!ids.empty()) {
    const Create create = (request.header.flags & kCreate) != 0 ? Create::yes : Create::no;
    table.rows.lookup(ids, answer.payload.extend<float>(floats), create);
  }
  ++counters_->lookups;
  counters_->rows_read += ids.size();
  return answer;
}

Frame Shard::push(const Frame& request) {
  Table& table = table_of(request.header);
  Rows rows(request, table.width());
  if (!owns(rows.ids)) return answer_to(request, Code::wrong_map);
  const bool delta = (request.header.flags & kDelta) != 0;
  const Mode mode = table.declaration.mode;
  if (delta != (mode == Mode::geo)) {
    fail_usage(fmt::format("table '{}' is {}, and takes {}", table.declaration.options.name,
                           name_of(mode),
                           delta ? "gradients, not deltas" : "deltas, not gradients"));
  }
  ++counters_->pushes;
  if (mode == Mode::synchronous) return hold(request, table, rows);
  if (outdated(request.header)) return answer_to(request, Code::stale);
  return push_at_once(request, table, rows);
}

namespace {

// Keeps the rows for which keep(slot) holds; if all do, copies nothing.
template <class Keep>
void keep_rows(std::span<const Id>& ids, std::span<const float>& values, const Keep& keep) {
  thread_local std::vector<Id> kept_ids;
  thread_local std::vector<float> kept_values;
  const auto kept = [&](Id id) { return keep(slot_of(id)); };
  if (std::all_of(ids.begin(), ids.end(), kept)) return;
  const std::size_t width = values.size() / ids.size();
  kept_ids.clear();
  kept_values.clear();
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (!kept(ids[i])) continue;
    kept_ids.push_back(ids[i]);
    const auto row = values.subspan(i * width, width);
    kept_values.insert(kept_values.end(), row.begin(), row.end());
  }
  ids = kept_ids;
  values = kept_values;
}

void apply(SparseTable& table, std::span<const Id> ids, std::span<const float> values, bool delta,
           const StepNumbers& numbers) {
  if (ids.empty()) return;
  if (delta) {
    table.add_deltas(ids, values.data());
  } else {
    table.update(ids, values.data(), {numbers.rate, numbers.step});
  }
}

}  // namespace

// Calls apply(ids, values) with the rows that were not applied before: all, if the request has no
// number.
template <class Apply>
Frame Shard::apply_once(const Frame& request, Table& table, const Once& what, const Apply& apply) {
  const Header& header = request.header;
  std::span<const Id> ids = what.ids;
  std::span<const float> values = what.values;
  const Source source{(header.flags & kOfTask) != 0 ? what.of_task : what.of_sender, header.sender};
  if (header.sequence == 0) {
    apply(ids, values);
  } else if (is_over(source, header.sequence)) {
    ids = {};
  } else {
    const auto applied = table.dedup.of(source);
    const std::lock_guard lock(applied->mutex);
    if (is_over(source, header.sequence)) {  // since then, and its marks may be gone
      ids = {};
    } else if (!applied->is_new(header.sequence)) {
      keep_rows(ids, values, [&](int slot) { return !applied->has(slot, header.sequence); });
    }
    if (!ids.empty()) {
      apply(ids, values);
      applied->add(header.sequence, [ids](const auto& each) {
        for (const Id id : ids) each(slot_of(id));
      });
    }
  }
  counters_->duplicates += what.ids.size() - ids.size();
  return answer_to(request, !what.ids.empty() && ids.empty() ? Code::duplicate : Code::ok);
}

Frame Shard::push_at_once(const Frame& request, Table& table, Rows& rows) {
  const bool delta = (request.header.flags & kDelta) != 0;
  const Once what{rows.ids, rows.values, Source::Kind::sender, Source::Kind::task};
  return apply_once(request, table, what, [&](auto ids, auto values) {
    apply(table.rows, ids, values, delta, rows.numbers);
    counters_->rows_pushed += ids.size();
  });
}

Frame Shard::hold(const Frame& request, Table& table, Rows& rows) {
  const Header& header = request.header;
  const std::lock_guard lock(steps_mutex_);
  if (stale(header)) return answer_to(request, Code::stale);
  const std::size_t asked = rows.ids.size();
  keep_rows(rows.ids, rows.values, [&](int slot) {
    return slot_steps_[static_cast<std::size_t>(slot)] < header.sequence;
  });
  counters_->duplicates += asked - rows.ids.size();
  if (rows.ids.empty()) return answer_to(request, asked > 0 ? Code::duplicate : Code::ok);
  const std::tuple key(header.table, header.sender, rows.part);
  const auto known = held_.find(header.sequence);
  if (known != held_.end() && known->second.arrived_rows.contains(key)) {
    counters_->duplicates += rows.ids.size();
    return answer_to(request, Code::duplicate);
  }
  const std::uint64_t bytes = rows.ids.size() * (sizeof(Id) + table.width() * sizeof(float));
  const Turn turn = turn_of(header, bytes);
  if (turn == Turn::none) return answer_to(request, Code::busy);
  Held& held = held_[header.sequence];
  sum_up([&] {
    if (turn == Turn::now) {
      held.add_rows(header.table, rows.numbers, rows.ids, rows.values);
    } else {
      held.early_rows.emplace(std::tuple(header.sender, header.table, rows.part),
                              Held::Rows{.numbers = rows.numbers,
                                         .ids = {rows.ids.begin(), rows.ids.end()},
                                         .values = {rows.values.begin(), rows.values.end()}});
      held.early_bytes += bytes;
    }
    held.arrived_rows.insert(key);
  });
  counters_->rows_pushed += rows.ids.size();
  return answer_to(request);
}

Frame Shard::count(const Frame& request) {
  Table& table = table_of(request.header);
  thread_local std::vector<Id> ids_copy;
  thread_local std::vector<float> counts_copy;
  PayloadReader reader(request.payload);
  const auto ids = reader.values(request.header.count, ids_copy);
  const auto counts = reader.values(std::size_t{2} * request.header.count, counts_copy);
  reader.end();
  if (!owns(ids)) return answer_to(request, Code::wrong_map);
  if (outdated(request.header)) return answer_to(request, Code::stale);
  const Once what{ids, counts, Source::Kind::count_of_sender, Source::Kind::count_of_task};
  return apply_once(request, table, what, [&](auto new_ids, auto new_counts) {
    if (!new_ids.empty()) table.rows.count(new_ids, new_counts.data());
  });
}

// --- Statistics

ShardStatistics Shard::statistics() const {
  const auto lock = shared();
  const Counters& c = *counters_;
  ShardStatistics result = {c.lookups,    c.pushes,    c.rows_read, c.rows_pushed,
                            c.duplicates, c.wrong_map, c.stale,     c.steps};
  for (const auto& [number, table] : tables_) {
    result.forgotten += table->dedup.forgotten();
    result.dedup_bytes += table->dedup.memory();
  }
  for (const auto& [number, dense] : dense_) {
    for (const auto& [block, values] : dense->blocks) result.dedup_bytes += values->dedup_memory();
  }
  const std::lock_guard steps_lock(steps_mutex_);
  for (const auto& [step, held] : held_) result.held += held.bytes + held.early_bytes;
  return result;
}

std::vector<RequestCount> Shard::requests() const {
  std::vector<RequestCount> counts;
  for (std::size_t op = 0; op < kOps; ++op) {
    for (std::size_t code = 0; code < kCodes; ++code) {
      const std::uint64_t count = counters_->requests[op][code];
      if (count > 0) counts.push_back({static_cast<Op>(op), static_cast<Code>(code), count});
    }
  }
  return counts;
}

std::vector<TableReport> Shard::tables() const {
  const auto lock = shared();
  std::vector<TableReport> reports;
  for (const auto& [number, table] : tables_) {
    reports.push_back(
        {number, table->declaration.options.name, table->rows.statistics(), table->dedup.memory()});
  }
  return reports;
}

}  // namespace trireme::distributed
