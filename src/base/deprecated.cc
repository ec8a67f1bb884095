#include "trireme/deprecated.h"

#include <string>

#include "base/error.h"

namespace trireme::detail {

void fail_two_names(const char* old_name, const char* new_name) {
  fail_usage("an option is set under two names, ." + std::string(new_name) + " and ." + old_name +
             "\n  hint   ." + old_name + " is the old name of ." + new_name + "; remove it");
}

}  // namespace trireme::detail
