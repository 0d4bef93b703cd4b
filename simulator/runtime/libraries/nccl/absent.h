// Implements communicators in a job of which only some ranks run (world= and rank= of the SPEC), so
// that the other ranks are absent.
//
// Idea: no rank waits for another one. The data that a rank would receive are derived from its own,
// as if all other ranks had called the same operations with the same data: a sum is its own data
// times the number of ranks, a gathered part is its own part. A received message is the one that
// this rank sends to itself in the same group, else the one that it sends to that peer, if their
// sizes are equal; else it is zeros. A broadcast by an absent rank gives the data that this rank
// broadcasts in the same group, else the buffer does not change.
//
// Small operations pass through staging memory as they do among ranks that run, so that programs
// which read sizes and flags continue, whatever is computed. Large ones are tasks of the simulated
// driver (vramstowSimulatorAppend), which leaves them out and marks them by the same rules as other
// tasks.
//
// Ownership: as in operation.h. Threads: the caller's. Errors: returns an ncclResult_t. Units: as
// in operation.h.
#ifndef VRAMSTOW_SIMULATOR_RUNTIME_LIBRARIES_NCCL_ABSENT_H_
#define VRAMSTOW_SIMULATOR_RUNTIME_LIBRARIES_NCCL_ABSENT_H_

#include <vector>

#include "simulator/runtime/libraries/nccl/operation.h"

namespace vramstow::simulator {

// True if the SPEC names the ranks that run, so that each of them is alone.
bool OthersAreAbsent();

// Queues a collective operation of a communicator that is alone. `together` has all operations that
// were called in the same group.
ncclResult_t EnqueueAlone(const Operation& operation, const std::vector<Operation>& together);

// Queues the sends and receives of one group to and from other ranks, for one communicator that is
// alone and one stream.
ncclResult_t EnqueueTransfersAlone(const std::vector<Operation>& operations);

}  // namespace vramstow::simulator

#endif  // VRAMSTOW_SIMULATOR_RUNTIME_LIBRARIES_NCCL_ABSENT_H_
