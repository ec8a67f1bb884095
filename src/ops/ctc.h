#pragma once

// Common code of ctc and ctc_gradient, which read log-probabilities, labels, and the splits of
// both.

#include <cstdint>
#include <limits>
#include <vector>

#include "ops/common.h"

namespace trireme::ops {

// Returns the type of one loss per sequence. TypeError if the operands do not match.
Type ctc_type(const TypeContext& c);

// Calls visit(i, alignment, log-probability) for every alignment of sequence i with its labels. An
// alignment is a class for each row of the sequence. Tries classes^rows candidates, so use it for
// small cases only.
void for_each_ctc_alignment(
    const Reference& r,
    const std::function<void(std::size_t i, const std::vector<std::size_t>& alignment, double)>&
        visit);
// Returns, for each sequence, the logarithm of the sum of the probabilities of all alignments.
std::vector<double> ctc_totals(const Reference& r);

// Samples of short sequences with few classes; some sequences have no alignment.
std::vector<Sample> ctc_samples();

}  // namespace trireme::ops
