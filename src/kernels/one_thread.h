#pragma once

namespace trireme::kernels {

// During its lifetime, OpenMP code that this thread calls uses this thread only. oneDNN calls
// OpenMP both when it makes a primitive and when it runs one.
class OneOpenMpThread {
 public:
  OneOpenMpThread();
  ~OneOpenMpThread();
  OneOpenMpThread(const OneOpenMpThread&) = delete;
  OneOpenMpThread& operator=(const OneOpenMpThread&) = delete;

 private:
  int before_;
};

}  // namespace trireme::kernels
