#pragma once

// What processes of a job on several machines know each other by: an authority of the job's own and
// one certificate that it has signed, which every process shows and asks of all others. The
// authority's key is not kept, so nobody can add another one. They lie in a folder as ca.crt,
// tls.crt and tls.key, PEM files.

#include <string>

#include "distributed/coordination/security.h"
#include "distributed/coordination/store.h"

namespace trireme::distributed {

// The name in the certificate, whatever the addresses of servers are.
inline constexpr const char* kCertificateName = "trireme-job";
inline constexpr int kCredentialDays = 30;

std::int64_t seconds_since_1970();
// ECDSA on P-256; valid from an hour before `now` on, for clocks that differ; in seconds since
// 1970. Errors: internal.
Security make_credentials(int days, std::int64_t now);

// Into a folder, which is made if it is not there, with rights for its owner alone. False: there
// are some already, or somebody else is writing some. Errors: io; usage, for a folder of somebody
// else's, or that others may write to.
bool write_credentials(const std::string& folder, const Security& credentials);
// Errors: not_found, if there are none, or not all of them yet; usage, for a folder or files that
// are neither ours nor root's, or that others may write to, for a key that others may read, for
// files that do not belong together, and for certificates that have expired at `now` or are not
// valid yet.
Security read_credentials(const std::string& folder, std::int64_t now);
// For etcd: from anybody's authority. Its own certificates name its addresses, unless this is a
// job's.
Security read_etcd_credentials(const std::string& folder, std::int64_t now);

// What lies there; if there is nothing, `first` makes it and others wait. Errors: as
// read_credentials(); io, if there is nothing in time.
Security obtain_credentials(const std::string& folder, bool first, Milliseconds most);

}  // namespace trireme::distributed
