#include "distributed/server/protocol.h"

#include <fmt/core.h>

#include <array>

#include "base/error.h"

namespace trireme::distributed {
namespace {

constexpr std::uint32_t kLongestName = 256;

void put_text(std::string& to, const std::string& text) {
  put(to, static_cast<std::uint32_t>(text.size()));
  to += text;
}

std::string get_text(PayloadReader& reader) {
  const auto size = reader.value<std::uint32_t>();
  if (size > kLongestName)
    fail_data(fmt::format("a name of {} bytes; {} are taken", size, kLongestName));
  return reader.text(size);
}

void put_rule(std::string& to, const RowRule& rule) {
  put(to, rule.kind);
  for (const double number :
       {rule.epsilon, rule.initial, rule.beta1, rule.beta2, rule.beta, rule.l1, rule.l2}) {
    put(to, number);
  }
}

template <class E>
E get_enum(PayloadReader& reader, E last) {
  const auto value = reader.value<std::uint8_t>();
  if (value > static_cast<std::uint8_t>(last)) fail_data("a declaration with an unknown kind");
  return static_cast<E>(value);
}

RowRule get_rule(PayloadReader& reader) {
  RowRule rule;
  rule.kind = get_enum(reader, RowRule::Kind::ftrl);
  for (double* const number :
       {&rule.epsilon, &rule.initial, &rule.beta1, &rule.beta2, &rule.beta, &rule.l1, &rule.l2}) {
    *number = reader.value<double>();
  }
  return rule;
}

}  // namespace

const char* name_of(Op op) {
  constexpr std::array<const char*, kOps> kNames = {
      "unknown",      "set_map",    "set_members", "declare_table", "declare_dense", "lookup",
      "push",         "count",      "dense_pull",  "dense_push",    "finish_step",   "read_slots",
      "insert_slots", "drop_slots", "dense_read",  "dense_insert",  "dense_drop",    "digest",
      "statistics",   "get_map",    "save",        "load",          "describe",      "tick",
      "export_rows",  "tasks_over"};
  const auto number = static_cast<std::size_t>(op);
  return kNames[number < kOps ? number : 0];
}

void check_role(const std::string& role, Op op) {
  if (role.empty() || role == "master") return;
  switch (op) {
    case Op::digest:
    case Op::statistics:
    case Op::get_map: return;
    case Op::declare_table:
    case Op::declare_dense:
    case Op::lookup:
    case Op::push:
    case Op::count:
    case Op::dense_pull:
    case Op::dense_push:
    case Op::finish_step:
      if (role == "trainer") return;
      break;
    default: break;
  }
  fail_usage(fmt::format("a {} may not request {}: its certificate is for another role", role,
                         name_of(op)));
}

const char* name_of(Mode mode) {
  switch (mode) {
    case Mode::asynchronous: return "asynchronous";
    case Mode::synchronous: return "synchronous";
    case Mode::geo: return "geo";
  }
  return "unknown";
}

std::string to_bytes(const TableDeclaration& declaration) {
  const TableOptions& options = declaration.options;
  std::string bytes;
  put_text(bytes, options.name);
  put(bytes, static_cast<std::int32_t>(options.width));
  put_rule(bytes, options.rule);
  put(bytes, options.initializer.kind);
  put(bytes, options.initializer.low);
  put(bytes, options.initializer.high);
  put(bytes, static_cast<std::uint8_t>(options.float16));
  put(bytes, options.seed);
  put(bytes, static_cast<std::int32_t>(options.admission));
  put(bytes, options.decay);
  put(bytes, options.memory_limit);
  put(bytes, static_cast<std::uint8_t>(declaration.spill));
  put(bytes, declaration.mode);
  return bytes;
}

TableDeclaration table_declaration(PayloadReader& reader) {
  TableDeclaration declaration;
  TableOptions& options = declaration.options;
  options.name = get_text(reader);
  options.width = reader.value<std::int32_t>();
  options.rule = get_rule(reader);
  options.initializer.kind = get_enum(reader, RowInitializer::Kind::normal);
  options.initializer.low = reader.value<double>();
  options.initializer.high = reader.value<double>();
  options.float16 = reader.value<std::uint8_t>() != 0;
  options.seed = reader.value<std::uint64_t>();
  options.admission = reader.value<std::int32_t>();
  options.decay = reader.value<double>();
  options.memory_limit = reader.value<std::uint64_t>();
  declaration.spill = reader.value<std::uint8_t>() != 0;
  declaration.mode = get_enum(reader, Mode::geo);
  check_options(options);
  return declaration;
}

std::string to_bytes(const DenseDeclaration& declaration) {
  std::string bytes;
  put_text(bytes, declaration.name);
  put(bytes, declaration.rows);
  put(bytes, declaration.columns);
  put_rule(bytes, declaration.rule);
  put(bytes, declaration.mode);
  return bytes;
}

DenseDeclaration dense_declaration(PayloadReader& reader) {
  DenseDeclaration declaration;
  declaration.name = get_text(reader);
  declaration.rows = reader.value<std::int64_t>();
  declaration.columns = reader.value<std::int64_t>();
  declaration.rule = get_rule(reader);
  declaration.mode = get_enum(reader, Mode::geo);
  constexpr std::int64_t kMax = std::int64_t{1} << 40;
  if (declaration.rows < 1 || declaration.columns < 1 || declaration.rows > kMax ||
      declaration.columns > static_cast<std::int64_t>(kLargestBlock / sizeof(float))) {
    fail_usage(fmt::format("dense parameter '{}' of {} x {}: rows have 1 to {} floats",
                           declaration.name, declaration.rows, declaration.columns,
                           kLargestBlock / sizeof(float)));
  }
  return declaration;
}

namespace {

// Parses a declaration from bytes and refuses extra bytes.
template <class Declaration>
Declaration whole(const std::string& bytes, Declaration (*parse)(PayloadReader&)) {
  const Payload payload{bytes};
  PayloadReader reader(payload);
  Declaration declaration = parse(reader);
  reader.end();
  return declaration;
}

}  // namespace

std::string to_bytes(const TasksOver& over) {
  std::string bytes;
  put(bytes, over.epoch);
  put(bytes, static_cast<std::uint32_t>(over.ranges.size()));
  for (const auto& [first, last] : over.ranges) put(bytes, first), put(bytes, last);
  return bytes;
}

TasksOver tasks_over_of(PayloadReader& reader) {
  TasksOver over;
  over.epoch = reader.value<std::uint32_t>();
  const auto count = reader.value<std::uint32_t>();
  if (count > reader.left() / (2 * sizeof(std::uint32_t))) fail_data("fewer tasks than are said");
  std::uint32_t end = 0;
  for (std::uint32_t i = 0; i < count; ++i) {
    const auto first = reader.value<std::uint32_t>(), last = reader.value<std::uint32_t>();
    if (first < end || last <= first) fail_data("tasks that are over, in no order");
    over.ranges.emplace_back(first, last);
    end = last;
  }
  return over;
}

TableDeclaration table_declaration(const std::string& bytes) {
  return whole<TableDeclaration>(bytes, table_declaration);
}

DenseDeclaration dense_declaration(const std::string& bytes) {
  return whole<DenseDeclaration>(bytes, dense_declaration);
}

}  // namespace trireme::distributed
