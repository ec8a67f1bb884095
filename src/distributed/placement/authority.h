#pragma once

// Credentials of the processes of a job on several machines: an authority for this job and
// certificates signed by it. Every process presents one and requires one of all others. The key of
// the authority is not kept, so no other certificate can be added.
//
// The folder has the PEM files ca.crt, tls.crt and tls.key; with them a process may do everything,
// as a launcher does. For masters, servers and trainers there are also master.crt, master.key and
// so on: with them a process may do only what its role needs. A process takes those of its role if
// they are there.

#include <map>
#include <string>

#include "distributed/coordination/security.h"
#include "distributed/coordination/store.h"

namespace trireme::distributed {

inline constexpr int kCredentialDays = 30;

std::int64_t seconds_since_1970();
// Those for everything, and those of each role.
struct JobCredentials : Security {
  std::map<std::string, Security> roles;
};
// ECDSA on P-256; valid from an hour before `now`, for clocks that differ. `now` in seconds since
// 1970. Errors: internal.
JobCredentials make_credentials(int days, std::int64_t now);

// Writes them into a folder, which it makes if necessary, readable by the owner only. Returns false
// if there are credentials already, or another process is writing some. Errors: io; usage for a
// folder of another user, or one that others may write to.
bool write_credentials(const std::string& folder, const JobCredentials& credentials);
// Errors: not_found if there are none, or not all yet; usage for a folder or file that belongs to
// neither this user nor root, or that others may write to; for a key that others may read; for
// files that do not match; and for certificates that are not valid at `now`. With a role: those of
// the role, if the folder has them.
Security read_credentials(const std::string& folder, std::int64_t now,
                          const std::string& role = "");
// For etcd: of any authority. Its certificates name its addresses, unless they are those of a job.
Security read_etcd_credentials(const std::string& folder, std::int64_t now);

// Reads the credentials of a folder. If there are none, `first` makes them, and other processes
// wait. Errors: as read_credentials(); io if there are none in time.
Security obtain_credentials(const std::string& folder, bool first, Milliseconds timeout);

}  // namespace trireme::distributed
