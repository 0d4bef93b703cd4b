// The driver's error log: one line for each call that failed, kept, given to callbacks, dumped.
//
// Source of the rules: the group CUDA_LOGS of cuda.h. A line is
// "[hour:minute:second.millisecond][thread][CUDA][E][function] what it returned".
//
// Ownership: keeps the latest lines within kLogBytes. Threads: a lock of its own, under which
// nothing is called. Errors: none.
#ifndef VRAMSTOW_SIMULATOR_DRIVER_LOG_H_
#define VRAMSTOW_SIMULATOR_DRIVER_LOG_H_

#include <cuda.h>

namespace vramstow::simulator {

inline constexpr size_t kLogBytes = 25600;  // documented as the most that is kept

// `call` returned `result`, to the thread that is here. Called without any lock: callbacks run.
void LogFailure(const char* call, CUresult result) noexcept;

}  // namespace vramstow::simulator

#endif  // VRAMSTOW_SIMULATOR_DRIVER_LOG_H_
