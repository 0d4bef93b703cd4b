// Operation is one call of an NCCL operation; Enqueue converts operations to work on a stream.
//
// Idea: an operation is divided into rounds. A round is a piece of the data that fits a rank's slot
// in the SharedSegment. Each round is queued as three steps in stream order: copies from the device
// into pinned staging memory, a host function that exchanges data with the other ranks
// (RunCollective, RunTransfers), and copies back to the device. All of it uses the public driver
// API, so it is ordered, captured into graphs, traced and timed like other work.
//
// Ownership: an operation belongs to its work until its last round has run. Threads: Enqueue runs
// on the caller's thread, rounds on the driver's. Errors: returns an ncclResult_t. Units: elements
// in `count`, bytes elsewhere.
#ifndef VRAMSTOW_SIMULATOR_RUNTIME_LIBRARIES_NCCL_OPERATION_H_
#define VRAMSTOW_SIMULATOR_RUNTIME_LIBRARIES_NCCL_OPERATION_H_

#include <memory>
#include <vector>

#include "simulator/runtime/libraries/nccl/communicator.h"

namespace vramstow::simulator {

enum class Kind {
  kAllReduce,
  kReduce,
  kBroadcast,
  kAllGather,
  kReduceScatter,
  kAllToAll,
  kGather,
  kScatter,
  kSend,
  kReceive,
};

struct Operation {
  Kind kind = Kind::kAllReduce;
  ncclComm* comm = nullptr;
  CUstream stream = nullptr;
  CUdeviceptr send = 0;
  CUdeviceptr receive = 0;
  size_t count = 0;  // elements of one part
  ncclDataType_t type = ncclFloat32;
  ncclRedOp_t reduction = ncclSum;
  int root = 0;  // or the peer of kSend and kReceive
};

// The number of parts of `count` elements in one rank's input and output.
struct Parts {
  int in = 0;
  int out = 0;
  int most = 1;  // the largest number that any rank has
};
Parts PartsOf(const Operation& operation);

// A piece of a round's result: `bytes` bytes that are copied from staging memory to the device.
struct ResultPiece {
  CUdeviceptr to = 0;
  uint8_t* staged = nullptr;
  size_t bytes = 0;
};

// One round of a collective operation, that is, a piece of its data: `count` elements of each part.
struct CollectiveRound {
  ncclComm* comm = nullptr;
  bool once = true;  // not part of a graph, so it is freed after it has run
  Kind kind = Kind::kAllReduce;
  Parts parts;
  size_t count = 0;
  ncclDataType_t type = ncclFloat32;
  ncclRedOp_t reduction = ncclSum;
  bool scaled = false;  // scaled by the value in comm->scalar, or in `scalar`
  bool scalar_on_device = false;
  unsigned char scalar[8] = {};
  int root = 0;
  std::vector<ResultPiece> results;
};
void RunCollective(void* round);
// Makes the round of an operation, without its communicator and its count.
std::unique_ptr<CollectiveRound> RoundOf(const Operation& operation, const Parts& parts);
// Returns the device address of the scalar by which the data are multiplied, for an operation whose
// scalar lies on the device.
CUdeviceptr DeviceScalarOf(const Operation& operation);

// One round of the sends and receives of a group: bytes for and from each rank, in the staging
// memory at rank × ring_bytes.
struct TransferRound {
  ncclComm* comm = nullptr;
  bool once = true;
  std::vector<size_t> send;
  std::vector<size_t> receive;
  std::vector<ResultPiece> results;
};
void RunTransfers(void* round);

// Queues the operations of a group in order; sends and receives of one communicator run at the same
// time.
ncclResult_t Enqueue(const std::vector<Operation>& operations);

}  // namespace vramstow::simulator

#endif  // VRAMSTOW_SIMULATOR_RUNTIME_LIBRARIES_NCCL_OPERATION_H_
