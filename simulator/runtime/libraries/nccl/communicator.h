// The state behind an ncclComm_t, and the functions that change it.
//
// Idea: a communicator is one rank's connection to a SharedSegment, pinned host memory through
// which the data of its operations pass (staging), and an event that orders its operations across
// streams. As with NCCL a first error stays: later calls return it, and waiting work is released.
//
// Modelled: the device memory that NCCL uses. The state of a communicator is 388 MiB, as NCCL
// 2.28.9 used on an H100 for a single rank (docs/card.md), or 4 MiB with NCCL_CUMEM_ENABLE=0. With
// more ranks each channel also has a buffer of NCCL_BUFFSIZE (4 MiB). The number of channels is the
// configuration's maxCTAs, NCCL_MAX_CTAS, or 16. Source of names and defaults: NCCL's documentation
// of its environment variables; 16 is our choice. The buffers hold no data.
//
// Ownership: made by NewCommunicator and freed by Release; if some of its work has not run yet, or
// is part of a graph, it is leaked. Threads: API calls on one communicator come from one thread at
// a time, as with NCCL. The driver's thread exchanges the data. Abort may come from any thread.
// Errors: returns an ncclResult_t, with a sentence in `problem`. Units: bytes, milliseconds.
#ifndef VRAMSTOW_SIMULATOR_RUNTIME_LIBRARIES_NCCL_COMMUNICATOR_H_
#define VRAMSTOW_SIMULATOR_RUNTIME_LIBRARIES_NCCL_COMMUNICATOR_H_

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "simulator/runtime/libraries/nccl/nccl.h"
#include "simulator/runtime/libraries/nccl/nccl_driver.h"
#include "simulator/runtime/libraries/nccl/shared_segment.h"

namespace vramstow::simulator {

// A reduction made by ncclRedOpCreatePreMulSum: each rank's data are multiplied by its scalar, then
// summed.
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

  bool alone = false;     // the other ranks are absent (absent.h)
  size_t slot_bytes = 0;  // 0: not connected

  std::unique_ptr<vramstow::simulator::SharedSegment> board;  // null if the communicator is alone
  uint8_t* staging_in = nullptr;                              // slot_bytes
  uint8_t* staging_out = nullptr;                             // slot_bytes
  uint8_t* scalar = nullptr;                                  // 64 bytes after the staging memory
  CUdeviceptr buffers = 0;
  size_t buffer_bytes = 0;

  CUevent event = nullptr;  // after the latest operation, also one of a graph that was launched
  CUstream last_stream = nullptr;
  bool recorded = false;            // an operation outside of graphs has recorded `event`
  CUevent capture_event = nullptr;  // after the latest operation of capture `capture`
  uint64_t capture = 0;
  uint64_t children = 0;  // number of communicators made from this one
  std::vector<vramstow::simulator::PreMultiplication> operations;

  std::atomic<int> result{ncclSuccess};  // ncclInProgress until it is connected
  std::atomic<int> pending{0};        // rounds outside of graphs that are queued and have not run
  std::atomic<bool> given_up{false};  // aborted before it was connected
  vramstow::Mutex mutex;
  std::string problem VRAMSTOW_GUARDED_BY(mutex);  // written once
};

namespace vramstow::simulator {

// Makes a communicator for the calling thread's context. Returns null if there is no device.
ncclComm* NewCommunicator(const ncclUniqueId& id, int rank, int ranks, const ncclConfig_t* config);

// Connects the communicator to the other ranks and prepares what its operations need. Blocks until
// all ranks are connected.
ncclResult_t Connect(ncclComm* comm);

// True if `comm` was made by this library and is not destroyed.
bool IsCommunicator(const ncclComm* comm);

// Stores the first problem. Returns `result`.
ncclResult_t Fail(ncclComm* comm, ncclResult_t result, const std::string& sentence);

// Returns the first problem, or an empty text. The text lives as long as the communicator.
const char* FirstProblem(ncclComm* comm);
// Returns the latest first problem of any communicator of the process, or an empty text. The text
// lives as long as the process, and so also after a communicator that could not be made.
const char* LatestProblem();

// Waits until all queued work has run. Returns false if it has not run after `milliseconds`. If
// `milliseconds` is negative, there is no limit as long as the driver answers.
bool Drain(ncclComm* comm, int milliseconds);

// Interrupt ends all current and later waits of the communicator. IsInterrupted returns whether
// Interrupt was called.
void Interrupt(ncclComm* comm);
bool IsInterrupted(const ncclComm* comm);

// Abandon ends all waits and leaves the SharedSegment; Release frees the communicator.
void Abandon(ncclComm* comm);
void Release(ncclComm* comm);

ncclResult_t AllocateBuffers(ncclComm* comm);
void FreeBuffers(ncclComm* comm);

}  // namespace vramstow::simulator

#endif  // VRAMSTOW_SIMULATOR_RUNTIME_LIBRARIES_NCCL_COMMUNICATOR_H_
