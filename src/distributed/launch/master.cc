// The master of a job as a process.

#include "distributed/master/master.h"

#include <thread>

#include "base/error.h"
#include "distributed/coordination/membership.h"
#include "distributed/launch/role.h"
#include "distributed/launch/server_view.h"
#include "distributed/launch/task_reader.h"
#include "distributed/server/protocol.h"
#include "trireme/job.h"

namespace trireme::distributed {
namespace {

constexpr Milliseconds kPause{50};

bool stopped(const RoleOptions& options) { return options.stop && options.stop(); }

void tell(Connection& server, Frame request) {
  request.header.sequence = 1;  // of the one leader there is
  const Frame answer = server.ask(std::move(request), in(Milliseconds(5000)));
  if (answer.header.code != Code::ok) {
    fail(ErrorKind::io,
         server.address() + ": " + name_of(answer.header.code) + " " + answer.payload.text());
  }
}

// Gives the servers their slots when all are there, and tells trainers where they are.
void place_servers(Store& store, const RoleOptions& options) {
  Membership members(store, options.prefix);
  ServerView view;
  view.map = SlotMap::balanced(options.servers);
  view.addresses.resize(static_cast<std::size_t>(options.servers));
  for (;;) {
    const std::vector<Member> servers = members.members("server");
    for (const Member& server : servers) {
      view.addresses.at(static_cast<std::size_t>(std::stoi(server.id))) = server.address;
    }
    if (static_cast<int>(servers.size()) == options.servers) break;
    if (stopped(options)) return;
    std::this_thread::sleep_for(kPause);
  }
  Network network;
  for (const std::string& address : view.addresses) {
    Connection server(network, {.address = address, .security = security_of(options)});
    Frame map;
    map.header.op = static_cast<std::uint8_t>(Op::set_map);
    map.payload = Payload(view.map.to_bytes());
    tell(server, std::move(map));
    Frame generation;
    generation.header.op = static_cast<std::uint8_t>(Op::set_members);
    generation.header.generation = 1;
    generation.header.count = static_cast<std::uint32_t>(options.trainers);
    tell(server, std::move(generation));
  }
  store.put(map_key(options), text_of(view));
}

}  // namespace

void run_master(const RoleOptions& options) {
  const std::unique_ptr<Store> store = open_store(options);
  Job job = Job::read(options.job, {.set = options.set, .threads = 1});
  const std::int64_t task_batches = job.distribution().task_batches;
  const data::Batches& batches = job.train_data();
  const std::int64_t count = batches.size();
  if (options.servers > 0 && !store->get(map_key(options))) place_servers(*store, options);
  MasterOptions master;
  master.prefix = options.prefix;
  master.server.security = security_of(options);
  master.epochs = job.epochs();
  master.tasks = [=](std::int64_t) { return tasks_of(count, task_batches); };
  const Master running(*store, master);
  while (!stopped(options)) std::this_thread::sleep_for(kPause);
}

}  // namespace trireme::distributed
