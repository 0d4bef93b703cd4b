#include "simulator/driver/stream.h"

#include <stdio.h>
#include <stdlib.h>

#include <algorithm>

#include "simulator/driver/capture.h"
#include "simulator/driver/context.h"
#include "simulator/driver/host_worker.h"
#include "simulator/driver/pool.h"

namespace vramstow::simulator {
namespace {

Stream* PerThreadStream(Call& call, Context* context) {
  std::unique_ptr<Stream>& stream = context->per_thread[call.thread().id];
  if (stream == nullptr) {
    stream = std::make_unique<Stream>();
    stream->context = context;
    stream->id = ++call.state().next_id;
  }
  return stream.get();
}

void AddWait(std::vector<Mark>* waits, const Stream& stream) {
  waits->push_back({stream.queue, stream.queue->enqueued()});
}

}  // namespace

namespace {

Stream* StreamOf(Call& call, CUstream handle) {
  Context* context = call.context();
  if (handle == nullptr) {
    handle = call.thread().per_thread_default ? CU_STREAM_PER_THREAD : CU_STREAM_LEGACY;
  }
  if (handle == CU_STREAM_LEGACY) return context == nullptr ? nullptr : context->legacy.get();
  if (handle == CU_STREAM_PER_THREAD) {
    if (context == nullptr) return nullptr;
    return PerThreadStream(call, context);
  }
  return call.state().streams.Find(handle);
}

}  // namespace

Stream* FindStream(Call& call, CUstream handle) {
  Stream* stream = StreamOf(call, handle);
  if (stream != nullptr) call.profiler_record().stream = static_cast<uint32_t>(stream->id);
  return stream;
}

Stream* FindExistingStream(State* state, Context* context, CUstream handle) {
  if (handle == nullptr || handle == CU_STREAM_LEGACY) return context->legacy.get();
  if (handle != CU_STREAM_PER_THREAD) return state->streams.Find(handle);
  const auto found = context->per_thread.find(CurrentThread().id);
  return found == context->per_thread.end() ? nullptr : found->second.get();
}

void AddImplicitWaits(const Stream& stream, std::vector<Mark>* waits) {
  const Context& context = *stream.context;
  if (stream.legacy) {
    for (const auto& [thread, other] : context.per_thread) AddWait(waits, *other);
    for (const Stream* other : context.streams) {
      if (other->Blocking()) AddWait(waits, *other);
    }
    for (const LeftBehind& left : context.left_behind) {
      if (left.blocking) waits->push_back(left.mark);
    }
  } else if (stream.Blocking()) {
    AddWait(waits, *context.legacy);
  }
}

Mark Submit(Call& call, Stream* stream, std::shared_ptr<Work> work, std::vector<Mark> waits) {
  AddImplicitWaits(*stream, &waits);
  const uint64_t duration = work == nullptr ? 0 : work->DurationNs();
  const bool on_host = work != nullptr && work->OnHost();
  Mark mark =
      call.machine().timeline.Enqueue(stream->queue, std::move(work), std::move(waits), duration);
  if (on_host) WakeHostWorker();
  return mark;
}

// Pending work of the stream still runs, so a wait for the context also waits for it, and so does
// the legacy stream if the stream was a blocking one.
void EndStream(State* state, Stream* stream) {
  InvalidateCapture(stream);
  std::vector<LeftBehind>& left_behind = stream->context->left_behind;
  std::erase_if(left_behind, [](const LeftBehind& left) { return left.mark.Reached(); });
  if (!stream->queue->idle()) {
    left_behind.push_back({{stream->queue, stream->queue->enqueued()}, stream->Blocking()});
  }
  stream->context->streams.erase(stream);
  state->streams.Remove(stream);
}

CUresult SynchronizeContext(Call& call, Context* context) {
  if (context->sticky != CUDA_SUCCESS) return context->sticky;
  const CUresult refused = RefuseWhileCapturing(call, context);
  if (refused != CUDA_SUCCESS) return refused;
  const CUresult result = WaitForContext(&call.state(), *context);
  TrimPools(&call.state());
  return result;
}

}  // namespace vramstow::simulator

