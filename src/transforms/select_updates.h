#pragma once

#include <string>
#include <vector>

#include "ir/program.h"

namespace trireme::transforms {

// Drops the updates of sets that are not in `names`; empty: keeps all sets. Also drops the updates
// of the parameters `frozen`, those of their optimizer state, and their part in a norm of all
// gradients. Forgets Program::updates, because later transforms rewrite these Values.
void select_updates(ir::Program& program, const std::vector<std::string>& names,
                    const std::vector<std::string>& frozen);

// Drops assigns that belong to no optimizer, such as those of running means, unless the results of
// the Program or the updates compute everything that they read from inputs. So a step on generated
// images does not compute running means of the real ones.
void drop_idle_assigns(ir::Program& program);

}  // namespace trireme::transforms
