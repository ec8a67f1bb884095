#include "distributed/transport/testing/certificates.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

#include "base/error.h"

namespace trireme::distributed::testing {
namespace {

constexpr const char* kProgram = "/usr/bin/openssl";

void openssl(std::vector<std::string> arguments) {
  std::string program = kProgram;
  std::vector<char*> argv = {program.data()};
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
  pid_t process = 0;
  int status = ::posix_spawn(&process, kProgram, &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (status == 0) ::waitpid(process, &status, 0);
  if (status != 0) fail_io("openssl " + arguments[0] + " failed");
}

std::string read(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

Authority::Authority() {
  if (!std::filesystem::exists(kProgram)) {
    fail(ErrorKind::not_found, "openssl is not installed\n  hint   tools/install-deps.sh --test");
  }
  std::string name = (std::filesystem::temp_directory_path() / "trireme_tls_XXXXXX").string();
  if (::mkdtemp(name.data()) == nullptr) fail_io("no folder for certificates");
  folder_ = name;
  openssl({"req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
           "-days", "2", "-subj", "/CN=job", "-keyout", folder_ + "/ca.key", "-out",
           folder_ + "/ca.pem"});
}

Authority::~Authority() {
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

Security Authority::certify(const std::string& name) {
  const std::string base = folder_ + "/" + std::to_string(++count_);
  std::ofstream(base + ".ext") << "subjectAltName=DNS:" << name << "\n";
  openssl({"req", "-new", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj",
           "/CN=" + name, "-keyout", base + ".key", "-out", base + ".csr"});
  openssl({"x509", "-req", "-in", base + ".csr", "-CA", folder_ + "/ca.pem", "-CAkey",
           folder_ + "/ca.key", "-set_serial", std::to_string(count_), "-days", "2", "-extfile",
           base + ".ext", "-out", base + ".pem"});
  return {.authority = read(folder_ + "/ca.pem"),
          .certificate = read(base + ".pem"),
          .key = read(base + ".key"),
          .name = name};
}

}  // namespace trireme::distributed::testing
