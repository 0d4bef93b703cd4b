// The state behind a ncclComm_t, and what happens to it.
//
// Idea: a communicator is one rank's seat at a SharedSegment, pinned host memory through which the
// data of its operations pass (staging), and an event that orders its operations across streams. As
// with NCCL a first error stays: later calls return it, and waiting work is let go.
//
// Modelled: the device memory that NCCL takes. The state of a communicator is 388 MiB, as NCCL
// 2.28.9 took on an H100 for a single rank (docs/card.md), or 4 MiB with NCCL_CUMEM_ENABLE=0. More
// ranks have buffers, too, NCCL_BUFFSIZE (4 MiB) for each channel; the number of channels is the
// configuration's maxCTAs, NCCL_MAX_CTAS, or 16. Source of names and defaults: NCCL's documentation
// of its environment variables; 16 is our choice. Nothing is kept in them.
//
// Ownership: made by NewCommunicator, freed by Release, unless work of it is still to run: then it
// is leaked. Threads: API calls on one communicator come from one thread at a time, as with NCCL;
// rounds run on the driver's thread; Abort may come from any. Errors: ncclResult_t, and a sentence
// in `problem`. Units: bytes, milliseconds.
#ifndef VRAMSTOW_SIMULATOR_RUNTIME_LIBRARIES_NCCL_COMMUNICATOR_H_
#define VRAMSTOW_SIMULATOR_RUNTIME_LIBRARIES_NCCL_COMMUNICATOR_H_

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "simulator/runtime/libraries/nccl/driver.h"
#include "simulator/runtime/libraries/nccl/nccl.h"
#include "simulator/runtime/libraries/nccl/shared_segment.h"

namespace vramstow::simulator {

// What ncclRedOpCreatePreMulSum made: each rank's data are multiplied by its scalar, then summed.
struct PreMultiplication {
  bool alive = false;
  ncclDataType_t type = ncclFloat32;
  bool on_device = false;
  CUdeviceptr device_scalar = 0;
  unsigned char scalar[8] = {};
};

}  // namespace vramstow::simulator

// NOLINTNEXTLINE(readability-identifier-naming): the header's name
struct ncclComm {
  uint64_t magic = 0;
  ncclUniqueId id = {};
  int rank = 0;
  int ranks = 1;
  int device = 0;
  CUcontext context = nullptr;
  bool blocking = true;
  int channels = 0;

  bool alone = false;     // the other ranks are not there (absent.h)
  size_t slot_bytes = 0;  // 0: it is not connected

  std::unique_ptr<vramstow::simulator::SharedSegment> board;  // null where it is alone
  uint8_t* staging_in = nullptr;                              // slot_bytes
  uint8_t* staging_out = nullptr;                             // slot_bytes
  uint8_t* scalar = nullptr;                                  // 64 bytes behind them
  CUdeviceptr buffers = 0;
  size_t buffer_bytes = 0;

  CUevent event = nullptr;  // after the latest operation that is not part of a graph
  CUstream last_stream = nullptr;
  bool recorded = false;
  uint64_t children = 0;  // communicators made of this one
  std::vector<vramstow::simulator::PreMultiplication> operations;

  std::atomic<int> result{ncclSuccess};  // ncclInProgress until it is connected
  std::atomic<int> pending{0};           // rounds that are queued and have not run
  std::atomic<bool> given_up{false};     // aborted before there was a board
  vramstow::Mutex mutex;
  std::string problem VRAMSTOW_GUARDED_BY(mutex);  // written once
};

namespace vramstow::simulator {

// The calling thread's context is the communicator's. Null: there is no device.
ncclComm* NewCommunicator(const ncclUniqueId& id, int rank, int ranks, const ncclConfig_t* config);

// Meets the other ranks and sets up what operations need. Blocks.
ncclResult_t Connect(ncclComm* comm);

// True if `comm` was made by this library and is not destroyed.
bool IsCommunicator(const ncclComm* comm);

// The first problem is kept. Returns `result`.
ncclResult_t Fail(ncclComm* comm, ncclResult_t result, const std::string& sentence);

// The first problem, or nothing. The text lives as long as the communicator.
const char* FirstProblem(ncclComm* comm);

// Waits until what was queued has run; false if it has not after `milliseconds` (negative: no
// limit, other than that the driver still answers).
bool Drain(ncclComm* comm, int milliseconds);

// Ends waits, now and later; whether somebody did.
void Interrupt(ncclComm* comm);
bool IsInterrupted(const ncclComm* comm);

// Ends waits, leaves the others alone, frees.
void Abandon(ncclComm* comm);
void Release(ncclComm* comm);

ncclResult_t AllocateBuffers(ncclComm* comm);
void FreeBuffers(ncclComm* comm);

}  // namespace vramstow::simulator

#endif  // VRAMSTOW_SIMULATOR_RUNTIME_LIBRARIES_NCCL_COMMUNICATOR_H_
