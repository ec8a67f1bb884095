#pragma once

namespace trireme::kernels {

// While it lives, OpenMP code called by this thread uses this thread only. oneDNN asks OpenMP both
// when a primitive is made and when it runs.
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
