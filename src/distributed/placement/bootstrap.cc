#include "distributed/placement/bootstrap.h"

#include <arpa/inet.h>
#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <random>
#include <sstream>
#include <thread>

#include "base/error.h"
#include "distributed/coordination/etcd_store.h"
#include "distributed/coordination/memory_store.h"
#include "distributed/placement/authority.h"
#include "distributed/placement/small_file.h"

namespace trireme::distributed {
namespace {

constexpr Milliseconds kBootstrapPoll{200};
constexpr const char* kOwnPrefix = "job/";  // in a store that has one job only

std::string random_text(int words) {
  std::random_device device;
  std::string text;
  for (int i = 0; i < words; ++i) text += fmt::format("{:08x}", device());
  return text;
}

std::string temporary_folder() { return std::filesystem::temp_directory_path().string(); }

// A folder of this user on this machine, which others can neither read nor replace.
std::string private_folder() {
  const std::string path = fmt::format("{}/trireme-{}", temporary_folder(), ::geteuid());
  try {
    make_private_folder(path);
  } catch (const Error& error) {
    fail_usage(std::string(error.what()) + "\n  hint   remove it, or say --credentials DIR");
  }
  return path;
}

bool is_ip(std::string host) {
  if (host.starts_with("[")) host = host.substr(1, host.size() - 2);
  in6_addr number{};
  return ::inet_pton(AF_INET, host.c_str(), &number) == 1 ||
         ::inet_pton(AF_INET6, host.c_str(), &number) == 1;
}

std::vector<std::string> list_parts(const std::string& list) {
  std::vector<std::string> parts;
  std::istringstream stream(list);
  for (std::string part; std::getline(stream, part, ',');) parts.push_back(part);
  return parts;
}

}  // namespace

Security etcd_security(const std::string& addresses, const std::string& folder) {
  const std::vector<std::string> parts = list_parts(addresses);
  bool here = true;
  for (const std::string& part : parts) {
    const std::string host = host_of(part);
    here = here && is_loopback(part);
    if (parts.size() > 1 && !is_ip(host)) {
      fail_usage("--etcd " + addresses + ": several addresses must be IP addresses");
    }
  }
  if (parts.empty()) fail_usage("--etcd: HOST:PORT is expected");
  if (!folder.empty()) return read_etcd_credentials(folder, seconds_since_1970());
  if (!here) {
    fail_usage(
        "--etcd " + addresses +
        " is on another machine, so both sides need certificates\n  hint   --etcd-credentials DIR "
        "with ca.crt, tls.crt and tls.key, or --credentials DIR, if etcd has the job's");
  }
  return {};
}

Bootstrap::Bootstrap(const BootstrapOptions& options) : options_(options) {
  check();
  secure();
  const Placement& placement = options_.placement;
  id_ = options_.id;
  if (id_.empty()) id_ = placement.job;
  std::replace(id_.begin(), id_.end(), '/', '-');  // one part of keys and of a file's name
  std::string known_by = id_;
  if (known_by.empty() && !placement.master.empty()) {
    known_by = fmt::format("port-{}", port_of(placement.master));
  }
  if (known_by.empty()) {
    known_by = placement.one_host ? fmt::format("parent-{}", ::getppid()) : "job";
  }
  if (!folder_.empty()) file_ = folder_ + "/store." + known_by;
  if (first()) serve();
  else find();
}

Bootstrap::~Bootstrap() {
  if (first() && !file_.empty()) ::unlink(file_.c_str());
  if (first() && etcd()) {
    try {
      store_->commit({.then = {Erase{prefix_, true}}});
    } catch (const std::exception&) {  // they stay, and do no harm
    }
  }
  if (!own_credentials_.empty()) {
    std::error_code ignored;
    std::filesystem::remove_all(own_credentials_, ignored);
  }
}

void Bootstrap::check() const {
  const Placement& placement = options_.placement;
  if (placement.alone()) return;
  if (!placement.one_host && options_.own.loopback && !options_.interface_chosen) {
    fail_usage(
        fmt::format("{} launchers were placed by {}, maybe on several machines, and other machines "
                    "could not reach "
                    "them\n  hint   --interface NAME for the network that joins them, with "
                    "--credentials DIR "
                    "in a folder that all see; --interface lo if they are all on this machine",
                    placement.world, placement.by));
  }
  if (!options_.own.loopback && options_.credentials.empty()) {
    fail_usage(fmt::format(
        "{} can be reached from other machines, so processes need certificates\n  hint   "
        "--credentials DIR, a folder that all machines of the job see",
        options_.own.host));
  }
  if (first() && !placement.master.empty() && is_ip(host_of(placement.master)) &&
      host_of(placement.master) != options_.own.host && options_.etcd.empty()) {
    fail_usage(
        fmt::format("launcher 0 should listen at {}, but listens at {}\n  hint   --interface NAME "
                    "of that address, or --bind {}",
                    placement.master, options_.own.host, host_of(placement.master)));
  }
}

// Certificates or a token, and their source.
void Bootstrap::secure() {
  const bool alone = options_.placement.alone();
  credentials_ = options_.credentials;
  if (credentials_.empty() && !options_.own.loopback) {
    own_credentials_ = temporary_folder() + "/trireme_XXXXXX";
    if (::mkdtemp(own_credentials_.data()) == nullptr) fail_io("no folder for certificates");
    credentials_ = own_credentials_;
  }
  if (!credentials_.empty()) {
    security_ = obtain_credentials(credentials_, first(), options_.patience);
  } else if (first()) {
    token_ = random_text(8);
    security_.token = token_;
  }
  if (!alone) folder_ = credentials_.empty() ? private_folder() : credentials_;
  if (!etcd()) return;
  etcd_credentials_ = options_.etcd_credentials;
  if (etcd_credentials_.empty() && !is_loopback(options_.etcd)) {
    etcd_credentials_ = options_.credentials;
  }
  etcd_security_ = etcd_security(options_.etcd, etcd_credentials_);
}

std::unique_ptr<Store> Bootstrap::connect() const {
  return connect_etcd({.address = address_, .security = etcd() ? etcd_security_ : security_});
}

bool Bootstrap::published_all() const {
  if (credentials_.empty()) return false;  // the token
  return etcd() ? !id_.empty() : !options_.placement.master.empty();
}

void Bootstrap::serve() {
  if (etcd()) begin_in_etcd();
  else serve_own();
  if (!options_.placement.alone()) tell();
}

void Bootstrap::serve_own() {
  prefix_ = kOwnPrefix;
  store_ = make_memory_store();
  EtcdServerOptions server;
  const std::string& master = options_.placement.master;
  const int port = options_.placement.alone() || master.empty() ? 0 : port_of(master);
  server.address = joined_address(options_.own.host, port);
  server.security = security_;
  server_.emplace(*store_, server);
  address_ = joined_address(options_.own.host, server_->port());
}

void Bootstrap::begin_in_etcd() {
  address_ = options_.etcd;
  prefix_ = fmt::format("trireme/{}/{}/", options_.name, id_.empty() ? random_text(2) : id_);
  store_ = connect();
  if (!store_->commit({.then = {Get{prefix_, true, "", 1}}}).got.at(0).empty()) {
    // The destructor must not remove these keys.
    const std::string taken = prefix_;
    fail_usage(fmt::format(
        "etcd has keys of a job below {} already\n  hint   another --id; or remove them, if no "
        "such job runs: etcdctl del --prefix {}",
        taken, taken));
  }
}

// Writes our address for launchers that do not know it.
void Bootstrap::tell() {
  try {
    replace_small_file(file_, address_ + "\n" + prefix_ + "\n" + token_ + "\n");
  } catch (const Error&) {
    if (!published_all()) throw;
    file_.clear();
  }
}

void Bootstrap::find() {
  const auto until = std::chrono::steady_clock::now() + options_.patience;
  std::string why;
  while (!find_once(why)) {
    if (options_.stop && options_.stop()) fail_io("stopped while waiting for launcher 0");
    if (std::chrono::steady_clock::now() >= until) {
      fail_io(fmt::format(
          "launcher 0 of {} did not start within {} s: {}\n  hint   the folder of --credentials is "
          "one "
          "that all machines see, or MASTER_ADDR and MASTER_PORT the address of launcher 0",
          options_.placement.world, options_.patience.count() / 1000, why));
    }
    std::this_thread::sleep_for(kBootstrapPoll);
  }
}

bool Bootstrap::find_once(std::string& why) {
  try {
    if (published_all()) {
      address_ = etcd() ? options_.etcd : options_.placement.master;
      prefix_ = etcd() ? fmt::format("trireme/{}/{}/", options_.name, id_) : kOwnPrefix;
    } else {
      std::istringstream lines(read_small_file(file_));
      std::getline(lines, address_);
      std::getline(lines, prefix_);
      std::getline(lines, token_);
      security_.token = token_;
    }
    store_ = connect();
    if (store_->get(arrival_key(prefix_))) return true;
    why = "it has not begun";
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::io && error.kind() != ErrorKind::not_found) throw;
    why = error.what();
  }
  store_.reset();
  return false;
}

}  // namespace trireme::distributed
