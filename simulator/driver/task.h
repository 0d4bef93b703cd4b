// Runs tasks: functions of a library that compute results on the host in place of kernels, as part
// of a stream's work.
//
// Idea: the library launches its kernels as usual, so that time, order and memory do not change. It
// then appends a function that computes the results to the last of these launches. A task is left
// out if it is too large or if its inputs were left out; the same rule holds for kernels that are
// known by name. The output of a task that was left out reads as zeros and is marked as not
// computed. The functions are declared in simulator_api.h.
//
// Ownership: a task belongs to the work or the graph node that it was appended to. Threads: the
// caller holds the driver's lock, unless documented otherwise. Errors: returns a CUresult. Units:
// bytes.
#ifndef VRAMSTOW_SIMULATOR_DRIVER_TASK_H_
#define VRAMSTOW_SIMULATOR_DRIVER_TASK_H_

#include "simulator/driver/copy.h"

namespace vramstow::simulator {

// True if the copy is a small copy to the host, and the calling thread has registered a function
// that may replace the bytes that such copies read.
bool PatchesRead(const CopyBox& box);

// Appends the replacement of bytes to the copy `box`, for which PatchesRead is true and which was
// just enqueued.
void PatchRead(Call& call, Stream* stream, const CopyBox& box);

}  // namespace vramstow::simulator

#endif  // VRAMSTOW_SIMULATOR_DRIVER_TASK_H_
