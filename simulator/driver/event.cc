// Implements events: recording, waiting, querying and timing.
#include <cuda.h>

#include <algorithm>

#include "simulator/driver/capture.h"
#include "simulator/driver/context.h"
#include "simulator/driver/event_sharing.h"
#include "simulator/driver/pool.h"
#include "simulator/driver/profiler.h"
#include "simulator/driver/stream.h"

namespace vramstow::simulator {
namespace {

constexpr unsigned kEventFlags =
    CU_EVENT_BLOCKING_SYNC | CU_EVENT_DISABLE_TIMING | CU_EVENT_INTERPROCESS;

// Stores the virtual time at which the stream reaches a record of the event.
class Stamp : public Work {
 public:
  explicit Stamp(std::shared_ptr<uint64_t> time) : time_(std::move(time)) {}
  void Run(uint64_t time_ns) override { *time_ = time_ns; }

 private:
  std::shared_ptr<uint64_t> time_;
};

bool Reached(const Event& event) {
  return event.mark.Reached() && std::all_of(event.more.begin(), event.more.end(),
                                             [](const Mark& mark) { return mark.Reached(); });
}

CUresult Record(Call& call, Event* event, Stream* stream, unsigned flags) {
  if (stream->capture != nullptr) return CaptureEventRecord(call, event, stream, flags);
  if (event->context != stream->context) return CUDA_ERROR_INVALID_HANDLE;
  const CUresult refused = RefuseImplicit(call, stream);
  if (refused != CUDA_SUCCESS) return refused;
  RecordNow(call, event, stream);
  return CUDA_SUCCESS;
}

CUresult RecordEvent(const char* name, CUevent handle, CUstream stream_handle, unsigned flags) {
  return Serve(name, Needs::kContext, [&](Call& call) {
    if ((flags & ~CU_EVENT_RECORD_EXTERNAL) != 0) return CUDA_ERROR_INVALID_VALUE;
    Event* event = call.state().events.Find(handle);
    Stream* stream = FindStream(call, stream_handle);
    if (event == nullptr || stream == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    return Record(call, event, stream, flags);
  });
}

CUresult ElapsedTime(float* milliseconds, CUevent start_handle, CUevent end_handle) {
  return Serve("cuEventElapsedTime", Needs::kContext, [&](Call& call) {
    if (milliseconds == nullptr) return CUDA_ERROR_INVALID_VALUE;
    Event* start = call.state().events.Find(start_handle);
    Event* end = call.state().events.Find(end_handle);
    if (start == nullptr || end == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    if (((start->flags | end->flags) & CU_EVENT_DISABLE_TIMING) != 0 || !start->Recorded() ||
        !end->Recorded()) {
      return CUDA_ERROR_INVALID_HANDLE;
    }
    if (!Reached(*start) || !Reached(*end)) return CUDA_ERROR_NOT_READY;
    const auto passed = static_cast<int64_t>(*end->time - *start->time);
    *milliseconds = static_cast<float>(static_cast<double>(passed) / 1e6);
    return CUDA_SUCCESS;
  });
}

}  // namespace

Mark RecordNow(Call& call, Event* event, Stream* stream) {
  event->capture.reset();
  event->capture_fronts.clear();
  event->more.clear();
  event->time = std::make_shared<uint64_t>(0);
  ++event->records;
  EmitEvent(call, *event);
  event->mark = Submit(call, stream, std::make_shared<Stamp>(event->time));
  PublishRecord(call, event);
  return event->mark;
}

}  // namespace vramstow::simulator

using namespace vramstow::simulator;  // NOLINT(google-build-using-namespace): the C ABI is global

extern "C" {

CUresult cuEventCreate(CUevent* handle, unsigned int flags) {
  return Serve("cuEventCreate", Needs::kContext, [&](Call& call) {
    if (handle == nullptr || (flags & ~kEventFlags) != 0) return CUDA_ERROR_INVALID_VALUE;
    // As documented, an event for other processes cannot record times.
    if ((flags & CU_EVENT_INTERPROCESS) != 0 && (flags & CU_EVENT_DISABLE_TIMING) == 0) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    auto event = std::make_shared<Event>();
    event->context = call.context();
    event->flags = flags;
    event->id = static_cast<uint32_t>(++call.state().next_id);
    *handle = reinterpret_cast<CUevent>(AddEvent(&call.state(), std::move(event)));
    return CUDA_SUCCESS;
  });
}

#undef cuEventDestroy
CUresult cuEventDestroy_v2(CUevent handle) {
  return Serve("cuEventDestroy", Needs::kInit, [&](Call& call) {
    Event* event = call.state().events.Find(handle);
    if (event == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    RemoveEvent(&call.state(), event);
    return CUDA_SUCCESS;
  });
}

CUresult cuEventRecord(CUevent handle, CUstream stream) {
  return RecordEvent("cuEventRecord", handle, stream, 0);
}

CUresult cuEventRecordWithFlags(CUevent handle, CUstream stream, unsigned int flags) {
  return RecordEvent("cuEventRecordWithFlags", handle, stream, flags);
}

CUresult cuEventQuery(CUevent handle) {
  if (EndsBesideThisThread()) return CUDA_SUCCESS;
  return Serve("cuEventQuery", Needs::kContext, [&](Call& call) {
    Event* event = call.state().events.Find(handle);
    if (event == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    const CUresult refused = RefuseCapturedEvent(call, event);
    if (refused != CUDA_SUCCESS) return refused;
    // As documented, an event that was never recorded is complete.
    const bool reached = AskEvent(call, event);
    if (call.context()->sticky != CUDA_SUCCESS) return call.context()->sticky;
    return reached ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
  });
}

CUresult cuEventSynchronize(CUevent handle) {
  return Serve("cuEventSynchronize", Needs::kContext, [&](Call& call) {
    Event* event = call.state().events.Find(handle);
    if (event == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    const CUresult refused = RefuseCapturedEvent(call, event);
    if (refused != CUDA_SUCCESS) return refused;
    EmitEvent(call, *event);
    // Another thread may destroy or record the event during the wait. So the marks of the latest
    // record (points in queues) are copied before the wait.
    const std::vector<Mark> marks = PendingMarks(call, event);
    for (const Mark& mark : marks) {
      const CUresult result = call.Wait(mark);
      if (result != CUDA_SUCCESS) return result;
    }
    TrimPools(&call.state());
    return CUDA_SUCCESS;
  });
}

#undef cuEventElapsedTime
CUresult cuEventElapsedTime(float* milliseconds, CUevent start, CUevent end) {
  return ElapsedTime(milliseconds, start, end);
}

CUresult cuEventElapsedTime_v2(float* milliseconds, CUevent start, CUevent end) {
  return ElapsedTime(milliseconds, start, end);
}

CUresult cuStreamWaitEvent(CUstream stream_handle, CUevent handle, unsigned int flags) {
  return Serve("cuStreamWaitEvent", Needs::kContext, [&](Call& call) {
    if ((flags & ~CU_EVENT_WAIT_EXTERNAL) != 0) return CUDA_ERROR_INVALID_VALUE;
    Event* event = call.state().events.Find(handle);
    Stream* stream = FindStream(call, stream_handle);
    if (event == nullptr || stream == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    EmitEvent(call, *event);
    if (stream->capture != nullptr || event->capture != nullptr) {
      return CaptureEventWait(call, event, stream, flags);
    }
    const CUresult refused = RefuseImplicit(call, stream);
    if (refused != CUDA_SUCCESS) return refused;
    // A wait for an event that was reached orders streams, too: frees behind which the stream is,
    // and for the legacy stream, as documented, the work of all blocking streams.
    std::vector<Mark> waits = AwaitedMarks(call, event);
    Timeline::NoteOrder(stream->queue.get(), waits);
    std::erase_if(waits, [](const Mark& mark) { return mark.Reached(); });
    if (!waits.empty() || stream->legacy) Submit(call, stream, nullptr, std::move(waits));
    return CUDA_SUCCESS;
  });
}

CUresult cuCtxRecordEvent(CUcontext context_handle, CUevent handle) {
  return Serve("cuCtxRecordEvent", Needs::kInit, [&](Call& call) {
    if ((call.machine().spec().without & kEventContext) != 0) return CUDA_ERROR_NOT_SUPPORTED;
    Context* context = FindContext(&call.state(), context_handle);
    if (context == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
    Event* event = call.state().events.Find(handle);
    if (event == nullptr || event->context != context) return CUDA_ERROR_INVALID_HANDLE;
    // As documented, captures in progress in this context become invalid, and the call fails.
    if (InvalidateCapturesOf(call, context)) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    event->more = MarksOf(*context);
    event->time = std::make_shared<uint64_t>(call.machine().timeline.now_ns());
    event->mark = {};
    PublishRecord(call, event);
    return CUDA_SUCCESS;
  });
}

CUresult cuCtxWaitEvent(CUcontext context_handle, CUevent handle) {
  return Serve("cuCtxWaitEvent", Needs::kInit, [&](Call& call) {
    if ((call.machine().spec().without & kEventContext) != 0) return CUDA_ERROR_NOT_SUPPORTED;
    Context* context = FindContext(&call.state(), context_handle);
    if (context == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
    Event* event = call.state().events.Find(handle);
    if (event == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    const std::vector<Mark> waits = AwaitedMarks(call, event);
    Timeline& timeline = call.machine().timeline;
    timeline.Enqueue(context->legacy->queue, nullptr, waits, 0);
    for (const auto& [thread, stream] : context->per_thread) {
      timeline.Enqueue(stream->queue, nullptr, waits, 0);
    }
    for (const Stream* stream : context->streams) {
      timeline.Enqueue(stream->queue, nullptr, waits, 0);
    }
    return CUDA_SUCCESS;
  });
}

}  // extern "C"
