// Reports to the simulated driver which memory the work of a stand-in should write, because the
// stand-in does not write it.
//
// Idea: a stand-in models order, memory and time, and computes nothing. PyTorch's operators may be
// computed by an adapter instead (adapters/values). Other results read as zeros and are marked as
// not computed, so that a read of them is reported, and one sentence on stderr says so. With any
// other driver than the simulated one nothing is done.
//
// Ownership: none. Threads: any. Errors: none; memory that cannot be marked does not change. Units:
// bytes.
#ifndef VRAMSTOW_SIMULATOR_RUNTIME_LIBRARIES_COMMON_LEFT_OUT_H_
#define VRAMSTOW_SIMULATOR_RUNTIME_LIBRARIES_COMMON_LEFT_OUT_H_

#include <cuda.h>

#include <cstddef>
#include <cstdint>
#include <initializer_list>

namespace vramstow::simulator {

struct Result {
  const void* address = nullptr;
  size_t bytes = 0;
};

// Marks the results of the work `name`, which LaunchWork has just queued on the stream. `name`
// lives as long as the process.
void LeaveOut(const char* name, CUstream stream, std::initializer_list<Result> results);

}  // namespace vramstow::simulator

#endif  // VRAMSTOW_SIMULATOR_RUNTIME_LIBRARIES_COMMON_LEFT_OUT_H_
