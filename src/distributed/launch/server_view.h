#pragma once

// Which parameter servers a job has, as the master has written it.

#include <optional>

#include "distributed/launch/role.h"
#include "distributed/server/client.h"

namespace trireme::distributed {

// The map's bytes behind a line with the servers' addresses, by place. Errors: data, for what is none.
std::string text_of(const ServerView& view);
ServerView server_view_of(const std::string& text);
// Waits until the master has written one. Errors: Unavailable.
ServerView read_server_view(Store& store, const RoleOptions& options, Milliseconds most);

}  // namespace trireme::distributed
