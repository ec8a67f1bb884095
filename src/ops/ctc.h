#pragma once

// What ctc and ctc_gradient share: rows of log-probabilities, labels, and the splits of both.

#include <cstdint>
#include <limits>
#include <vector>

#include "ops/common.h"

namespace trireme::ops {

// The type of one loss for each sequence. TypeError unless the operands fit.
Type ctc_type(const TypeContext& c);

// Calls visit(i, alignment, log-probability) for every alignment of sequence i with its labels: a class for
// each of its rows. As many as there are classes to the power of rows are tried, so for small cases only.
void for_each_ctc_alignment(
    const Reference& r,
    const std::function<void(std::size_t i, const std::vector<std::size_t>& alignment, double)>&
        visit);
// The logarithm of the sum of the probabilities of all alignments of each sequence.
std::vector<double> ctc_totals(const Reference& r);

// Sequences of few rows and classes; in some there is no alignment.
std::vector<Sample> ctc_samples();

}  // namespace trireme::ops