using namespace vramstow::simulator;  // NOLINT(google-build-using-namespace): the C ABI is global

namespace {

CUresult CreateStream(const char* name, CUstream* handle, unsigned flags, int priority) {
  return Serve(name, Needs::kContext, [&](Call& call) {
    if (handle == nullptr || (flags & ~CU_STREAM_NON_BLOCKING) != 0) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    auto stream = std::make_unique<Stream>();
    stream->context = call.context();
    stream->flags = flags;
    // As documented, a priority out of range is clamped, not refused.
    stream->priority = std::clamp(priority, kPriorityGreatest, kPriorityLeast);
    stream->id = ++call.state().next_id;
    Stream* made = call.state().streams.Add(std::move(stream));
    call.context()->streams.insert(made);
    *handle = reinterpret_cast<CUstream>(made);
    call.profiler_record().made_stream = *handle;
    call.profiler_record().stream = static_cast<uint32_t>(made->id);
    return CUDA_SUCCESS;
  });
}

// Finds the stream of a handle and calls `body` with the stream.
template <typename Body>
CUresult AskStream(const char* name, CUstream handle, Body&& body) {
  return Serve(name, Needs::kContext, [&](Call& call) -> CUresult {
    Stream* stream = FindStream(call, handle);
    return stream == nullptr ? CUDA_ERROR_INVALID_HANDLE : body(call, *stream);
  });
}

// Finds the stream of a handle and calls `body` with the stream. Used for functions whose
// documentation says that an invalid handle is undefined behaviour.
template <typename Body>
CUresult AskLiveStream(const char* name, CUstream handle, Body&& body) {
  return Serve(name, Needs::kContext, [&](Call& call) -> CUresult {
    Stream* stream = FindStream(call, handle);
    if (stream != nullptr) return body(call, *stream);
    fprintf(stderr,
            "vramstow: %s was asked of a stream that is not there, or not any more: on a card "
            "anything may happen then.\n",
            name);
    abort();
  });
}

template <typename T>
CUresult Give(T* to, T value) {
  if (to == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *to = value;
  return CUDA_SUCCESS;
}

}  // namespace

extern "C" {

CUresult cuStreamCreate(CUstream* handle, unsigned int flags) {
  return CreateStream("cuStreamCreate", handle, flags, 0);
}

CUresult cuStreamCreateWithPriority(CUstream* handle, unsigned int flags, int priority) {
  return CreateStream("cuStreamCreateWithPriority", handle, flags, priority);
}

#undef cuStreamDestroy
CUresult cuStreamDestroy_v2(CUstream handle) {
  return Serve("cuStreamDestroy", Needs::kInit, [&](Call& call) {
    Stream* stream = call.state().streams.Find(handle);
    if (stream == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    EndStream(&call.state(), stream);
    return CUDA_SUCCESS;
  });
}

CUresult cuStreamSynchronize(CUstream handle) {
  return AskStream("cuStreamSynchronize", handle, [](Call& call, Stream& stream) {
    const CUresult refused = RefuseCapturing(call, &stream);
    if (refused != CUDA_SUCCESS) return refused;
    const CUresult result = call.Wait({stream.queue, stream.queue->enqueued()});
    TrimPools(&call.state());
    return result;
  });
}

CUresult cuStreamQuery(CUstream handle) {
  if (EndsBesideThisThread()) return CUDA_SUCCESS;
  return AskStream("cuStreamQuery", handle, [](Call& call, Stream& stream) {
    const CUresult refused = RefuseCapturing(call, &stream);
    if (refused != CUDA_SUCCESS) return refused;
    const bool reached = call.machine().timeline.Ask({stream.queue, stream.queue->enqueued()});
    if (call.context()->sticky != CUDA_SUCCESS) return call.context()->sticky;
    return reached ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
  });
}

CUresult cuStreamGetPriority(CUstream handle, int* priority) {
  return AskStream("cuStreamGetPriority", handle,
                   [&](Call&, Stream& stream) { return Give(priority, stream.priority); });
}

CUresult cuStreamGetFlags(CUstream handle, unsigned int* flags) {
  return AskStream("cuStreamGetFlags", handle,
                   [&](Call&, Stream& stream) { return Give(flags, stream.flags); });
}

CUresult cuStreamGetId(CUstream handle, unsigned long long* id) {
  return AskStream("cuStreamGetId", handle, [&](Call&, Stream& stream) {
    return Give(id, static_cast<unsigned long long>(stream.id));
  });
}

CUresult cuStreamGetCtx(CUstream handle, CUcontext* context) {
  return AskLiveStream("cuStreamGetCtx", handle, [&](Call&, Stream& stream) {
    return Give(context, ToHandle(stream.context));
  });
}

CUresult cuStreamGetCtx_v2(CUstream handle, CUcontext* context, CUgreenCtx* green) {
  return AskLiveStream("cuStreamGetCtx", handle, [&](Call&, Stream& stream) {
    if (green != nullptr) *green = nullptr;
    return Give(context, ToHandle(stream.context));
  });
}

CUresult cuStreamGetDevice(CUstream handle, CUdevice* device) {
  return AskStream("cuStreamGetDevice", handle,
                   [&](Call&, Stream& stream) { return Give(device, stream.context->device); });
}

CUresult cuStreamGetAttribute(CUstream handle, CUstreamAttrID attribute, CUstreamAttrValue* value) {
  return AskStream("cuStreamGetAttribute", handle, [&](Call&, Stream& stream) {
    if (value == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *value = {};
    switch (static_cast<int>(attribute)) {
      case CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW:
        *value = stream.window;
        break;
      case CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY:
        value->syncPolicy = stream.policy;
        break;
      case CU_LAUNCH_ATTRIBUTE_PRIORITY:
        value->priority = stream.priority;
        break;
      case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP:
      case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN:
        break;
      default:
        return CUDA_ERROR_INVALID_VALUE;
    }
    return CUDA_SUCCESS;
  });
}

CUresult cuStreamSetAttribute(CUstream handle, CUstreamAttrID attribute,
                              const CUstreamAttrValue* value) {
  return AskStream("cuStreamSetAttribute", handle, [&](Call&, Stream& stream) {
    if (value == nullptr) return CUDA_ERROR_INVALID_VALUE;
    switch (static_cast<int>(attribute)) {
      case CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW:
        stream.window = *value;
        break;
      case CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY:
        stream.policy = value->syncPolicy;
        break;
      case CU_LAUNCH_ATTRIBUTE_PRIORITY:
        stream.priority = value->priority;
        break;
      case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP:
      case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN:
        break;
      default:
        return CUDA_ERROR_INVALID_VALUE;
    }
    return CUDA_SUCCESS;
  });
}

CUresult cuStreamCopyAttributes(CUstream to, CUstream from) {
  return AskStream("cuStreamCopyAttributes", to, [&](Call& call, Stream& stream) {
    const Stream* source = FindStream(call, from);
    if (source == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    stream.window = source->window;
    stream.policy = source->policy;
    return CUDA_SUCCESS;
  });
}

CUresult cuStreamAttachMemAsync(CUstream handle, CUdeviceptr address, size_t size,
                                unsigned int flags) {
  (void)size, (void)flags;
  return AskStream("cuStreamAttachMemAsync", handle, [&](Call& call, Stream&) {
    const Block* block = call.machine().memory.FindAround(address);
    return block != nullptr && block->kind == BlockKind::kManaged ? CUDA_SUCCESS
                                                                  : CUDA_ERROR_INVALID_VALUE;
  });
}

}  // extern "C"
