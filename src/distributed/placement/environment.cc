#include "distributed/placement/environment.h"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <vector>

#include "base/error.h"
#include "distributed/placement/address.h"

namespace trireme::distributed {
namespace {

constexpr int kMaxLaunchers = 1024;
constexpr int kTorchPort = 29500;  // the default port of torchrun

// The environment variables of one convention.
class Reader {
 public:
  explicit Reader(const Environment& variables) : variables_(variables) {}

  bool has(const std::string& name) const { return !text(name).empty(); }
  std::string text(const std::string& name) const {
    const auto found = variables_.find(name);
    return found == variables_.end() ? "" : found->second;
  }
  // Errors: usage unless it is an integer from `min` to `max`.
  int number(const std::string& name, int min, int max) const {
    const std::string value = text(name);
    int result = 0;
    const char* const end = value.data() + value.size();
    const auto [at, failed] = std::from_chars(value.data(), end, result);
    if (failed != std::errc() || at != end || result < min || result > max) {
      fail_usage(
          fmt::format("{}={}: a whole number from {} to {} is expected", name, value, min, max));
    }
    return result;
  }
  int number_or(const std::string& name, int min, int max, int otherwise) const {
    return has(name) ? number(name, min, max) : otherwise;
  }

 private:
  const Environment& variables_;
};

// Characters that are valid in file names and keys.
std::string safe_name(std::string text) {
  for (char& c : text) {
    const bool safe = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                      c == '-' || c == '_' || c == '.';
    if (!safe) c = '-';
  }
  return text.substr(0, 100);
}

// Rank and world from two variables that belong together.
void read_rank(const Reader& reader, const std::string& rank, const std::string& world,
               Placement& placement) {
  placement.world = reader.number(world, 1, kMaxLaunchers);
  placement.rank = reader.number(rank, 0, kMaxLaunchers - 1);
  if (placement.rank >= placement.world) {
    fail_usage(
        fmt::format("{}={} is not less than {}={}", rank, placement.rank, world, placement.world));
  }
}

// MASTER_ADDR and MASTER_PORT, which users may set with any launcher; `host` replaces the first if
// only the second is set.
std::string master_of(const Reader& reader, const std::string& host) {
  const std::string name = reader.has("MASTER_ADDR") ? reader.text("MASTER_ADDR") : host;
  if (name.empty()) return "";
  int port = reader.has("MASTER_ADDR") ? kTorchPort : 0;
  if (reader.has("MASTER_PORT")) port = reader.number("MASTER_PORT", 1, 65535);
  if (port == 0) return "";
  const std::string address = joined_address(name, port);
  check_address(address, "MASTER_ADDR=" + name);
  return address;
}

std::optional<Placement> by_torch(const Reader& reader) {
  if (!reader.has("RANK") || !reader.has("WORLD_SIZE")) return std::nullopt;
  Placement placement;
  placement.by = "RANK and WORLD_SIZE";
  read_rank(reader, "RANK", "WORLD_SIZE", placement);
  placement.local_rank = reader.number_or("LOCAL_RANK", 0, kMaxLaunchers, 0);
  // torchrun itself listens at its own port.
  const bool taken = reader.text("TORCHELASTIC_USE_AGENT_STORE") == "True";
  int port = reader.number_or("MASTER_PORT", 1, 65535, kTorchPort);
  if (taken) port = port < 65535 ? port + 1 : 1024;
  if (reader.has("MASTER_ADDR")) {
    placement.master = joined_address(reader.text("MASTER_ADDR"), port);
    check_address(placement.master, "MASTER_ADDR=" + reader.text("MASTER_ADDR"));
  }
  if (reader.has("TORCHELASTIC_RUN_ID")) {
    placement.by = "torchrun";
    placement.job = safe_name(fmt::format("torch-{}-{}", reader.text("TORCHELASTIC_RUN_ID"),
                                          reader.text("TORCHELASTIC_RESTART_COUNT")));
  }
  const int local = reader.number_or("LOCAL_WORLD_SIZE", 1, kMaxLaunchers, 0);
  placement.one_host = local == placement.world || is_loopback(placement.master);
  return placement;
}

std::vector<std::string> host_list_parts(const std::string& list) {
  std::vector<std::string> parts;
  for (std::size_t begin = 0; begin <= list.size();) {
    const std::size_t end = std::min(list.find(',', begin), list.size());
    parts.push_back(list.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

// PADDLE_TRAINER_ENDPOINTS, one address each; the first one is that of the master.
void read_endpoints(const Reader& reader, Placement& placement) {
  const std::vector<std::string> all = host_list_parts(reader.text("PADDLE_TRAINER_ENDPOINTS"));
  if (static_cast<int>(all.size()) != placement.world) {
    fail_usage(fmt::format("PADDLE_TRAINER_ENDPOINTS has {} addresses and PADDLE_TRAINERS_NUM={}",
                           all.size(), placement.world));
  }
  for (const std::string& each : all) check_address(each, "PADDLE_TRAINER_ENDPOINTS");
  const std::string own = reader.text("PADDLE_CURRENT_ENDPOINT");
  const std::string& listed = all[static_cast<std::size_t>(placement.rank)];
  if (!own.empty() && own != listed) {
    fail_usage(
        fmt::format("PADDLE_CURRENT_ENDPOINT={} is not number {} of "
                    "PADDLE_TRAINER_ENDPOINTS, {}",
                    own, placement.rank, listed));
  }
  placement.master = all[0];
  const std::string host = host_of(all[0]);
  placement.one_host = std::all_of(all.begin(), all.end(),
                                   [&](const std::string& each) { return host_of(each) == host; });
}

std::optional<Placement> by_paddle(const Reader& reader) {
  if (!reader.has("PADDLE_TRAINER_ID") || !reader.has("PADDLE_TRAINERS_NUM")) return std::nullopt;
  if (reader.text("TRAINING_ROLE") == "PSERVER") {
    fail_usage(
        "TRAINING_ROLE=PSERVER: parameter servers are started by the launchers of trainers "
        "(--servers), not placed separately");
  }
  Placement placement;
  placement.by = "PaddlePaddle's variables";
  read_rank(reader, "PADDLE_TRAINER_ID", "PADDLE_TRAINERS_NUM", placement);
  placement.local_rank = reader.number_or("PADDLE_RANK_IN_NODE", 0, kMaxLaunchers, 0);
  placement.one_host =
      reader.number_or("PADDLE_LOCAL_SIZE", 0, kMaxLaunchers, 0) == placement.world;
  if (reader.has("PADDLE_TRAINER_ENDPOINTS")) {
    read_endpoints(reader, placement);
  } else if (reader.has("PADDLE_MASTER")) {
    placement.master = reader.text("PADDLE_MASTER");
    check_address(placement.master, "PADDLE_MASTER");
    placement.one_host = placement.one_host || is_loopback(placement.master);
  }
  if (reader.has("PADDLE_JOB_ID")) {
    placement.job = safe_name("paddle-" + reader.text("PADDLE_JOB_ID"));
  }
  return placement;
}

std::optional<Placement> by_openmpi(const Reader& reader) {
  if (!reader.has("OMPI_COMM_WORLD_RANK") || !reader.has("OMPI_COMM_WORLD_SIZE")) {
    return std::nullopt;
  }
  Placement placement;
  placement.by = "Open MPI";
  read_rank(reader, "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", placement);
  placement.local_rank = reader.number_or("OMPI_COMM_WORLD_LOCAL_RANK", 0, kMaxLaunchers, 0);
  placement.one_host =
      reader.number_or("OMPI_COMM_WORLD_LOCAL_SIZE", 1, kMaxLaunchers, 0) == placement.world;
  placement.master = master_of(reader, "");
  for (const char* name : {"PMIX_NAMESPACE", "OMPI_MCA_ess_base_jobid"}) {
    if (placement.job.empty() && reader.has(name)) {
      placement.job = safe_name("mpi-" + reader.text(name));
    }
  }
  return placement;
}

// mpirun of MPICH and Intel MPI.
std::optional<Placement> by_pmi(const Reader& reader) {
  if (!reader.has("PMI_RANK") || !reader.has("PMI_SIZE")) return std::nullopt;
  Placement placement;
  placement.by = "MPI (PMI)";
  read_rank(reader, "PMI_RANK", "PMI_SIZE", placement);
  placement.local_rank = reader.number_or("MPI_LOCALRANKID", 0, kMaxLaunchers, 0);
  placement.one_host = reader.number_or("MPI_LOCALNRANKS", 1, kMaxLaunchers, 0) == placement.world;
  placement.master = master_of(reader, "");
  return placement;
}

// A step of srun; a batch script alone is not placed.
std::optional<Placement> by_slurm(const Reader& reader) {
  if (!reader.has("SLURM_STEP_ID") || !reader.has("SLURM_PROCID") ||
      !reader.has("SLURM_STEP_NUM_TASKS")) {
    return std::nullopt;
  }
  Placement placement;
  placement.by = "Slurm";
  read_rank(reader, "SLURM_PROCID", "SLURM_STEP_NUM_TASKS", placement);
  placement.local_rank = reader.number_or("SLURM_LOCALID", 0, kMaxLaunchers, 0);
  placement.one_host = reader.number_or("SLURM_STEP_NUM_NODES", 1, kMaxLaunchers * 64, 0) == 1;
  placement.master = master_of(reader, first_host(reader.text("SLURM_STEP_NODELIST")));
  placement.job =
      safe_name(fmt::format("slurm-{}.{}.{}", reader.text("SLURM_JOB_ID"),
                            reader.text("SLURM_STEP_ID"), reader.text("SLURM_RESTART_COUNT")));
  return placement;
}

struct Convention {
  const char* name;
  std::optional<Placement> (*read)(const Reader&);
  const char* variables;
};
constexpr Convention kConventions[] = {
    {"torch", by_torch, "RANK and WORLD_SIZE"},
    {"paddle", by_paddle, "PADDLE_TRAINER_ID and PADDLE_TRAINERS_NUM"},
    {"openmpi", by_openmpi, "OMPI_COMM_WORLD_RANK and OMPI_COMM_WORLD_SIZE"},
    {"pmi", by_pmi, "PMI_RANK and PMI_SIZE"},
    {"slurm", by_slurm, "SLURM_STEP_ID, SLURM_PROCID and SLURM_STEP_NUM_TASKS"},
};

// An incomplete convention is an error, unless another one is complete.
void check_halves(const Reader& reader) {
  const std::pair<const char*, const char*> pairs[] = {
      {"RANK", "WORLD_SIZE"},
      {"PADDLE_TRAINER_ID", "PADDLE_TRAINERS_NUM"},
      {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
      {"PMI_RANK", "PMI_SIZE"}};
  for (const auto& [rank, world] : pairs) {
    if (reader.has(rank) == reader.has(world)) continue;
    fail_usage(
        fmt::format("{0} is set and {1} is not\n  hint   set both; or --placement none, if this "
                    "is the only launcher",
                    reader.has(rank) ? rank : world, reader.has(rank) ? world : rank));
  }
}

// Compares a rank that the user set, such as in a batch script where it is evaluated once for all,
// with the other variables. Launchers may count differently, so only equal worlds are compared, and
// ranks of torchrun are independent.
void check_contradiction(const Placement& believed, const Placement& other,
                         const std::string& others_variables) {
  if (believed.by == "torchrun" || other.world != believed.world || other.rank == believed.rank) {
    return;
  }
  fail_usage(fmt::format(
      "{} say that this is launcher {} of {}, and {} that it is {}\n  hint   unset those that are "
      "wrong, or say whom to believe: --placement",
      believed.by, believed.rank, believed.world, others_variables, other.rank));
}

Placement first_of(const Reader& reader) {
  std::optional<Placement> believed;
  for (const Convention& convention : kConventions) {
    const std::optional<Placement> found = convention.read(reader);
    if (!found) continue;
    if (!believed) believed = found;
    else if (believed->by == "RANK and WORLD_SIZE" || believed->by == "PaddlePaddle's variables") {
      check_contradiction(*believed, *found, convention.variables);
    }
  }
  if (believed) return *believed;
  check_halves(reader);
  return {};
}

}  // namespace

Environment own_environment() {
  Environment variables;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text = *entry;
    const std::size_t equals = text.find('=');
    if (equals != std::string::npos) variables[text.substr(0, equals)] = text.substr(equals + 1);
  }
  return variables;
}

Placement placement_of(const Environment& variables, const std::string& placement) {
  const Reader reader(variables);
  if (placement == "none") return {};
  if (placement == "auto") return first_of(reader);
  for (const Convention& convention : kConventions) {
    if (placement != convention.name) continue;
    if (const std::optional<Placement> found = convention.read(reader)) return *found;
    fail_usage(fmt::format("--placement {}: {} are not set", placement, convention.variables));
  }
  fail_usage(fmt::format(
      "--placement {}: auto, none, torch, paddle, openmpi, pmi or slurm is expected", placement));
}

std::string first_host(const std::string& list) {
  std::string host;
  for (std::size_t i = 0; i < list.size() && list[i] != ','; ++i) {
    if (list[i] != '[') {
      host += list[i];
      continue;
    }
    const std::size_t close = std::min(list.find(']', i), list.size());
    const std::size_t end = std::min(list.find_first_of("-,", i), close);
    host += list.substr(i + 1, end - i - 1);
    i = close;
  }
  return host;
}

}  // namespace trireme::distributed
