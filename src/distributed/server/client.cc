#include "distributed/server/client.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstring>
#include <set>

#include "base/error.h"
#include "distributed/server/call.h"
#include "distributed/server/dedup_table.h"
#include "distributed/server/plan.h"

namespace trireme::distributed {
namespace {

// Bytes in memory that the caller keeps.
template <class T>
void append_shared(Payload& payload, const T* begin, std::size_t n,
                   std::shared_ptr<const void> owner) {
  payload.append(std::as_bytes(std::span<const T>(begin, n)), std::move(owner));
}

// Calls body(first, last) for every run of adjacent units.
template <class Body>
void for_each_run(std::span<const std::uint32_t> units, const Body& body) {
  for (std::size_t i = 0; i < units.size();) {
    std::size_t end = i + 1;
    while (end < units.size() && units[end] == units[end - 1] + 1) ++end;
    body(units[i], units[end - 1] + 1);
    i = end;
  }
}

void append_ids(Payload& payload, const std::shared_ptr<const Plan>& plan,
                std::span<const std::uint32_t> units) {
  for_each_run(units, [&](std::size_t first, std::size_t last) {
    append_shared(payload, plan->ids().data() + first, last - first, plan);
  });
}

// Gathers the rows of the units, each of `width` floats.
void append_rows(Payload& payload, const std::shared_ptr<const float[]>& all, std::size_t width,
                 std::span<const std::uint32_t> units) {
  for_each_run(units, [&](std::size_t first, std::size_t last) {
    append_shared(payload, all.get() + first * width, (last - first) * width, all);
  });
}

std::vector<int> owners(const Plan& plan, const SlotMap& map) {
  std::vector<int> places(plan.size());
  for (std::size_t i = 0; i < plan.size(); ++i) places[i] = map.owner(plan.slot(i));
  return places;
}

Call::Work rows_work(const char* what, const std::shared_ptr<const Plan>& plan,
                     std::size_t unit_bytes) {
  Call::Work work;
  work.what = what;
  work.units = plan->size();
  work.places = [plan](const ServerView& view) { return owners(*plan, view.map); };
  work.may_begin = [plan](std::size_t unit) { return plan->slot(unit) != plan->slot(unit - 1); };
  work.unit_bytes = unit_bytes;
  return work;
}

Frame request_of(Op op, std::uint32_t table) {
  Frame frame;
  frame.header.op = static_cast<std::uint8_t>(op);
  frame.header.table = table;
  return frame;
}

}  // namespace

struct ParameterClient::State {
  State(Network& network, const ClientOptions& options) : servers(network, options) {}

  Deadline deadline() const { return in(servers.options().deadline); }
  // One unit for each server.
  Call::Work to_all(const char* what) const {
    Call::Work work;
    work.what = what;
    work.units = servers.view().addresses.size();
    work.places = [](const ServerView& view) {
      std::vector<int> places(view.addresses.size());
      for (std::size_t i = 0; i < places.size(); ++i) places[i] = static_cast<int>(i);
      return places;
    };
    work.unit_bytes = servers.options().part_bytes;
    work.fixed = true;
    return work;
  }
  void run(Call::Work work) { Call(servers, std::move(work)).wait(deadline()); }

  std::size_t width(std::uint32_t table) const {
    const auto found = widths.find(table);
    if (found == widths.end())
      fail_usage(fmt::format("table {} has not been declared by this client", table));
    return found->second.first;
  }
  Mode mode(std::uint32_t table) const { return widths.at(table).second; }

  // The identity of a push in a header.
  void identify(Header& header, Mode mode, const PushId& id) {
    if (mode == Mode::synchronous) {
      if (step == 0) fail_usage("a push to what is synchronous before begin_step()");
      header.generation = generation;
      header.sender = rank;
      header.sequence = step;
      return;
    }
    if (mode == Mode::geo) header.flags |= kDelta;
    identify_at_once(header, id);
  }
  void identify_at_once(Header& header, const PushId& id) {
    header.generation = generation;
    if (id.is_task) header.flags |= kOfTask;
    header.sender = id.is_task ? id.number : servers.options().sender;
    header.sequence = id.is_task ? id.sequence : next_sequence();
  }
  std::uint64_t next_sequence() {
    if (!open.empty() && sequence + 1 - *open.begin() >= DedupWindow::kWindow) {
      fail_usage(
          fmt::format("{} pushes were started since one that is still under way: wait for it first",
                      sequence - *open.begin()));
    }
    return ++sequence;
  }

