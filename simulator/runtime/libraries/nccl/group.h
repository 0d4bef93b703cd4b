// Implements ncclGroupStart and ncclGroupEnd, which group a thread's calls.
//
// Idea: the end of the outermost group connects all new communicators at the same time, and then
// queues the operations. Each communicator is connected on a thread of its own, because the
// connection waits for other ranks. A call outside a group is treated as a group of one call.
//
// Ownership: nothing outlives the group. Threads: each thread has its own groups. Errors: if a call
// in the group failed, the end of the group returns the first error and does nothing else.
#ifndef VRAMSTOW_SIMULATOR_RUNTIME_LIBRARIES_NCCL_GROUP_H_
#define VRAMSTOW_SIMULATOR_RUNTIME_LIBRARIES_NCCL_GROUP_H_

#include <functional>

#include "simulator/runtime/libraries/nccl/operation.h"

namespace vramstow::simulator {

void StartGroup();
// Ends the group and carries out its calls. Returns ncclInvalidUsage if there is no group.
ncclResult_t EndGroup();
// Ends the group and discards its calls.
ncclResult_t DropGroup();

// Queues the operation, now or at the end of the group.
ncclResult_t Submit(const Operation& operation);

// Sets *target to a communicator that `connect` connects (by Connect, and perhaps work before it).
// On failure *target becomes null and the communicator is destroyed. `comm` may be null if
// `connect` decides whether there is a communicator.
ncclResult_t SubmitConnection(ncclComm* comm, ncclComm** target,
                              std::function<ncclResult_t()> connect);

// Records an error of a call that may be inside a group, and returns it.
ncclResult_t Refused(ncclResult_t result);

}  // namespace vramstow::simulator

#endif  // VRAMSTOW_SIMULATOR_RUNTIME_LIBRARIES_NCCL_GROUP_H_
