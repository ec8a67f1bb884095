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
constexpr const char* kCertificate = "/tls.crt";
constexpr const char* kKey = "/tls.key";
constexpr Milliseconds kPause{100};

// A key of ours is ours alone. One that somebody else owns, such as a Secret that Kubernetes mounts, its group may read.
void check_rights(const std::string& path) {
  struct stat status{};
  if (::stat(path.c_str(), &status) != 0) return;
  const mode_t forbidden = status.st_uid == ::geteuid() ? 077 : 027;
  if ((status.st_mode & forbidden) != 0) {
    fail_usage(
        fmt::format("{}: others may read this key (its mode is {:o})\n  hint   chmod 600 {}, if "
                    "nobody has; else "
                    "make others: trireme credentials",
                    path, status.st_mode & 0777, path));
  }
}

Security read_files(const std::string& folder) {
  check_rights(folder + kKey);
  return {.authority = read_small_file(folder + kAuthority),
          .certificate = read_small_file(folder + kCertificate),
          .key = read_small_file(folder + kKey)};
}

void check_certificates(const std::string& folder, const Security& found, std::int64_t now) {
  const CertificateFacts facts = facts_of(found, folder);
  if (!facts.signed_by_authority || !facts.key_fits) {
    fail_usage(fmt::format(
        "{}: {}\n  hint   ca.crt, tls.crt and tls.key are made together: trireme credentials",
        folder,
        facts.key_fits ? "tls.crt is not signed by ca.crt" : "tls.key is not the key of tls.crt"));
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

Security make_credentials(int days, std::int64_t now) {
  constexpr std::int64_t kHour = 3600;
  Security made = make_certificates(kCertificateName, now - kHour, now + days * 24 * kHour);
  made.name = kCertificateName;
  return made;
}

bool write_credentials(const std::string& folder, const Security& credentials) {
  if (::mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST) {
    fail_io(folder + " cannot be made: " + std::strerror(errno));
  }
  // Whoever has the key in its place first writes the others; ca.crt, being last, tells that all are there.
  if (!create_small_file(folder + kKey, credentials.key)) return false;
  create_small_file(folder + kCertificate, credentials.certificate);
  create_small_file(folder + kAuthority, credentials.authority);
  return true;
}

Security read_credentials(const std::string& folder, std::int64_t now) {
  Security found = read_files(folder);
  check_certificates(folder, found, now);
  found.name = kCertificateName;
  return found;
}

Security read_etcd_credentials(const std::string& folder, std::int64_t now) {
  Security found = read_files(folder);
  const CertificateFacts facts = facts_of(found, folder);
  if (!facts.key_fits) fail_usage(folder + ": tls.key is not the key of tls.crt");
  if (now > facts.expires) {
    fail_usage(fmt::format("{}: the certificate expired at {}", folder, time_text(facts.expires)));
  }
  if (has_name(found, kCertificateName)) found.name = kCertificateName;
  return found;
}

Security obtain_credentials(const std::string& folder, bool first, Milliseconds most) {
  const auto until = std::chrono::steady_clock::now() + most;
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
            fmt::format("{}\n  hint   {} is to be a folder that all machines of the job see; the "
                        "launcher of rank 0 makes "
                        "what is in it, or `trireme credentials {}` ahead",
                        error.what(), folder, folder));
      }
    }
    std::this_thread::sleep_for(kPause);
  }
}

}  // namespace trireme::distributed
