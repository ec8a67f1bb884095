#include <algorithm>

#include "device/cpu/memory.h"
#include "device/cpu/pool.h"
#include "device/cpu/threads.h"
#include "device/device.h"

namespace trireme::device {

namespace {

class CpuDevice : public Device {
 public:
  explicit CpuDevice(int threads) : pool_(threads, threads <= available_processors()) {}

  int threads() const override { return pool_.threads(); }

  void run(std::int64_t count, std::int64_t grain, bool parallel, const Body& body) override {
    if (count <= 0) return;
    if (!parallel || pool_.threads() == 1 || count <= std::max<std::int64_t>(grain, 1)) {
      body(0, count, 0);
    } else {
      pool_.run(count, grain, body);
    }
  }

  void* allocate(std::size_t bytes) override { return memory_.allocate(bytes); }
  void release(void* memory, std::size_t bytes) override { memory_.release(memory, bytes); }

 private:
  Memory memory_;
  Pool pool_;
};

}  // namespace

std::unique_ptr<Device> make_cpu_device(int threads) {
  return std::make_unique<CpuDevice>(choose_threads(threads));
}

}  // namespace trireme::device
