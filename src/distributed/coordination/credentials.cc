#include "distributed/coordination/credentials.h"

#include "distributed/coordination/handshakes.h"

namespace trireme::distributed {
namespace {

constexpr const char* kTokenKey = "authorization";

// Whether two tokens are equal, in a time that does not tell how much of them is.
bool same_token(const std::string& a, grpc::string_ref b) {
  if (a.size() != b.size()) return false;
  unsigned difference = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    difference |= static_cast<unsigned char>(a[i]) ^ static_cast<unsigned char>(b.data()[i]);
  }
  return difference == 0;
}

}  // namespace

std::shared_ptr<grpc::ServerCredentials> server_credentials(const Security& security) {
  if (security.certificate.empty()) return grpc::InsecureServerCredentials();
  count_failed_handshakes();
  grpc::SslServerCredentialsOptions ssl(GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY);
  ssl.pem_root_certs = security.authority;
  ssl.pem_key_cert_pairs.push_back({security.key, security.certificate});
  return grpc::SslServerCredentials(ssl);
}

std::shared_ptr<grpc::Channel> secure_channel(const std::string& address, const Security& security,
                                              grpc::ChannelArguments arguments) {
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 100);
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, 1000);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 1000);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, 10000);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 5000);
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  std::shared_ptr<grpc::ChannelCredentials> credentials = grpc::InsecureChannelCredentials();
  if (!security.authority.empty()) {
    credentials = grpc::SslCredentials({security.authority, security.key, security.certificate});
    if (!security.name.empty()) arguments.SetSslTargetNameOverride(security.name);
  }
  const bool several = address.find(',') != std::string::npos;
  return grpc::CreateCustomChannel((several ? "ipv4:" : "") + address, credentials, arguments);
}

void add_token(grpc::ClientContext& context, const Security& security) {
  if (!security.token.empty()) context.AddMetadata(kTokenKey, security.token);
}

bool has_token(const grpc::ServerContext& context, const Security& security) {
  if (security.token.empty()) return true;
  const auto& metadata = context.client_metadata();
  const auto found = metadata.find(kTokenKey);
  return found != metadata.end() && same_token(security.token, found->second);
}

}  // namespace trireme::distributed
