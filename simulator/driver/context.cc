#include "simulator/driver/context.h"

#include <algorithm>
#include <cstring>

#include "simulator/driver/array.h"
#include "simulator/driver/capture.h"
#include "simulator/driver/functions.h"
#include "simulator/driver/graph.h"
#include "simulator/driver/host_memory.h"
#include "simulator/driver/ipc.h"
#include "simulator/driver/module.h"
#include "simulator/driver/pool.h"
#include "simulator/driver/stream.h"
#include "simulator/simulator_api.h"

namespace vramstow::simulator {
namespace {

constexpr unsigned kKnownFlags = CU_CTX_FLAGS_MASK;

template <typename Function>
void* FunctionAddress(Function* function) {
  return reinterpret_cast<void*>(function);
}

bool HasSyncDepth(const Card& card) { return card.major < 9; }

// Sets the limits that an H100 reported. A limit that depends on the number of multiprocessors, the
// cache or the shared memory is scaled to this GPU.
void SetDefaultLimits(const Card& card, Context* context) {
  context->limits[CU_LIMIT_STACK_SIZE] = 1024;
  context->limits[CU_LIMIT_PRINTF_FIFO_SIZE] = size_t{65536} * card.multiprocessors;
  context->limits[CU_LIMIT_MALLOC_HEAP_SIZE] = 8388608;
  context->limits[CU_LIMIT_DEV_RUNTIME_SYNC_DEPTH] = 2;
  context->limits[CU_LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT] = 2048;
  context->limits[CU_LIMIT_MAX_L2_FETCH_GRANULARITY] = 64;
  context->limits[CU_LIMIT_PERSISTING_L2_CACHE_SIZE] =
      card.major >= 9 ? size_t{3} * card.l2_bytes / 16 : 0;
  context->limits[CU_LIMIT_SHMEM_SIZE] = card.shared_per_block_optin_bytes;
}

CUresult RefuseLimit(Call& call, CUlimit limit) {
  if (limit < 0 || limit >= CU_LIMIT_MAX) return CUDA_ERROR_INVALID_VALUE;
  const bool known =
      limit != CU_LIMIT_DEV_RUNTIME_SYNC_DEPTH || HasSyncDepth(call.machine().card());
  return known ? CUDA_SUCCESS : CUDA_ERROR_UNSUPPORTED_LIMIT;
}

}  // namespace

CUresult MakeContext(State* state, int device, unsigned flags, bool primary, Context** context) {
  Machine& machine = *state->machine;
  if (!machine.memory.Charge(device, machine.spec().context_bytes)) {
    return CUDA_ERROR_OUT_OF_MEMORY;
  }
  // A driver may reuse the handle of an ended context. With primary=private this driver does so,
  // because then only the context's id shows that the context is a different one.
  Context* ended = state->devices[device].primary;
  const bool again = primary && ended != nullptr && machine.spec().private_primary;
  Context* made = again ? ended : state->contexts.Add(std::make_unique<Context>());
  *made = Context();
  made->id = ++state->next_id;
  made->device = device;
  made->flags = flags;
  made->primary = primary;
  SetDefaultLimits(machine.card(), made);
  made->legacy = std::make_unique<Stream>();
  made->legacy->context = made;
  made->legacy->legacy = true;
  made->legacy->id = ++state->next_id;
  *context = made;
  return CUDA_SUCCESS;
}

bool FinishWork(Call& call, const Context& context) {
  const uint64_t id = context.id;
  if (context.sticky == CUDA_SUCCESS) WaitForContext(&call.state(), context);
  // A primary context that another thread made meanwhile may have the same address.
  return context.alive && context.id == id;
}

void EndContext(Call& call, Context* context) {
  State& state = call.state();
  Machine& machine = call.machine();
  for (const Mark& mark : MarksOf(*context)) machine.timeline.Abandon(mark.queue);
  UnloadModules(&state, context);
  RemoveArraysOf(context);
  for (Block* block : machine.memory.BlocksOf(context)) {
    if (IsFromPool(*block)) {
      FreeToPool(call, block);
      continue;
    }
    if (block->kind == BlockKind::kImported) {
      EndImport(&machine, block);
      continue;
    }
    WithdrawBlock(*block);
    ReleaseHostPages(&machine.contents, *block);
    machine.memory.Release(block);
  }
  for (const auto& [thread, stream] : context->per_thread) InvalidateCapture(stream.get());
  const std::vector<Stream*> streams(context->streams.begin(), context->streams.end());
  for (Stream* stream : streams) EndStream(&state, stream);
  while (!context->events.empty()) RemoveEvent(&state, context->events.begin()->first);
  TrimPools(&state);
  TrimGraphMemory(&state, context->device);
  context->per_thread.clear();
  for (const void* other : state.contexts.all()) {
    state.contexts.Find(other)->peers.erase(context);
  }
  context->alive = false;
  machine.memory.Discharge(context->device, machine.spec().context_bytes);
}

Context* FindContext(State* state, CUcontext handle) {
  Context* context = state->contexts.Find(handle);
  return context != nullptr && context->alive ? context : nullptr;
}

}  // namespace vramstow::simulator

