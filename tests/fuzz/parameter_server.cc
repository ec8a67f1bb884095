#include "distributed/server/shard.h"

#include "fuzz.h"

namespace {

using namespace trireme::distributed;

void ask(Shard& shard, Frame frame) {
  Answer nobody(nullptr, 0, 0);
  shard.handle({}, std::move(frame), nobody);
}

// A server with a table and a dense parameter, both synchronous if `waits`.
void set_up(Shard& shard, bool waits) {
  shard.set_map(SlotMap::balanced(1), 1);
  shard.set_members(1, 1, 1);
  const Mode mode = waits ? Mode::synchronous : Mode::asynchronous;
  TableDeclaration table;
  table.options.name = "t";
  table.options.width = 2;
  table.mode = mode;
  Frame frame;
  frame.header.op = static_cast<std::uint8_t>(Op::declare_table);
  frame.payload.append(to_bytes(table));
  ask(shard, frame);
  frame = {};
  frame.header.op = static_cast<std::uint8_t>(Op::declare_dense);
  frame.header.map_version = 1;
  frame.payload.append(
      to_bytes(DenseDeclaration{.name = "d", .rows = 1, .columns = 2, .mode = mode}));
  *frame.payload.extend<std::array<float, 2>>(1) = {1, 2};
  ask(shard, frame);
}

}  // namespace

// Requests one after the other, each with its own operation, flags, count, sequence and length in a
// byte each.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Shard shard({.held_bytes = 1000, .sources = 4});
  set_up(shard, size > 0 && (data[0] & 1) != 0);
  for (std::size_t at = 1; at + 5 <= size;) {
    Frame frame;
    frame.header = {.op = data[at],
                    .flags = data[at + 1],
                    .map_version = 1,
                    .generation = 1,
                    .sequence = data[at + 3],
                    .count = data[at + 2]};
    const std::size_t length = std::min<std::size_t>(data[at + 4], size - at - 5);
    frame.payload.append(std::string(reinterpret_cast<const char*>(data) + at + 5, length));
    at += 5 + length;
    fuzz(nullptr, 0, [&](std::string_view) { ask(shard, std::move(frame)); });
  }
  return 0;
}
