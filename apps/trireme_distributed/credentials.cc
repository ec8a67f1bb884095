// `trireme credentials`: creates the certificates of a job in advance.

#include <cstdio>
#include <string>

#include "commands.h"
#include "distributed/placement/authority.h"
#include "distributed/placement/certificate.h"

namespace commands {

namespace dist = trireme::distributed;

constexpr const char* kExamples = R"(examples:
  trireme credentials keys                           a folder for --credentials keys
  trireme credentials keys --days 90                 for a job that runs longer than 30 days
  kubectl create secret generic clicks-credentials --from-file=keys
)";

void add_credentials(CLI::App& app) {
  static std::string folder;
  static int days = dist::kCredentialDays;
  CLI::App* command = app.add_subcommand(
      "credentials", std::string("create a folder with the certificates of a job\n\n") + kExamples);
  command->add_option("folder", folder, "folder to create, readable only by its owner")->required();
  command->add_option("--days", days, "days of validity (30)")->check(CLI::Range(1, 825));
  command->callback([] {
    const std::int64_t now = dist::seconds_since_1970();
    if (!dist::write_credentials(folder, dist::make_credentials(days, now))) {
      throw CLI::ValidationError(
          folder, "already contains certificates; remove them or name another folder");
    }
    std::printf("%s: ca.crt, tls.crt and tls.key, valid until %s\n", folder.c_str(),
                dist::time_text(now + std::int64_t{days} * 24 * 3600).c_str());
  });
}

}  // namespace commands
