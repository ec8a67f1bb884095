#pragma once

// What Security and reconnecting mean to gRPC. For .cc files that make channels or servers.

#include <grpcpp/grpcpp.h>

#include <memory>
#include <string>

#include "distributed/coordination/security.h"

namespace trireme::distributed {

std::shared_ptr<grpc::ServerCredentials> server_credentials(const Security& security);
// A channel that finds a server that comes back within 2 seconds, as long as somebody polls it.
std::shared_ptr<grpc::Channel> secure_channel(const std::string& address, const Security& security,
                                              grpc::ChannelArguments arguments);

// Before a call: the token goes with it.
void add_token(grpc::ClientContext& context, const Security& security);
// Whether a call brings the token, where one is asked for.
bool has_token(const grpc::ServerContext& context, const Security& security);

}  // namespace trireme::distributed
