#pragma once

namespace trireme::device {

// Returns the number of processors that this process may use, by its affinity mask and the CPU
// quota of its control group.
int available_processors();

// Returns `requested` if it is positive, else $TRIREME_NUM_THREADS, else available_processors().
// Error(usage) if the variable is set to anything but a number from 1 to 1024.
int choose_threads(int requested);

}  // namespace trireme::device
