// Ranks that are not there: what a communicator does in a job of which only some ranks run (world=
// and rank= of the SPEC).
//
// Idea: no rank waits for another one. What a rank would get is made of what it has itself, as if
// all others had called the same with the same data: a sum is its own data times the number of
// ranks, a gathered part is its own part. A message comes as the one that this rank sends to itself
// in the same group, else as the one that it sends to that peer, if they are as long; else it is
// zeros. What a rank that is not there would broadcast is what this rank broadcasts in the same
// group, else what lies in the buffer already.
//
// Small operations pass through staging memory as they do among ranks that run, so that programs
// that look at sizes and flags go on whatever is computed. Large ones are tasks of the simulated
// driver (vramstowSimulatorAppend), which leaves them out, marked, where it leaves out others.
//
// Ownership: as operation.h. Threads: the caller's. Errors: ncclResult_t. Units: as operation.h.
#ifndef VRAMSTOW_SIMULATOR_RUNTIME_LIBRARIES_NCCL_ABSENT_H_
#define VRAMSTOW_SIMULATOR_RUNTIME_LIBRARIES_NCCL_ABSENT_H_

#include <vector>

#include "simulator/runtime/libraries/nccl/operation.h"

namespace vramstow::simulator {

// Whether the SPEC names the ranks that run, each of which is alone.
bool OthersAreAbsent();

// Queues a collective operation of a communicator that is alone, one of those that were called
// `together`.
ncclResult_t EnqueueAlone(const Operation& operation, const std::vector<Operation>& together);

// Queues sends and receives to and from other ranks that were called together, of one communicator
// that is alone and one stream.
ncclResult_t EnqueueTransfersAlone(const std::vector<Operation>& operations);

}  // namespace vramstow::simulator

#endif  // VRAMSTOW_SIMULATOR_RUNTIME_LIBRARIES_NCCL_ABSENT_H_
