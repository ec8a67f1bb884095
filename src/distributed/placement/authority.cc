#include "distributed/placement/authority.h"

#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <thread>

#include "base/error.h"
#include "distributed/placement/certificate.h"
#include "distributed/placement/small_file.h"

namespace trireme::distributed {
namespace {

constexpr const char* kAuthority = "/ca.crt";
constexpr const char* kAll = "tls";
constexpr Milliseconds kAuthorityPoll{100};

std::string certificate_file(const std::string& who) { return "/" + who + ".crt"; }
std::string key_file(const std::string& who) { return "/" + who + ".key"; }

bool is_trusted(uid_t owner) { return owner == ::geteuid() || owner == 0; }

[[noreturn]] void fail_open(const std::string& path, const std::string& why,
                            const std::string& hint) {
  fail_usage(fmt::format(
      "{}: {}\n  hint   {}, if no job has used it; else make new ones: trireme credentials", path,
      why, hint));
}

// Only this user and root may have written the folder. Kubernetes mounts a Secret as a folder of
// root that all may write to, with the sticky bit; then the files are checked.
void check_folder(const std::string& folder) {
  struct stat status{};
  if (::stat(folder.c_str(), &status) != 0) return;
  if (!is_trusted(status.st_uid)) {
    fail_open(folder, fmt::format("the folder is user {}'s", status.st_uid),
              "take a folder of your own");
  }
  const bool mounted = status.st_uid == 0 && (status.st_mode & S_ISVTX) != 0;
  if ((status.st_mode & 022) != 0 && !mounted) {
    fail_open(folder,
              fmt::format("others may write there (its mode is {:o})", status.st_mode & 07777),
              "chmod 700 " + folder);
  }
}

// Checks the link, if it is one, and the file. `secret`: a file that others may not read. A key of
// ours must be readable by us only; a key of root, such as of a Secret, may be readable by its
// group.
void check_file(const std::string& path, bool secret) {
  struct stat link{}, file{};
  if (::lstat(path.c_str(), &link) != 0 || ::stat(path.c_str(), &file) != 0) return;
  for (const uid_t owner : {link.st_uid, file.st_uid}) {
    if (!is_trusted(owner)) {
      fail_open(path, fmt::format("it is user {}'s", owner), "chown it to yourself");
    }
  }
  const bool ours = file.st_uid == ::geteuid();
  const mode_t mode = file.st_mode & 0777;
  if ((mode & 022) != 0) {
    fail_open(path, fmt::format("others may write it (its mode is {:o})", mode),
              "chmod 600 " + path);
  }
  if (secret && (mode & (ours ? 077 : 027)) != 0) {
    fail_open(path, fmt::format("others may read this key (its mode is {:o})", mode),
              "chmod 600 " + path);
  }
}

// `who`: "tls", or a role.
Security read_files(const std::string& folder, const std::string& who) {
  check_folder(folder);
  check_file(folder + kAuthority, false);
  check_file(folder + certificate_file(who), false);
  check_file(folder + key_file(who), true);
  return {.authority = read_small_file(folder + kAuthority),
          .certificate = read_small_file(folder + certificate_file(who)),
          .key = read_small_file(folder + key_file(who))};
}

void check_certificates(const std::string& folder, const std::string& who, const Security& found,
                        std::int64_t now) {
  const CertificateFacts facts = facts_of(found, folder);
  if (!facts.signed_by_authority || !facts.key_fits) {
    const std::string problem = facts.key_fits
                                    ? fmt::format("{}.crt is not signed by ca.crt", who)
                                    : fmt::format("{0}.key is not the key of {0}.crt", who);
    fail_usage(fmt::format(
        "{}: {}\n  hint   ca.crt, {}.crt and {}.key are made together: trireme credentials", folder,
        problem, who, who));
  }
  if (now > facts.expires || now < facts.begins) {
    fail_usage(fmt::format(
        "{}: the certificates {} at {}\n  hint   remove the folder, and have others made: "
        "trireme credentials {}",
        folder, now > facts.expires ? "expired" : "are not valid before",
        time_text(now > facts.expires ? facts.expires : facts.begins), folder));
  }
}

}  // namespace

std::int64_t seconds_since_1970() {
  return std::chrono::duration_cast<std::chrono::seconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

JobCredentials make_credentials(int days, std::int64_t now) {
  constexpr std::int64_t kHour = 3600;
  std::vector<std::vector<std::string>> names = {{kCertificateName}};
  for (const char* role : kRoles) names.push_back({kCertificateName, name_of_role(role)});
  std::vector<Security> made = make_certificates(names, now - kHour, now + days * 24 * kHour);
  for (Security& each : made) each.name = kCertificateName;
  JobCredentials all{made[0], {}};
  for (std::size_t i = 1; i < made.size(); ++i) all.roles[kRoles[i - 1]] = made[i];
  return all;
}

bool write_credentials(const std::string& folder, const JobCredentials& credentials) {
  if (::mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST) {
    fail_io(folder + " cannot be made: " + std::strerror(errno));
  }
  check_folder(folder);
  // The process that creates the key first writes the other files. ca.crt is the last one, so it
  // shows that all are complete.
  if (!create_small_file(folder + key_file(kAll), credentials.key)) return false;
  create_small_file(folder + certificate_file(kAll), credentials.certificate);
  for (const auto& [role, own] : credentials.roles) {
    create_small_file(folder + key_file(role), own.key);
    create_small_file(folder + certificate_file(role), own.certificate);
  }
  create_small_file(folder + kAuthority, credentials.authority);
  return true;
}

Security read_credentials(const std::string& folder, std::int64_t now, const std::string& role) {
  const bool own = !role.empty() && ::access((folder + key_file(role)).c_str(), F_OK) == 0;
  const std::string who = own ? role : kAll;
  Security found = read_files(folder, who);
  check_certificates(folder, who, found, now);
  found.name = kCertificateName;
  return found;
}

Security read_etcd_credentials(const std::string& folder, std::int64_t now) {
  Security found = read_files(folder, kAll);
  const CertificateFacts facts = facts_of(found, folder);
  if (!facts.key_fits) fail_usage(folder + ": tls.key is not the key of tls.crt");
  if (now > facts.expires) {
    fail_usage(fmt::format("{}: the certificate expired at {}", folder, time_text(facts.expires)));
  }
  if (has_name(found, kCertificateName)) found.name = kCertificateName;
  return found;
}

Security obtain_credentials(const std::string& folder, bool first, Milliseconds timeout) {
  const auto until = std::chrono::steady_clock::now() + timeout;
  const std::int64_t now = seconds_since_1970();
  if (first && ::access((folder + kAuthority).c_str(), F_OK) != 0) {
    write_credentials(folder, make_credentials(kCredentialDays, now));
  }
  for (;;) {
    try {
      return read_credentials(folder, now);
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::not_found) throw;
      if (std::chrono::steady_clock::now() >= until) {
        fail_io(
            fmt::format("{}\n  hint   {} must be a folder that all machines of the job share; the "
                        "launcher of rank 0 writes "
                        "its files, or `trireme credentials {}` before the job",
                        error.what(), folder, folder));
      }
    }
    std::this_thread::sleep_for(kAuthorityPoll);
  }
}

}  // namespace trireme::distributed