  // A push with this identity. Its number is open until it has arrived.
  Underway start(Call::Work work, const Header& header, const PushId& id,
                 Mode mode = Mode::asynchronous);

  struct Dense {
    DenseDeclaration declaration;
    std::vector<std::size_t> blocks;  // in `blocks`
  };
  // The servers of the blocks of the parameter, as Work::places.
  std::function<std::vector<int>(const ServerView&)> places_of(
      const std::vector<std::size_t>& which) {
    return [this, which](const ServerView& view) {
      const std::vector<int> all =
          servers.options().spread(blocks, std::max(view.map.servers(), 1));
      std::vector<int> places;
      for (const std::size_t i : which) places.push_back(all[i]);
      return places;
    };
  }
  Call::Work dense_work(const char* what, std::uint32_t number) {
    const auto found = dense.find(number);
    if (found == dense.end()) {
      fail_usage(fmt::format("dense parameter {} has not been declared by this client", number));
    }
    Call::Work work;
    work.what = what;
    work.units = found->second.blocks.size();
    work.places = places_of(found->second.blocks);
    work.unit_bytes = servers.options().part_bytes;  // each in a frame of its own
    return work;
  }
  const DenseBlockPlace& block(std::uint32_t number, std::size_t unit) const {
    return blocks[dense.at(number).blocks[unit]];
  }

