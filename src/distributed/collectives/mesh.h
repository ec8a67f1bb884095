#pragma once

// Connections between all members of a group, by the TCP transport of Gloo, and messages over them;
// and a ring of connections for large data. A waiting thread is woken when the connection to any
// member ends, not only to the one that it waits for. Gloo alone would wait for its whole timeout
// if the connection ends in the middle of a message.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "distributed/collectives/rendezvous.h"

namespace trireme::distributed {

struct MeshOptions {
  std::string interface;  // "eth0"; if empty, `address` is used
  std::string address;    // an address of this machine
  // Called once, by any thread, when the mesh breaks. The last owner must not release the mesh in
  // it.
  std::function<void()> on_broken;
  std::function<void()> on_unauthenticated_peer = {};  // as GroupOptions
};

// Operations are for one thread at a time; fail() and failure() are thread-safe.
class Mesh {
 public:
  using Clock = std::chrono::steady_clock;

  // Connects to all others and checks that they use the same store. Errors: usage for an interface
  // or address that this machine does not have; io if it does not succeed by the deadline of the
  // rendezvous.
  Mesh(Rendezvous& rendezvous, int rank, int size, const MeshOptions& options);
  // Announces the departure, so that others can finish the operations that this member finished.
  ~Mesh();
  Mesh(const Mesh&) = delete;
  Mesh& operator=(const Mesh&) = delete;

  int rank() const { return rank_; }
  int size() const { return size_; }
  // Breaks the mesh: waiting threads wake, all connections end, and no message is sent any more.
  // Only the first reason is kept.
  void fail(const std::string& reason);
  // Returns why it broke; empty if it did not.
  std::string failure() const;
  // Starts the next operation of all members and returns its number, from 1. Errors: io if the mesh
  // is broken or a member left before that operation.
  std::uint64_t begin_operation();

  // --- The ring. All errors: io.
  // Starts an operation: the previous member must start the same one.
  void begin_ring(std::uint64_t operation, Clock::time_point deadline);
  // Sends to the next rank after earlier data. The memory must stay valid until flush() returns,
  // except for data that has already returned around the ring.
  void send_on(const void* data, std::size_t bytes);
  // Receives the next bytes of the previous rank.
  void receive_behind(void* data, std::size_t bytes, Clock::time_point deadline);
  void flush(Clock::time_point deadline);

  // Memory for sending and receiving messages. Messages between two members in one slot arrive in
  // the order of sending. All errors: io. It must be destroyed before the memory and the mesh.
  class Buffer {
   public:
    Buffer(Mesh& mesh, void* data, std::size_t bytes);
    ~Buffer();
    Buffer(const Buffer&) = delete;
    Buffer& operator=(const Buffer&) = delete;

    // Start a transfer and return at once.
    void send(int to, std::uint64_t slot, std::size_t offset, std::size_t bytes);
    void receive(int from, std::uint64_t slot, std::size_t offset, std::size_t bytes);
    // Waits until the next of the started transfers is complete.
    void wait_received(Clock::time_point deadline);
    void wait_sent(Clock::time_point deadline);

   private:
    struct State;
    std::unique_ptr<State> state_;
    Mesh& mesh_;
  };

 private:
  struct State;
  void greet(Rendezvous& rendezvous, const MeshOptions& options);
  void link(const MeshOptions& options, Rendezvous& rendezvous);
  void say_goodbye();
  void listen();
  void hear_goodbye(int from);
  std::string lost() const;
  template <class Work>
  void explained(const Work& work);
  template <class Work>
  void wait(Clock::time_point deadline, const Work& work);
  template <class Work>
  void on_link(Clock::time_point deadline, const Work& work);

  const int rank_, size_;
  const std::function<void()> on_broken_;
  std::unique_ptr<State> state_;
};

}  // namespace trireme::distributed
