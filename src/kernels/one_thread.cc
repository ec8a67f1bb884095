#include "kernels/one_thread.h"

// OpenMP's own functions; <omp.h> is not there for every compiler we build with.
extern "C" {
void omp_set_num_threads(int threads);
int omp_get_max_threads(void);
}

namespace trireme::kernels {

OneOpenMpThread::OneOpenMpThread() : before_(omp_get_max_threads()) {
  if (before_ != 1) omp_set_num_threads(1);
}

OneOpenMpThread::~OneOpenMpThread() {
  if (before_ != 1) omp_set_num_threads(before_);
}

}  // namespace trireme::kernels
