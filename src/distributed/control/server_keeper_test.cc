#include "distributed/control/server_keeper.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "distributed/checkpoint/testing/checkpoint.h"
#include "distributed/control/testing/job_control.h"

namespace trireme::distributed {
namespace {

// Fault 19: the handler of a moved slot kept a pointer to a table while it waited, and an order to
// load removed the table meanwhile. AddressSanitizer shows it.
TEST(ServerKeeper, TablesAreReplacedWhileSlotsMove) {
  const auto store = make_memory_store();
  const checkpoint::MemoryDirectory folder;
  TestServer server(*store, "server_0", 1, folder.path());
  const std::string address = "127.0.0.1:" + std::to_string(server.port());
  const auto send = [](Connection& connection, Frame request) {
    request.header.sequence = 1;
    return connection.ask(std::move(request), in(Milliseconds(60000))).header.code;
  };
  Network network;
  const ConnectionOptions options{
      .address = address, .service = kParameterService, .security = kTestSecurity};
  LoadOrder load;
  for (std::uint32_t table = 0; table < 20; ++table) {
    TableDeclaration declaration = count_table();
    declaration.options.name += std::to_string(table);
    load.declared.tables[table] = to_bytes(declaration);
  }
  std::atomic<bool> stop = false;
  std::thread mover([&] {
    Connection connection(network, options);
    for (std::uint32_t table = 0; !stop; table = (table + 1) % 20) {
      Frame drop = order(Op::drop_slots);
      drop.header.table = table;
      *drop.payload.extend<SlotRange>(1) = {0, 1};
      send(connection, std::move(drop));
    }
  });
  Connection connection(network, options);
  for (int i = 0; i < 50; ++i) {
    EXPECT_EQ(send(connection, order(Op::load, text_of(load))), Code::ok);
  }
  stop = true;
  mover.join();
}

}  // namespace
}  // namespace trireme::distributed
