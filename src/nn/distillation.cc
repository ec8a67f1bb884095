// Losses of distillation.

#include <string>

#include "nn/losses.h"
#include "trireme/compression.h"
#include "trireme/functions.h"

namespace trireme::nn {
namespace {

void require_both(const char* what, const Value& student, const Value& teacher, int rank,
                  bool exactly) {
  const auto fits = [&](const Value& x) {
    return is_arithmetic_float(x.dtype()) && (exactly ? x.rank() == rank : x.rank() >= rank);
  };
  if (student.dtype() == teacher.dtype() && fits(student) && fits(teacher) &&
      student.dim(0) == teacher.dim(0)) {
    return;
  }
  fail_layer(what,
             "the student is " + student.str() + " and the teacher " + teacher.str() +
                 "; both must have one float dtype, the same examples, and rank " +
                 std::to_string(rank) + (exactly ? "" : " or more"),
             "", student);
}

// x / norm, or 0 where the norm is 0, along the last axes; its gradient is 0 there, too.
Value unit_rows(const Value& x, const std::vector<std::int64_t>& axes) {
  const Value size = norm(x, {.axes = axes, .keep = true});
  const Value is_zero = equal(size, 0.0);
  return trireme::where(is_zero, 0.0, x / trireme::where(is_zero, 1.0, size));
}

Value attention_map(const Value& x) { return unit_rows(flatten(mean(x * x, {.axes = {1}})), {1}); }

// x[i] - x[j]: [batch, batch, features].
Value differences(const Value& x) { return unsqueeze(x, 1) - unsqueeze(x, 0); }

// The distances [batch, batch] divided by the mean of those above 0.
Value relative_distances(const Value& x) {
  const Value distance = norm(differences(x), {.axes = {2}});
  const Value count = sum(cast(distance > 0.0, {.dtype = x.dtype()}));
  const Value average = sum(distance) / maximum(count, 1.0);
  const Value is_zero = equal(average, 0.0);
  return distance / trireme::where(is_zero, 1.0, average);
}

// The cosines at i between j and k: [batch, batch, batch].
Value angles(const Value& x) {
  const Value units = unit_rows(differences(x), {2});
  return matmul(units, units, {.transpose_b = true});
}

}  // namespace

Value distillation(const Value& student, const Value& teacher, DistillationOptions options,
                   SourceLocation where) {
  const LocationScope at(student, "distillation", where);
  require_same("distillation", student, teacher);
  require_option(student.rank() >= 1, "distillation", "the logits need an axis of classes",
                 student);
  require_option(options.temperature > 0, "distillation", "the temperature must be above 0",
                 student);
  const double t = options.temperature;
  const Value wanted = stop_gradient(teacher) / t;
  const Value log_p = log_softmax(wanted), log_q = log_softmax(student / t);
  return sum(exp(log_p) * (log_p - log_q), {.axes = {-1}}) * (t * t);
}

Value attention_transfer(const Value& student, const Value& teacher, SourceLocation where) {
  const LocationScope at(student, "attention_transfer", where);
  require_both("attention_transfer", student, teacher, 3, /*exactly=*/false);
  const Shape rest(student.shape().begin() + 2, student.shape().end());
  if (rest != Shape(teacher.shape().begin() + 2, teacher.shape().end())) {
    fail_layer("attention_transfer",
               "the sizes after the channels differ: " + student.str() + ", " + teacher.str(),
               "resize one of them, for example with resize_bilinear()", student);
  }
  const Value d = attention_map(student) - attention_map(stop_gradient(teacher));
  return mean(d * d, {.axes = {1}});
}

Value relation_distance(const Value& student, const Value& teacher, SourceLocation where) {
  const LocationScope at(student, "relation_distance", where);
  require_both("relation_distance", student, teacher, 2, /*exactly=*/true);
  return mean(smooth_l1(relative_distances(student), stop_gradient(relative_distances(teacher)), {},
                        where));
}

Value relation_angle(const Value& student, const Value& teacher, SourceLocation where) {
  const LocationScope at(student, "relation_angle", where);
  require_both("relation_angle", student, teacher, 2, /*exactly=*/true);
  return mean(smooth_l1(angles(student), stop_gradient(angles(teacher)), {}, where));
}

}  // namespace trireme::nn