  Servers servers;
  std::uint64_t sequence = 0;
  std::set<std::uint64_t> open;  // numbers of pushes under way
  std::map<std::uint32_t, std::pair<std::size_t, Mode>> widths;
  std::vector<DenseBlockPlace> blocks;
  std::map<std::uint32_t, Dense> dense;
  std::uint32_t generation = 0, rank = 0;
  std::uint64_t step = 0;
};

// --- Calls in progress

struct Underway::State {
  State(ParameterClient::State& c, Call::Work work) : client(c), call(c.servers, std::move(work)) {}
  ~State() {
    if (sequence != 0) client.open.erase(sequence);
  }
  ParameterClient::State& client;
  Call call;
  std::uint64_t sequence = 0;  // of a push
};

Underway::Underway(std::unique_ptr<State> state) : state_(std::move(state)) {}
Underway::Underway(Underway&&) noexcept = default;
Underway& Underway::operator=(Underway&&) noexcept = default;
Underway::~Underway() = default;

Underway ParameterClient::State::start(Call::Work work, const Header& header, const PushId& id,
                                       Mode mode) {
  auto state = std::make_unique<Underway::State>(*this, std::move(work));
  if (mode != Mode::synchronous && !id.is_task) {
    state->sequence = header.sequence;
    open.insert(header.sequence);
  }
  return Underway(std::move(state));
}

void Underway::wait() {
  if (state_ == nullptr) return;
  state_->call.wait(state_->client.deadline());
  state_.reset();
}

// --- Tables

ParameterClient::ParameterClient(Network& network, const ClientOptions& options)
    : state_(std::make_unique<State>(network, options)) {}
ParameterClient::~ParameterClient() = default;

void ParameterClient::declare(std::uint32_t number, const TableDeclaration& declaration) {
  check_options(declaration.options);
  const std::string bytes = to_bytes(declaration);
  Call::Work work = state_->to_all("declare a table");
  work.build = [=](std::span<const std::uint32_t>, std::uint32_t) {
    Frame frame = request_of(Op::declare_table, number);
    frame.payload.append(bytes);
    return frame;
  };
  state_->run(std::move(work));
  state_->servers.tables[number] = bytes;
  state_->widths[number] = {static_cast<std::size_t>(declaration.options.width), declaration.mode};
}

Underway ParameterClient::prefetch(std::uint32_t table, std::span<const Id> ids, float* rows,
                                   Create create) {
  const std::size_t width = state_->width(table);
  const auto plan = std::make_shared<const Plan>(ids);
  Call::Work work = rows_work("lookup", plan, sizeof(Id) + width * sizeof(float));
  work.build = [=](std::span<const std::uint32_t> units, std::uint32_t) {
    Frame frame = request_of(Op::lookup, table);
    frame.header.flags = create == Create::yes ? kCreate : 0;
    frame.header.count = static_cast<std::uint32_t>(units.size());
    append_ids(frame.payload, plan, units);
    return frame;
  };
  work.take = [=](std::span<const std::uint32_t> units, const Frame& answer) {
    PayloadReader reader(answer.payload);
    std::vector<float> scratch;
    for (const std::uint32_t unit : units) {
      const std::span<const float> row = reader.values(width, scratch);
      for (const std::uint32_t position : plan->positions(unit)) {
        std::memcpy(rows + position * width, row.data(), width * sizeof(float));
      }
    }
    reader.end();
  };
  return Underway(std::make_unique<Underway::State>(*state_, std::move(work)));
}

Underway ParameterClient::start_push(std::uint32_t table, std::span<const Id> ids,
                                     const float* values, const UpdateStep& step,
                                     const PushId& id) {
  const std::size_t width = state_->width(table);
  const Mode mode = state_->mode(table);
  Frame head = request_of(Op::push, table);
  state_->identify(head.header, mode, id);
  const auto plan = std::make_shared<const Plan>(ids);
  const std::shared_ptr<const float[]> sums = plan->sums(values, width);
  Call::Work work = rows_work("push", plan, sizeof(Id) + width * sizeof(float));
  work.fixed = mode == Mode::synchronous;
  work.build = [=](std::span<const std::uint32_t> units, std::uint32_t part) {
    Frame frame = head;
    frame.header.count = static_cast<std::uint32_t>(units.size());
    std::string numbers;
    put(numbers, StepNumbers{step.rate, step.step});
    put(numbers, std::uint64_t{part});
    frame.payload.append(std::move(numbers));
    append_ids(frame.payload, plan, units);
    append_rows(frame.payload, sums, width, units);
    return frame;
  };
  return state_->start(std::move(work), head.header, id, mode);
}

// Applied at once in all modes: a count belongs to the batch, whatever happens to its step.
Underway ParameterClient::start_count(std::uint32_t table, std::span<const Id> ids,
                                      const float* counts, const PushId& id) {
  state_->width(table);
  Frame head = request_of(Op::count, table);
  state_->identify_at_once(head.header, id);
  const auto plan = std::make_shared<const Plan>(ids);
  const std::shared_ptr<const float[]> sums = plan->sums(counts, 2);
  Call::Work work = rows_work("count", plan, sizeof(Id) + 2 * sizeof(float));
  work.build = [=](std::span<const std::uint32_t> units, std::uint32_t) {
    Frame frame = head;
    frame.header.count = static_cast<std::uint32_t>(units.size());
    append_ids(frame.payload, plan, units);
    append_rows(frame.payload, sums, 2, units);
    return frame;
  };
  return state_->start(std::move(work), head.header, id);
}

// --- Dense parameters

void ParameterClient::declare(const std::vector<DenseParameter>& parameters) {
  state_->blocks.clear();
  state_->dense.clear();
  for (const DenseParameter& parameter : parameters) {
    const DenseDeclaration& declaration = parameter.declaration;
    if (parameter.weights.size() !=
        static_cast<std::size_t>(declaration.rows * declaration.columns)) {
      fail_usage(fmt::format("dense parameter '{}' of {} x {} with {} weights", declaration.name,
                             declaration.rows, declaration.columns, parameter.weights.size()));
    }
    State::Dense& dense = state_->dense[parameter.number];
    dense.declaration = declaration;
    dense.blocks.clear();
    for (const DenseBlockPlace& block :
         cut_into_blocks(parameter.number, declaration.rows, declaration.columns)) {
      dense.blocks.push_back(state_->blocks.size());
      state_->blocks.push_back(block);
    }
  }
  for (const DenseParameter& parameter : parameters) {
    Call::Work work = state_->dense_work("declare a dense parameter", parameter.number);
    work.build = [&](std::span<const std::uint32_t> units, std::uint32_t) {
      const DenseBlockPlace& block = state_->block(parameter.number, units[0]);
      Frame frame = request_of(Op::declare_dense, parameter.number);
      frame.header.count = block.block;
      frame.payload.append(to_bytes(parameter.declaration));
      const auto columns = static_cast<std::size_t>(parameter.declaration.columns);
      const std::size_t first = static_cast<std::size_t>(block.first) * columns;
      const std::size_t n = static_cast<std::size_t>(block.last - block.first) * columns;
      std::memcpy(frame.payload.extend<float>(n), parameter.weights.data() + first,
                  n * sizeof(float));
      return frame;
    };
    state_->run(std::move(work));
  }
}

Underway ParameterClient::start_pull(std::uint32_t number, float* weights) {
  State* const state = state_.get();
  Call::Work work = state->dense_work("pull", number);
  work.build = [=](std::span<const std::uint32_t> units, std::uint32_t) {
    Frame frame = request_of(Op::dense_pull, number);
    frame.header.count = state->block(number, units[0]).block;
    return frame;
  };
  work.take = [=](std::span<const std::uint32_t> units, const Frame& answer) {
    const DenseBlockPlace& block = state->block(number, units[0]);
    const std::int64_t columns = state->dense.at(number).declaration.columns;
    PayloadReader reader(answer.payload);
    reader.read_to(weights + block.first * columns,
                   static_cast<std::size_t>((block.last - block.first) * columns));
    reader.end();
  };
  return Underway(std::make_unique<Underway::State>(*state_, std::move(work)));
}

Underway ParameterClient::start_push(std::uint32_t number, const float* gradient,
                                     const UpdateStep& step, const PushId& id) {
  State* const state = state_.get();
  Call::Work work = state->dense_work("push", number);
  const DenseDeclaration& declaration = state->dense.at(number).declaration;
  const std::int64_t columns = declaration.columns;
  Frame head = request_of(Op::dense_push, number);
  state->identify(head.header, declaration.mode, id);
  work.fixed = declaration.mode == Mode::synchronous;
  work.build = [=](std::span<const std::uint32_t> units, std::uint32_t) {
    const DenseBlockPlace& block = state->block(number, units[0]);
    Frame frame = head;
    frame.header.count = block.block;
    std::string numbers;
    put(numbers, StepNumbers{step.rate, step.step});
    frame.payload.append(std::move(numbers));
    const std::size_t n = static_cast<std::size_t>((block.last - block.first) * columns);
    std::memcpy(frame.payload.extend<float>(n), gradient + block.first * columns,
                n * sizeof(float));
    return frame;
  };
  return state->start(std::move(work), head.header, id, declaration.mode);
}

// --- Steps

void ParameterClient::join(std::uint32_t generation, std::uint32_t rank) {
  state_->generation = generation;
  state_->rank = rank;
  state_->servers.refresh();
}

void ParameterClient::begin_step(std::uint64_t step) { state_->step = step; }

std::uint64_t ParameterClient::finish_step(std::uint64_t examples) {
  std::uint64_t all = 0;
  Call::Work work = state_->to_all("finish a step");
  work.build = [&](std::span<const std::uint32_t>, std::uint32_t) {
    Frame frame = request_of(Op::finish_step, 0);
    frame.header.generation = state_->generation;
    frame.header.sender = state_->rank;
    frame.header.sequence = state_->step;
    *frame.payload.extend<std::uint64_t>(1) = examples;
    return frame;
  };
  work.take = [&](std::span<const std::uint32_t>, const Frame& answer) {
    all = std::max<std::uint64_t>(all, answer.header.count);
  };
  state_->run(std::move(work));
  return all;
}

// --- Statistics of servers

std::uint64_t ParameterClient::digest(std::uint32_t table) {
  std::uint64_t sum = 0;
  Call::Work work = state_->to_all("digest");
  work.build = [&](std::span<const std::uint32_t>, std::uint32_t) {
    Frame frame = request_of(Op::digest, table);
    std::int32_t* const range = frame.payload.extend<std::int32_t>(2);
    range[0] = 0;
    range[1] = kSlots;
    return frame;
  };
  work.take = [&](std::span<const std::uint32_t>, const Frame& answer) {
    PayloadReader reader(answer.payload);
    sum += reader.value<std::uint64_t>();
    reader.end();
  };
  state_->run(std::move(work));
  return sum;
}

ClientStatistics ParameterClient::statistics() const { return state_->servers.statistics; }

}  // namespace trireme::distributed
