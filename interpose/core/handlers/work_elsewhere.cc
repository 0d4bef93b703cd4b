#include "interpose/core/handlers/work_elsewhere.h"

#include "base/keep_errno.h"
#include "interpose/core/handlers/record.h"
#include "interpose/core/runtime/driver.h"

namespace vramstow::handlers {
namespace {

// Makes an event that is only for order, in the context that is current.
bool MakeEvent(const Driver& driver, CUevent* event) {
  return driver.cuEventCreate()(event, CU_EVENT_DISABLE_TIMING) == CUDA_SUCCESS;
}

bool HasFunctions(const Driver& driver) {
  return driver.cuCtxPushCurrent_v2() != nullptr && driver.cuCtxPopCurrent_v2() != nullptr &&
         driver.cuEventCreate() != nullptr && driver.cuEventRecord() != nullptr &&
         driver.cuEventDestroy_v2() != nullptr && driver.cuStreamWaitEvent() != nullptr &&
         driver.real(Hook::kcuStreamCreate) != nullptr &&
         driver.real(Hook::kcuStreamDestroy_v2) != nullptr;
}

}  // namespace

WorkElsewhere::WorkElsewhere(const HandlerContext& context, const CallSite& site,
                             const OutOfReach& block, const CUstream* stream)
    : driver_(context.driver),
      asynchronous_(stream != nullptr),
      callers_(reinterpret_cast<CUstream>(StreamOf(site, asynchronous_ ? *stream : nullptr))) {
  const KeepErrno keep_errno;
  // A graph keeps the stream of its copies, so a stream that ends with the call cannot serve it.
  if (!HasFunctions(driver_) || (asynchronous_ && IsCapturing(driver_, site, *stream))) return;
  ok_ = Begin(block);
}

bool WorkElsewhere::Begin(const OutOfReach& block) {
  const auto create =
      reinterpret_cast<decltype(&::cuStreamCreate)>(driver_.real(Hook::kcuStreamCreate));
  CUcontext popped = nullptr;
  // An event belongs to the context of the stream that it is recorded in.
  if (driver_.cuCtxPushCurrent_v2()(block.callers) != CUDA_SUCCESS) return false;
  const bool recorded =
      MakeEvent(driver_, &before_) && driver_.cuEventRecord()(before_, callers_) == CUDA_SUCCESS;
  driver_.cuCtxPopCurrent_v2()(&popped);
  if (!recorded || driver_.cuCtxPushCurrent_v2()(block.context) != CUDA_SUCCESS) return false;
  // A synchronous call uses the block's context's default stream of the same kind.
  if (!asynchronous_) stream_ = callers_;
  const bool has_stream =
      !asynchronous_ || create(&stream_, CU_STREAM_NON_BLOCKING) == CUDA_SUCCESS;
  if (has_stream && MakeEvent(driver_, &after_) &&
      driver_.cuStreamWaitEvent()(stream_, before_, 0) == CUDA_SUCCESS) {
    return true;
  }
  driver_.cuCtxPopCurrent_v2()(&popped);
  return false;
}

CUresult WorkElsewhere::Finish(CUresult result) {
  const KeepErrno keep_errno;
  if (result == CUDA_SUCCESS) {
    // Fills return before they have finished. Later work of the caller's stream must find them
    // done, but the host must not wait: it may have to act before the earlier work can finish.
    result = driver_.cuEventRecord()(after_, stream_);
  }
  // The handle of a default stream means a stream of the context that is current.
  Leave();
  if (result != CUDA_SUCCESS) return result;
  return driver_.cuStreamWaitEvent()(callers_, after_, 0);
}

void WorkElsewhere::Leave() {
  CUcontext popped = nullptr;
  if (ok_) driver_.cuCtxPopCurrent_v2()(&popped);
  ok_ = false;
}

WorkElsewhere::~WorkElsewhere() {
  const KeepErrno keep_errno;
  Leave();
  // The driver releases a stream and an event once their work has finished.
  if (asynchronous_ && stream_ != nullptr) {
    reinterpret_cast<decltype(&::cuStreamDestroy_v2)>(driver_.real(Hook::kcuStreamDestroy_v2))(
        stream_);
  }
  if (before_ != nullptr) driver_.cuEventDestroy_v2()(before_);
  if (after_ != nullptr) driver_.cuEventDestroy_v2()(after_);
}

}  // namespace vramstow::handlers
