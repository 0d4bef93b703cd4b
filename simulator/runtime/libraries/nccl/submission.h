// Submission queues the work of one call of a communicator on one stream.
//
// Idea: operations of a communicator run in the order in which they are called, on any streams. So
// a submission begins with a wait for the previous operation, and ends with an event for the next
// operation. In a capture it does so twice: the operations of one graph are ordered by edges of the
// graph, and nodes that wait for the event and record it order each launch of the graph among the
// operations outside of it.
//
// Ownership: a round (a piece of an operation's data) belongs to its work; rounds of a graph live
// as long as the process. Threads: the caller's. Errors: End returns the driver's first error.
// Units: bytes.
#ifndef VRAMSTOW_SIMULATOR_RUNTIME_LIBRARIES_NCCL_SUBMISSION_H_
#define VRAMSTOW_SIMULATOR_RUNTIME_LIBRARIES_NCCL_SUBMISSION_H_

#include <memory>

#include "simulator/runtime/libraries/nccl/communicator.h"

namespace vramstow::simulator {

// Retains a round (a piece of an operation's data) for the life of the process, because it is part
// of a graph.
void KeepForGraphs(void* round);

class Submission {
 public:
  Submission(ncclComm* comm, CUstream stream);
  ncclResult_t End();

  void In(uint8_t* staging, CUdeviceptr device, size_t bytes) {
    if (bytes > 0) Try(driver_.cuMemcpyDtoHAsync(staging, device, bytes, stream_));
  }
  void Out(CUdeviceptr device, const uint8_t* staging, size_t bytes) {
    if (bytes > 0) Try(driver_.cuMemcpyHtoDAsync(device, staging, bytes, stream_));
  }
  void Within(CUdeviceptr target, CUdeviceptr source, size_t bytes) {
    if (bytes > 0) Try(driver_.cuMemcpyDtoDAsync(target, source, bytes, stream_));
  }

  bool capturing() const { return capture_ != 0; }
  void Try(CUresult result) {
    if (result_ == CUDA_SUCCESS) result_ = result;
  }

  // Queues `function` with the round (a piece of an operation's data) as its argument. A round that
  // is part of a graph lives as long as the process, because the graph may be launched at any time.
  template <typename Round>
  void Run(std::unique_ptr<Round> round, CUhostFn function) {
    if (result_ != CUDA_SUCCESS) return;
    round->comm = comm_;
    round->once = !capturing();
    if (!capturing()) comm_->pending.fetch_add(1);
    Try(driver_.cuLaunchHostFunc(stream_, function, round.get()));
    if (result_ == CUDA_SUCCESS) {
      Round* owned_by_work = round.release();
      if (capturing()) KeepForGraphs(owned_by_work);
    } else if (!capturing()) {
      comm_->pending.fetch_sub(1);
    }
  }

 private:
  const NcclDriver& driver_ = NcclDriver::Get();
  ncclComm* comm_;
  CUstream stream_;
  ContextScope scope_;
  uint64_t capture_;  // 0: the stream is in no capture
  CUresult result_ = CUDA_SUCCESS;
};

}  // namespace vramstow::simulator

#endif  // VRAMSTOW_SIMULATOR_RUNTIME_LIBRARIES_NCCL_SUBMISSION_H_
