// ncclGroupStart and ncclGroupEnd: what a thread has called in between.
//
// Idea: the outermost end connects new communicators all at once, each on a thread of its own
// because each waits for the others, and then queues the operations. Outside a group the same
// happens with the one call.
//
// Ownership: nothing outlives the group. Threads: each has its own groups. Errors: the first error
// of a call inside is what the end returns, and nothing is done then.
#ifndef VRAMSTOW_SIMULATOR_RUNTIME_LIBRARIES_NCCL_GROUP_H_
#define VRAMSTOW_SIMULATOR_RUNTIME_LIBRARIES_NCCL_GROUP_H_

#include <functional>

#include "simulator/runtime/libraries/nccl/operation.h"

namespace vramstow::simulator {

void StartGroup();
// ncclInvalidUsage: there is no group.
ncclResult_t EndGroup();
// Ends the group and forgets what was called.
ncclResult_t DropGroup();

// Does the operation, now or at the end of the group.
ncclResult_t Submit(const Operation& operation);

// Makes *target a communicator whose connection is what `connect` does (Connect, or what precedes
// it); on failure *target becomes null and the communicator goes away. `comm` may be null where
// `connect` finds out whether there is to be one.
ncclResult_t SubmitConnection(ncclComm* comm, ncclComm** target,
                              std::function<ncclResult_t()> connect);

// An error of a call that may be inside a group.
ncclResult_t Refused(ncclResult_t result);

}  // namespace vramstow::simulator

#endif  // VRAMSTOW_SIMULATOR_RUNTIME_LIBRARIES_NCCL_GROUP_H_
