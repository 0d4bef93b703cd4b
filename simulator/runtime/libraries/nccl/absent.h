// Implements communicators in a job of which only some ranks run (world= and rank= of the SPEC), so
// that the other ranks are absent.
//
// Idea: no rank waits for another one. The data that a rank would receive are derived from its own
// data, as if all other ranks had called the same operations with the same data. A sum is the
// rank's own data times the number of ranks, and each gathered part equals its own part. A received
// message is replaced by the message that this rank sends to itself in the same group, otherwise by
// the message that it sends to the same peer, if the sizes are equal, and otherwise by zeros. A
// broadcast by an absent rank yields the data that this rank broadcasts in the same group; without
// such a broadcast the buffer does not change.
//
// Small operations pass through staging memory as they do among ranks that run. So programs which
// read sizes and flags continue, whatever is computed. Large operations are tasks of the simulated
// driver (vramstowSimulatorAppend), which may leave them out and mark their results as not
// computed, by the same rules as for other tasks.
//
// Ownership: as in operation.h. Threads: the caller's. Errors: returns an ncclResult_t. Units: as
// in operation.h.
#ifndef VRAMSTOW_SIMULATOR_RUNTIME_LIBRARIES_NCCL_ABSENT_H_
#define VRAMSTOW_SIMULATOR_RUNTIME_LIBRARIES_NCCL_ABSENT_H_

#include <vector>

#include "simulator/runtime/libraries/nccl/operation.h"

namespace vramstow::simulator {

// True if the SPEC names the ranks that run. Then each running rank works without the other ranks.
bool OthersAreAbsent();

// Queues a collective operation without waiting for other ranks, because they are absent.
// `together` has all operations that were called in the same group.
ncclResult_t EnqueueAlone(const Operation& operation, const std::vector<Operation>& together);

// Queues the sends and receives of one group without waiting for other ranks, because they are
// absent. All of them belong to one communicator and one stream.
ncclResult_t EnqueueTransfersAlone(const std::vector<Operation>& operations);

}  // namespace vramstow::simulator

#endif  // VRAMSTOW_SIMULATOR_RUNTIME_LIBRARIES_NCCL_ABSENT_H_
