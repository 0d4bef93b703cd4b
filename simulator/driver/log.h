// Writes the driver's error log: one line for each call that failed, which is stored, passed to
// callbacks, and can be dumped.
//
// Source of the rules: the group CUDA_LOGS of cuda.h. A line is
// "[hour:minute:second.millisecond][thread][CUDA][E][function] what it returned".
//
// Ownership: stores the latest lines within kLogBytes. Threads: has its own lock, under which no
// callback is called. Errors: none.
#ifndef VRAMSTOW_SIMULATOR_DRIVER_LOG_H_
#define VRAMSTOW_SIMULATOR_DRIVER_LOG_H_

#include <cuda.h>

namespace vramstow::simulator {

inline constexpr size_t kLogBytes = 25600;  // documented size of the log

// Logs that `call` returned `result` to the calling thread. Must be called without any lock,
// because callbacks run.
void LogFailure(const char* call, CUresult result) noexcept;

}  // namespace vramstow::simulator

#endif  // VRAMSTOW_SIMULATOR_DRIVER_LOG_H_
