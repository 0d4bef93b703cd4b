// Tasks: what a library computes on the host in place of kernels, as part of a stream's work.
//
// Idea: the library lets the kernels be launched as ever, so that time, order and memory are what
// they are without it, and appends to the last of them a function that computes the results. What
// is too large, or made of what was left out, is left out here as it is for kernels that are known
// by name; then it reads as zeros and is marked. The functions are declared in simulator_api.h.
//
// Ownership: a task belongs to the work or the graph node that it was appended to. Threads:
// the driver's lock, unless said otherwise. Errors: CUresult. Units: bytes.
#ifndef VRAMSTOW_SIMULATOR_DRIVER_TASK_H_
#define VRAMSTOW_SIMULATOR_DRIVER_TASK_H_

#include "simulator/driver/copy.h"

namespace vramstow::simulator {

// Whether the calling thread has asked for a change of what such a copy to the host reads: it is a
// small one.
bool PatchesRead(const CopyBox& box);

// Such a copy was enqueued: appends the change.
void PatchRead(Call& call, Stream* stream, const CopyBox& box);

}  // namespace vramstow::simulator

#endif  // VRAMSTOW_SIMULATOR_DRIVER_TASK_H_
