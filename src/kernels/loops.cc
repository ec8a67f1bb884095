// The kernels that need no library: all that an inference library has besides generated code.

#include "kernels/families.h"
#include "kernels/library.h"

namespace trireme::kernels {

namespace {

struct Entry {
  const char* name;
  std::unique_ptr<Prepared> (*prepare)(const Call& call);
};

constexpr Entry kTable[] = {
    {"argsort", prepare_argsort},
    {"assign_rows", prepare_assign_rows},
    {"check_indices", prepare_check_indices},
    {"ctc", prepare_ctc},
    {"ctc_gradient", prepare_ctc_gradient},
    {"cumsum", prepare_cumsum},
    {"rnn_schedule", prepare_rnn_schedule},
    {"row_splits", prepare_row_splits},
    {"scatter_add", prepare_scatter_add},
    {"scatter_add_along_axis", prepare_scatter_add_along_axis},
    {"scatter_add_nd", prepare_scatter_add_nd},
    {"segment_ids", prepare_segment_ids},
    {"segment_max", prepare_segment_max},
    {"segment_sum", prepare_segment_sum},
    {"sort", prepare_sort},
    {"sum_rows", prepare_sum_rows},
};

}  // namespace

Prepare find_loop(const std::string& name) {
  for (const Entry& entry : kTable) {
    if (name == entry.name) return entry.prepare;
  }
  static const HostFunctions kNone;
  if (name == "host_call") return host_calls(kNone);
  return nullptr;
}

}  // namespace trireme::kernels