using namespace vramstow::simulator;  // NOLINT(google-build-using-namespace): the C ABI is global

namespace {

CUresult Push(Call& call, Context* context) {
  ThreadState& thread = call.thread();
  if (thread.depth == kContextStackMax) return CUDA_ERROR_INVALID_VALUE;
  thread.stack[thread.depth++] = context;
  return CUDA_SUCCESS;
}

// The simulated GPUs have no execution affinity, so each kernel may use all multiprocessors.
CUresult RefuseAffinity() {
  const int refusal = RefusalOfAllCalls();
  return refusal != 0 ? static_cast<CUresult>(refusal) : CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY;
}

CUresult CreateContext(CUcontext* handle, unsigned flags, CUdevice device, unsigned api_version) {
  return Serve("cuCtxCreate", Needs::kInit, [&](Call& call) {
    if (handle == nullptr || (flags & ~kKnownFlags) != 0) return CUDA_ERROR_INVALID_VALUE;
    if (!IsDevice(call, device)) return CUDA_ERROR_INVALID_DEVICE;
    Context* context = nullptr;
    const CUresult result = MakeContext(&call.state(), device, flags, false, &context);
    if (result != CUDA_SUCCESS) return result;
    call.profiler_record().made_context = ToHandle(context);
    context->api_version = api_version;
    *handle = ToHandle(context);
    return Push(call, context);
  });
}

}  // namespace

