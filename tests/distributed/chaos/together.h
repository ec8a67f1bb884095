#pragma once

// Trainers that count records in common steps: by parameter servers, and by all-reduce. In both, a
// task whose trainer fails is trained again from its start, so records may be counted more than
// once; but only those of tasks that were handed out again, for each of which a line "again TASK"
// is printed.

#include "roles.h"

namespace trireme::chaos {

void count_synchronously(const distributed::RoleOptions& options, const CountJob& job);
// Each member has all counts, and writes them to a file in the folder of the job at the end.
void count_by_all_reduce(const distributed::RoleOptions& options, const CountJob& job);
// The counts of such a file. Errors: io, data.
std::vector<double> counts_in(const std::string& file, std::int64_t records);

}  // namespace trireme::chaos
