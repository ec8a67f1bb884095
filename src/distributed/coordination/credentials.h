#pragma once

// Translates Security and reconnection settings for gRPC. For .cc files that make channels or
// servers.

#include <grpcpp/grpcpp.h>

#include <memory>
#include <string>

#include "distributed/coordination/security.h"

namespace trireme::distributed {

std::shared_ptr<grpc::ServerCredentials> server_credentials(const Security& security);
// Returns a channel that finds a restarted server within 2 seconds, while a thread polls it.
std::shared_ptr<grpc::Channel> secure_channel(const std::string& address, const Security& security,
                                              grpc::ChannelArguments arguments);

// Adds the token to a call. Call it before the call starts.
void add_token(grpc::ClientContext& context, const Security& security);
// Returns whether a call has the token, or none is required.
bool has_token(const grpc::ServerContext& context, const Security& security);

}  // namespace trireme::distributed
