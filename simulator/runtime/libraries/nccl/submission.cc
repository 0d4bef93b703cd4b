#include "simulator/runtime/libraries/nccl/submission.h"

#include <vector>

#include "base/mutex.h"

namespace vramstow::simulator {

void KeepForGraphs(void* round) {
  struct Rounds {
    Mutex mutex;
    std::vector<void*> list VRAMSTOW_GUARDED_BY(mutex);
  };
  static auto* rounds = new Rounds;
  const MutexLock lock(&rounds->mutex);
  rounds->list.push_back(round);
}

Submission::Submission(ncclComm* comm, CUstream stream)
    : comm_(comm), stream_(stream), scope_(comm->context), capture_(CaptureOf(stream)) {
  if (capturing()) {
    if (comm->capture == capture_) Try(driver_.cuStreamWaitEvent(stream, comm->capture_event, 0));
    Try(driver_.cuStreamWaitEvent(stream, comm->event, CU_EVENT_WAIT_EXTERNAL));
    return;
  }
  // The latest operation may be one of a graph, which was launched on any stream.
  if (comm->capture != 0 || (comm->recorded && comm->last_stream != stream)) {
    Try(driver_.cuStreamWaitEvent(stream, comm->event, 0));
  }
}

ncclResult_t Submission::End() {
  if (capturing() && result_ == CUDA_SUCCESS) {
    Try(driver_.cuEventRecordWithFlags(comm_->event, stream_, CU_EVENT_RECORD_EXTERNAL));
    Try(driver_.cuEventRecord(comm_->capture_event, stream_));
    comm_->capture = capture_;
  } else if (result_ == CUDA_SUCCESS) {
    Try(driver_.cuEventRecord(comm_->event, stream_));
    comm_->recorded = true;
    comm_->last_stream = stream_;
  }
  if (result_ == CUDA_SUCCESS) return ncclSuccess;
  return Fail(
      comm_, ncclUnhandledCudaError,
      "the driver refused a step of an operation with error " + std::to_string(result_) + ".");
}

}  // namespace vramstow::simulator
