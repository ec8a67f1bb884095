#pragma once

// gRPC calls with bytes as messages, without protobuf. Like the output of protoc. For etcd_store.cc
// and etcd_server.cc.

#include <grpcpp/grpcpp.h>
#include <grpcpp/impl/codegen/client_unary_call.h>
#include <grpcpp/impl/codegen/method_handler.h>
#include <grpcpp/impl/codegen/rpc_service_method.h>
#include <grpcpp/impl/codegen/service_type.h>
#include <grpcpp/impl/codegen/sync_stream.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace trireme::distributed {

struct Message {
  std::string bytes;
};

}  // namespace trireme::distributed

namespace grpc {

template <>
class SerializationTraits<trireme::distributed::Message> {
 public:
  static Status Serialize(const trireme::distributed::Message& message, ByteBuffer* buffer,
                          bool* own) {
    const Slice slice(message.bytes);
    *buffer = ByteBuffer(&slice, 1);
    *own = true;
    return Status::OK;
  }
  static Status Deserialize(ByteBuffer* buffer, trireme::distributed::Message* message) {
    std::vector<Slice> slices;
    const Status status = buffer->Dump(&slices);
    buffer->Clear();  // gRPC has released it
    if (!status.ok()) return status;
    message->bytes.clear();
    for (const Slice& slice : slices) {
      message->bytes.append(reinterpret_cast<const char*>(slice.begin()), slice.size());
    }
    return Status::OK;
  }
};

}  // namespace grpc

namespace trireme::distributed {

using ClientStream = grpc::ClientReaderWriter<Message, Message>;
using ServerStream = grpc::ServerReaderWriter<Message, Message>;

// A method by its path, "/etcdserverpb.KV/Txn".
class Method {
 public:
  Method(const char* path, std::shared_ptr<grpc::Channel> channel, bool streams = false)
      : channel_(std::move(channel)),
        method_(path,
                streams ? grpc::internal::RpcMethod::BIDI_STREAMING
                        : grpc::internal::RpcMethod::NORMAL_RPC,
                channel_) {}

  grpc::Status call(grpc::ClientContext* context, const std::string& request,
                    std::string* response) const {
    Message answer;
    const grpc::Status status = grpc::internal::BlockingUnaryCall<Message, Message>(
        channel_.get(), method_, context, Message{request}, &answer);
    *response = std::move(answer.bytes);
    return status;
  }
  std::unique_ptr<ClientStream> open(grpc::ClientContext* context) const {
    return std::unique_ptr<ClientStream>(
        grpc::internal::ClientReaderWriterFactory<Message, Message>::Create(channel_.get(), method_,
                                                                            context));
  }

 private:
  std::shared_ptr<grpc::Channel> channel_;
  grpc::internal::RpcMethod method_;
};

// A service from its methods, each a function.
class Service : public grpc::Service {
 public:
  using Answer = std::function<grpc::Status(grpc::ServerContext&, const std::string& request,
                                            std::string* response)>;
  using Talk = std::function<grpc::Status(grpc::ServerContext&, ServerStream&)>;

  void add(const char* path, Answer answer) {
    using Handler = grpc::internal::RpcMethodHandler<Service, Message, Message, Message, Message>;
    AddMethod(new grpc::internal::RpcServiceMethod(
        path, grpc::internal::RpcMethod::NORMAL_RPC,
        new Handler(
            [answer = std::move(answer)](Service*, grpc::ServerContext* context,
                                         const Message* request, Message* response) {
              return answer(*context, request->bytes, &response->bytes);
            },
            this)));
  }
  void add_stream(const char* path, Talk talk) {
    using Handler = grpc::internal::BidiStreamingHandler<Service, Message, Message>;
    AddMethod(new grpc::internal::RpcServiceMethod(
        path, grpc::internal::RpcMethod::BIDI_STREAMING,
        new Handler(
            [talk = std::move(talk)](Service*, grpc::ServerContext* context, ServerStream* stream) {
              return talk(*context, *stream);
            },
            this)));
  }
};

}  // namespace trireme::distributed
