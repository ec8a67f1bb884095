#pragma once

// The kernels that library.cc and loops.cc find by name; each is defined in the file of its family.

#include "kernels/library.h"

namespace trireme::kernels {

std::unique_ptr<Prepared> prepare_gemm(const Call& call);
std::unique_ptr<Prepared> prepare_convolution(const Call& call);
std::unique_ptr<Prepared> prepare_convolution_input_gradient(const Call& call);
std::unique_ptr<Prepared> prepare_convolution_weight_gradient(const Call& call);
std::unique_ptr<Prepared> prepare_scatter_add(const Call& call);
std::unique_ptr<Prepared> prepare_scatter_add_nd(const Call& call);
std::unique_ptr<Prepared> prepare_scatter_add_along_axis(const Call& call);
std::unique_ptr<Prepared> prepare_cumsum(const Call& call);
std::unique_ptr<Prepared> prepare_sort(const Call& call);
std::unique_ptr<Prepared> prepare_argsort(const Call& call);
std::unique_ptr<Prepared> prepare_assign_rows(const Call& call);
std::unique_ptr<Prepared> prepare_check_indices(const Call& call);
std::unique_ptr<Prepared> prepare_ctc(const Call& call);
std::unique_ptr<Prepared> prepare_ctc_gradient(const Call& call);
std::unique_ptr<Prepared> prepare_sum_rows(const Call& call);
std::unique_ptr<Prepared> prepare_rnn_schedule(const Call& call);
std::unique_ptr<Prepared> prepare_row_splits(const Call& call);
std::unique_ptr<Prepared> prepare_segment_ids(const Call& call);
std::unique_ptr<Prepared> prepare_segment_max(const Call& call);
std::unique_ptr<Prepared> prepare_segment_sum(const Call& call);

}  // namespace trireme::kernels