extern "C" {

CUresult cuDevicePrimaryCtxRetain(CUcontext* handle, CUdevice device) {
  return Serve("cuDevicePrimaryCtxRetain", Needs::kInit, [&](Call& call) {
    if (handle == nullptr) return CUDA_ERROR_INVALID_VALUE;
    if (!IsDevice(call, device)) return CUDA_ERROR_INVALID_DEVICE;
    DeviceState& state = call.state().devices[device];
    if (state.primary == nullptr || !state.primary->alive) {
      Context* context = nullptr;
      const CUresult result =
          MakeContext(&call.state(), device, state.primary_flags, true, &context);
      if (result != CUDA_SUCCESS) return result;
      state.primary = context;
      state.primary_references = 0;
      call.profiler_record().made_context = ToHandle(context);
    }
    ++state.primary_references;
    *handle = ToHandle(state.primary);
    return CUDA_SUCCESS;
  });
}

#undef cuDevicePrimaryCtxRelease
CUresult cuDevicePrimaryCtxRelease_v2(CUdevice device) {
  return Serve("cuDevicePrimaryCtxRelease", Needs::kInit, [&](Call& call) {
    if (!IsDevice(call, device)) return CUDA_ERROR_INVALID_DEVICE;
    DeviceState& state = call.state().devices[device];
    if (state.primary == nullptr || !state.primary->alive || state.primary_references == 0) {
      return CUDA_ERROR_INVALID_CONTEXT;
    }
    if (--state.primary_references > 0) return CUDA_SUCCESS;
    // During the wait another thread may end the context, or retain it again.
    Context* context = state.primary;
    if (FinishWork(call, *context) && state.primary_references == 0) EndContext(call, context);
    return CUDA_SUCCESS;
  });
}
CUresult cuDevicePrimaryCtxRelease(CUdevice device) { return cuDevicePrimaryCtxRelease_v2(device); }

#undef cuDevicePrimaryCtxReset
// References survive a reset, and the next retain makes a fresh context.
CUresult cuDevicePrimaryCtxReset_v2(CUdevice device) {
  return Serve("cuDevicePrimaryCtxReset", Needs::kInit, [&](Call& call) {
    if (!IsDevice(call, device)) return CUDA_ERROR_INVALID_DEVICE;
    DeviceState& state = call.state().devices[device];
    Context* context = state.primary;
    if (context == nullptr || !context->alive) return CUDA_SUCCESS;
    if (FinishWork(call, *context)) EndContext(call, context);
    return CUDA_SUCCESS;
  });
}
CUresult cuDevicePrimaryCtxReset(CUdevice device) { return cuDevicePrimaryCtxReset_v2(device); }

#undef cuDevicePrimaryCtxSetFlags
CUresult cuDevicePrimaryCtxSetFlags_v2(CUdevice device, unsigned int flags) {
  return Serve("cuDevicePrimaryCtxSetFlags", Needs::kInit, [&](Call& call) {
    if (!IsDevice(call, device)) return CUDA_ERROR_INVALID_DEVICE;
    if ((flags & ~kKnownFlags) != 0) return CUDA_ERROR_INVALID_VALUE;
    DeviceState& state = call.state().devices[device];
    state.primary_flags = flags;
    if (state.primary != nullptr && state.primary->alive) state.primary->flags = flags;
    return CUDA_SUCCESS;
  });
}
CUresult cuDevicePrimaryCtxSetFlags(CUdevice device, unsigned int flags) {
  return cuDevicePrimaryCtxSetFlags_v2(device, flags);
}

CUresult cuDevicePrimaryCtxGetState(CUdevice device, unsigned int* flags, int* active) {
  return Serve("cuDevicePrimaryCtxGetState", Needs::kInit, [&](Call& call) {
    if (!IsDevice(call, device)) return CUDA_ERROR_INVALID_DEVICE;
    const DeviceState& state = call.state().devices[device];
    if (flags != nullptr) *flags = state.primary_flags;
    if (active != nullptr) *active = state.primary != nullptr && state.primary->alive;
    return CUDA_SUCCESS;
  });
}

#undef cuCtxCreate
CUresult cuCtxCreate_v2(CUcontext* handle, unsigned int flags, CUdevice device) {
  return CreateContext(handle, flags, device, 3020);
}

CUresult cuCtxCreate_v3(CUcontext* handle, CUexecAffinityParam* affinity, int affinities,
                        unsigned int flags, CUdevice device) {
  if (affinity != nullptr && affinities > 0) return RefuseAffinity();
  return CreateContext(handle, flags, device, 3020);
}

CUresult cuCtxCreate_v4(CUcontext* handle, CUctxCreateParams* parameters, unsigned int flags,
                        CUdevice device) {
  if (parameters != nullptr && parameters->numExecAffinityParams > 0) return RefuseAffinity();
  return CreateContext(handle, flags, device, 3020);
}

#undef cuCtxDestroy
CUresult cuCtxDestroy_v2(CUcontext handle) {
  return Serve("cuCtxDestroy", Needs::kInit, [&](Call& call) {
    Context* context = FindContext(&call.state(), handle);
    if (context == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
    if (context->primary) return CUDA_ERROR_INVALID_CONTEXT;
    if (!FinishWork(call, *context)) return CUDA_ERROR_INVALID_CONTEXT;  // another thread ended it
    EndContext(call, context);
    // As documented, the context is popped from the calling thread's stack if it is current there.
    ThreadState& thread = call.thread();
    if (thread.depth > 0 && thread.stack[thread.depth - 1] == context) --thread.depth;
    return CUDA_SUCCESS;
  });
}

#undef cuCtxPushCurrent
CUresult cuCtxPushCurrent_v2(CUcontext handle) {
  return Serve("cuCtxPushCurrent", Needs::kInit, [&](Call& call) {
    Context* context = FindContext(&call.state(), handle);
    return context == nullptr ? CUDA_ERROR_INVALID_CONTEXT : Push(call, context);
  });
}

#undef cuCtxPopCurrent
CUresult cuCtxPopCurrent_v2(CUcontext* handle) {
  return Serve("cuCtxPopCurrent", Needs::kInit, [&](Call& call) {
    ThreadState& thread = call.thread();
    if (thread.depth == 0) return CUDA_ERROR_INVALID_CONTEXT;
    Context* context = thread.stack[--thread.depth];
    if (handle != nullptr) *handle = ToHandle(context);
    return CUDA_SUCCESS;
  });
}

CUresult cuCtxSetCurrent(CUcontext handle) {
  return Serve("cuCtxSetCurrent", Needs::kInit, [&](Call& call) {
    ThreadState& thread = call.thread();
    if (handle == nullptr) {
      if (thread.depth > 0) --thread.depth;
      return CUDA_SUCCESS;
    }
    Context* context = FindContext(&call.state(), handle);
    if (context == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
    if (thread.depth == 0) return Push(call, context);
    thread.stack[thread.depth - 1] = context;
    return CUDA_SUCCESS;
  });
}

CUresult cuCtxGetCurrent(CUcontext* handle) {
  return Serve("cuCtxGetCurrent", Needs::kInit, [&](Call& call) {
    if (handle == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *handle = ToHandle(call.context());
    return CUDA_SUCCESS;
  });
}

CUresult cuCtxGetDevice(CUdevice* device) {
  return Serve("cuCtxGetDevice", Needs::kAnyContext, [&](Call& call) {
    if (device == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *device = call.device();
    return CUDA_SUCCESS;
  });
}

CUresult cuCtxGetDevice_v2(CUdevice* device, CUcontext handle) {
  return Serve("cuCtxGetDevice", Needs::kInit, [&](Call& call) {
    if (device == nullptr) return CUDA_ERROR_INVALID_VALUE;
    Context* context = handle == nullptr ? call.context() : FindContext(&call.state(), handle);
    if (context == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
    *device = context->device;
    return CUDA_SUCCESS;
  });
}

CUresult cuCtxGetId(CUcontext handle, unsigned long long* id) {
  return Serve("cuCtxGetId", Needs::kInit, [&](Call& call) {
    if (id == nullptr) return CUDA_ERROR_INVALID_VALUE;
    Context* context = handle == nullptr ? call.context() : FindContext(&call.state(), handle);
    if (context == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
    if (!context->alive) return CUDA_ERROR_CONTEXT_IS_DESTROYED;
    *id = context->id;
    return CUDA_SUCCESS;
  });
}

CUresult cuCtxGetFlags(unsigned int* flags) {
  return Serve("cuCtxGetFlags", Needs::kAnyContext, [&](Call& call) {
    if (flags == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *flags = call.context()->flags;
    return CUDA_SUCCESS;
  });
}

CUresult cuCtxSetFlags(unsigned int flags) {
  return Serve("cuCtxSetFlags", Needs::kContext, [&](Call& call) {
    if ((flags & ~kKnownFlags) != 0) return CUDA_ERROR_INVALID_VALUE;
    call.context()->flags = flags;
    return CUDA_SUCCESS;
  });
}

CUresult cuCtxGetApiVersion(CUcontext handle, unsigned int* version) {
  return Serve("cuCtxGetApiVersion", Needs::kInit, [&](Call& call) {
    if (version == nullptr) return CUDA_ERROR_INVALID_VALUE;
    Context* context = handle == nullptr ? call.context() : FindContext(&call.state(), handle);
    if (context == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
    *version = context->api_version;
    return CUDA_SUCCESS;
  });
}

CUresult cuCtxSynchronize(void) {
  return Serve("cuCtxSynchronize", Needs::kContext,
               [&](Call& call) { return SynchronizeContext(call, call.context()); });
}

CUresult cuCtxSynchronize_v2(CUcontext handle) {
  return Serve("cuCtxSynchronize", Needs::kInit, [&](Call& call) {
    Context* context = handle == nullptr ? call.context() : FindContext(&call.state(), handle);
    return context == nullptr ? CUDA_ERROR_INVALID_CONTEXT : SynchronizeContext(call, context);
  });
}

CUresult cuCtxGetStreamPriorityRange(int* least, int* greatest) {
  return Serve("cuCtxGetStreamPriorityRange", Needs::kContext, [&](Call&) {
    if (least != nullptr) *least = kPriorityLeast;
    if (greatest != nullptr) *greatest = kPriorityGreatest;
    return CUDA_SUCCESS;
  });
}

CUresult cuCtxSetLimit(CUlimit limit, size_t value) {
  return Serve("cuCtxSetLimit", Needs::kContext, [&](Call& call) {
    const CUresult refused = RefuseLimit(call, limit);
    if (refused != CUDA_SUCCESS) return refused;
    if (limit == CU_LIMIT_PERSISTING_L2_CACHE_SIZE) {
      value = std::min<size_t>(value, call.machine().card().persisting_l2_bytes);
    }
    call.context()->limits[limit] = value;
    return CUDA_SUCCESS;
  });
}

CUresult cuCtxGetLimit(size_t* value, CUlimit limit) {
  return Serve("cuCtxGetLimit", Needs::kContext, [&](Call& call) {
    if (value == nullptr) return CUDA_ERROR_INVALID_VALUE;
    const CUresult refused = RefuseLimit(call, limit);
    if (refused != CUDA_SUCCESS) return refused;
    *value = call.context()->limits[limit];
    return CUDA_SUCCESS;
  });
}

CUresult cuCtxGetCacheConfig(CUfunc_cache* config) {
  return Serve("cuCtxGetCacheConfig", Needs::kContext, [&](Call& call) {
    if (config == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *config = call.context()->cache;
    return CUDA_SUCCESS;
  });
}

CUresult cuCtxSetCacheConfig(CUfunc_cache config) {
  return Serve("cuCtxSetCacheConfig", Needs::kContext, [&](Call& call) {
    call.context()->cache = config;
    return CUDA_SUCCESS;
  });
}

CUresult cuCtxGetSharedMemConfig(CUsharedconfig* config) {
  return Serve("cuCtxGetSharedMemConfig", Needs::kContext, [&](Call& call) {
    if (config == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *config = call.context()->shared;
    return CUDA_SUCCESS;
  });
}

CUresult cuCtxSetSharedMemConfig(CUsharedconfig config) {
  return Serve("cuCtxSetSharedMemConfig", Needs::kContext, [&](Call& call) {
    call.context()->shared = config;
    return CUDA_SUCCESS;
  });
}

CUresult cuCtxResetPersistingL2Cache(void) {
  return Serve("cuCtxResetPersistingL2Cache", Needs::kContext, [](Call&) { return CUDA_SUCCESS; });
}

CUresult cuCtxGetExecAffinity(CUexecAffinityParam* affinity, CUexecAffinityType type) {
  (void)affinity, (void)type;
  return RefuseAffinity();
}

void* vramstowSimulatorPrivateFunction(const char* name) {
  const struct {
    const char* name;
    void* function;
  } functions[] = {
      {"cuDevicePrimaryCtxRetain", FunctionAddress(cuDevicePrimaryCtxRetain)},
      {"cuDevicePrimaryCtxRelease", FunctionAddress(cuDevicePrimaryCtxRelease_v2)},
      {"cuDevicePrimaryCtxReset", FunctionAddress(cuDevicePrimaryCtxReset_v2)},
      {"cuDevicePrimaryCtxSetFlags", FunctionAddress(cuDevicePrimaryCtxSetFlags_v2)},
      {"cuDevicePrimaryCtxGetState", FunctionAddress(cuDevicePrimaryCtxGetState)},
  };
  if (!PrimaryIsPrivate()) return nullptr;
  for (const auto& entry : functions) {
    if (strcmp(entry.name, name) == 0) return entry.function;
  }
  return nullptr;
}

}  // extern "C"
