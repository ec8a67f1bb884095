#pragma once

// Keys and words of job files under the names of the previous version.

#include <string>
#include <vector>

#include "session/job/node.h"

namespace trireme::job {

// Gives old keys and words their new names. `node` is a whole job, or its table `place`. Returns
// one warning for each renamed key: "job.toml:7: model.layers[0].embedding.rows is an old name; use
// num_embeddings". Errors: data if a table has a key under both names.
std::vector<std::string> use_new_keys(Node& node, const std::string& place = "");

}  // namespace trireme::job
