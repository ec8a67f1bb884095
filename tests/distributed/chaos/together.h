#pragma once

// Trainers that count records in steps that all take together: by parameter servers, and by
// all-reduce. In both a task whose trainer dies is learned again from its beginning, so records may
// be counted more often than once; but only those of tasks that were handed out again, of each of
// which a line "again TASK" is printed.

#include "roles.h"

namespace trireme::chaos {

void count_synchronously(const distributed::RoleOptions& options, const CountJob& job);
// Each member has all counts, and leaves them in a file of the job's folder when all is over.
void count_by_all_reduce(const distributed::RoleOptions& options, const CountJob& job);
// The counts of such a file. Errors: io, data.
std::vector<double> counts_in(const std::string& file, std::int64_t records);

}  // namespace trireme::chaos
