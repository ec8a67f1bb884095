#pragma once

// Reads a Call. An invalid call is a bug of the compiler: Error(internal).

#include <cstdint>
#include <string>
#include <vector>

#include "kernels/library.h"

namespace trireme::kernels {

using Sizes = std::vector<std::int64_t>;

// Returns the integers of attribute `name`: 1 or `count` of them (one stands for all), or `count`
// times `otherwise` if there is no such attribute. Accepts an int, ints and a constant shape.
Sizes integers(const Call& call, const std::string& name, std::size_t count,
               std::int64_t otherwise);
std::int64_t integer(const Call& call, const std::string& name, std::int64_t otherwise);
// Returns all integers of attribute `name`; none if there is no such attribute.
Sizes integers(const Call& call, const std::string& name);
// Return the value of an attribute of that kind, or false, `otherwise` or "" if there is none.
bool flag(const Call& call, const std::string& name);
double number(const Call& call, const std::string& name, double otherwise);
std::string text(const Call& call, const std::string& name);

// Returns attribute `axis`, counted from the front. Error(internal) if the last tensor has no such
// axis.
std::size_t axis_of(const char* kernel, const Call& call);

std::int64_t elements(const Sizes& shape);  // of shape[0] to shape[end)

// Throws Error(internal) with the name of the kernel and the shapes of the call.
[[noreturn]] void fail_call(const char* kernel, const Call& call, const std::string& why);
void require_tensors(const char* kernel, const Call& call, std::size_t count);

}  // namespace trireme::kernels
