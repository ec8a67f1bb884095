#pragma once

// Connections between all members of a group, by Gloo's TCP transport, and messages over them; and
// a ring of connections for much data. Whoever waits is woken when any member's connection ends,
// not only that of the one waited for: Gloo alone would let it wait for its whole timeout if the
// connection ends in the middle of a message.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "distributed/collectives/rendezvous.h"

namespace trireme::distributed {

struct MeshOptions {
  std::string interface;  // by its name, "eth0"; if empty,
  std::string address;    // by an address of this machine
  // Called once by any thread when the mesh has been broken; the last owner must not give it up
  // there.
  std::function<void()> on_broken;
  std::function<void()> on_stranger = {};  // as GroupOptions
};

// One thread at a time does operations; fail() and failure() are safe for all.
class Mesh {
 public:
  using Clock = std::chrono::steady_clock;

  // Connects to all others, and makes sure that they read the same store. Errors: usage, for an
  // interface or address that this machine has not; io, if it does not succeed by the rendezvous'
  // deadline.
  Mesh(Rendezvous& rendezvous, int rank, int size, const MeshOptions& options);
  // Says goodbye: others can end the operations that this member has ended.
  ~Mesh();
  Mesh(const Mesh&) = delete;
  Mesh& operator=(const Mesh&) = delete;

  int rank() const { return rank_; }
  int size() const { return size_; }
  // Breaks the mesh: whoever waits is woken, all connections end, and no message goes through any
  // more. Only the first reason counts.
  void fail(const std::string& reason);
  // Why it is broken; empty if it is not.
  std::string failure() const;
  // Begins the next operation of all members, and tells its number, from 1. Errors: io, if the mesh
  // is broken or someone has left before that operation.
  std::uint64_t begin_operation();

  // Around the ring. All errors: io.
  // Begins an operation: the member before must begin the same one.
  void begin_ring(std::uint64_t operation, Clock::time_point deadline);
  // To the next rank, behind what was sent before. The memory stays until flush() has returned, but
  // for what has arrived back.
  void send_on(const void* data, std::size_t bytes);
  // The next bytes of the rank before.
  void receive_behind(void* data, std::size_t bytes, Clock::time_point deadline);
  void flush(Clock::time_point deadline);

  // Memory that messages are sent from and received into. Those between two members on one slot
  // arrive in the order in which they were sent. All errors: io. Ends before the memory and the
  // mesh do.
  class Buffer {
   public:
    Buffer(Mesh& mesh, void* data, std::size_t bytes);
    ~Buffer();
    Buffer(const Buffer&) = delete;
    Buffer& operator=(const Buffer&) = delete;

    // Begin, and return at once.
    void send(int to, std::uint64_t slot, std::size_t offset, std::size_t bytes);
    void receive(int from, std::uint64_t slot, std::size_t offset, std::size_t bytes);
    // For the next one of those that were begun to be through.
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
