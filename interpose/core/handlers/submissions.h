// Handlers for functions that submit work. With --offload a submission waits while memory is being
// moved. While device memory is short, the memory that a submission names is recorded as used
// (touched). With --launches the launches of kernels are counted.
//
// record.h describes what all handlers have in common.
#ifndef VRAMSTOW_INTERPOSE_CORE_HANDLERS_SUBMISSIONS_H_
#define VRAMSTOW_INTERPOSE_CORE_HANDLERS_SUBMISSIONS_H_

#include "interpose/core/handlers/record.h"
#include "interpose/core/handlers/stream_operations.h"
#include "interpose/core/record/launches.h"
#include "interpose/core/runtime/driver.h"
#include "interpose/core/runtime/handle_kinds.h"

namespace vramstow::handlers {

// These overloads report the memory that an argument names and that may be the pool's: addresses,
// and descriptions of copies. Arguments of all other types name no memory.
template <typename Argument>
void NoteArgument(Offloading*, Argument) {}
inline void NoteArgument(Offloading* offloading, CUdeviceptr address) {
  offloading->Touch(address);
}
template <typename Description>
void NoteEnds(Offloading* offloading, const Description* copy) {
  if (copy == nullptr) return;
  offloading->Touch(copy->srcDevice);
  offloading->Touch(copy->dstDevice);
}
inline void NoteArgument(Offloading* offloading, const CUDA_MEMCPY2D* copy) {
  NoteEnds(offloading, copy);
}
inline void NoteArgument(Offloading* offloading, const CUDA_MEMCPY3D* copy) {
  NoteEnds(offloading, copy);
}
inline void NoteArgument(Offloading* offloading, const CUDA_MEMCPY3D_PEER* copy) {
  NoteEnds(offloading, copy);
}
inline void NoteOperand(Offloading* offloading, const CUmemcpy3DOperand& operand) {
  if (operand.type == CU_MEMCPY_OPERAND_TYPE_POINTER) offloading->Touch(operand.op.ptr.ptr);
}
inline void NoteArgument(Offloading* offloading, const CUDA_MEMCPY3D_BATCH_OP* copy) {
  if (copy == nullptr) return;
  NoteOperand(offloading, copy->src);
  NoteOperand(offloading, copy->dst);
}

template <typename Call, typename... Arguments>
CUresult Submit(const Call& call, Arguments... arguments) {
  const PoolService::Submission submission(call.pools());
  if (submission.watched()) (NoteArgument(&submission.offloading(), arguments), ...);
  return call.Forward(arguments...);
}

// Reports the memory that a batch names in its list.
template <typename Call>
CUresult SubmitOperations(const Call& call, CUstream stream, unsigned int count,
                          CUstreamBatchMemOpParams* operations, unsigned int flags) {
  const PoolService::Submission submission(call.pools());
  if (submission.watched()) {
    Offloading& offloading = submission.offloading();
    VisitOperations(operations, count,
                    [&offloading](CUdeviceptr address) { offloading.Touch(address); });
  }
  return call.Forward(stream, count, operations, flags);
}

// Reports the memory that a batch of compressed buffers names.
template <typename Call>
CUresult Decompress(const Call& call, CUmemDecompressParams* buffers, size_t count,
                    unsigned int flags, size_t* error_index, CUstream stream) {
  const PoolService::Submission submission(call.pools());
  for (size_t i = 0; submission.watched() && buffers != nullptr && i < count; ++i) {
    for (const void* named : {buffers[i].src, static_cast<const void*>(buffers[i].dst),
                              static_cast<const void*>(buffers[i].dstActBytes)}) {
      submission.offloading().Touch(reinterpret_cast<uint64_t>(named));
    }
  }
  return call.Forward(buffers, count, flags, error_index, stream);
}

template <typename Call, typename Handle>
void NoteHandle(const Call& call, CUresult result, const Handle* handle, HandleKind kind,
                const void* from) {
  if (result != CUDA_SUCCESS || handle == nullptr) return;
  call.context().handle_kinds.Note(*handle, kind, from);
}

template <typename Call>
CUresult Launched(const Call& call, CUfunction function, CUstream stream, CUresult result) {
  Launches& launches = call.context().launches;
  if (result == CUDA_SUCCESS && launches.wanted()) {
    launches.Note(call.site(), function, StreamOf(call.site(), stream));
  }
  return result;
}

// Handles launches of graphs, which name no kernel. A graph is not launched while it may use memory
// that is paused (evicted until the program resumes it). The graph's memory nodes may need memory;
// cached memory is released only outside of the submission, because a thread that holds a pool's
// lock may wait until no submission is in progress.
template <typename Call>
CUresult Launch(const Call& call, CUgraphExec graph, CUstream stream) {
  return ForwardWithRoom(call, kEveryDevice, [&] {
    const PoolService::Submission submission(call.pools());
    if (submission.offloading().RefusesGraph()) return CUDA_ERROR_ILLEGAL_STATE;
    return Launched(call, nullptr, stream, call.Forward(graph, stream));
  });
}
// Handles the launch of kernels on several devices.
template <typename Call>
CUresult Launch(const Call& call, CUDA_LAUNCH_PARAMS* list, unsigned int count,
                unsigned int flags) {
  const PoolService::Submission submission(call.pools());
  for (unsigned int i = 0; submission.watched() && list != nullptr && i < count; ++i) {
    submission.offloading().TouchArguments(list[i].function, list[i].kernelParams, nullptr);
  }
  return Launched(call, nullptr, nullptr, call.Forward(list, count, flags));
}

// Handles the launch functions of CUDA 2, in which the arguments were set by earlier calls. So it
// is unknown which memory the kernel uses, and all memory is restored first.
template <typename Call, typename... Arguments>
CUresult LaunchFunction(const Call& call, CUfunction function, Arguments... arguments) {
  const PoolService::Submission submission(call.pools());
  if (submission.watched()) submission.offloading().EndAllQuiet();
  return Launched(call, function, nullptr, call.Forward(function, arguments...));
}

// Handles cuLaunchKernel, and cuLaunchCooperativeKernel, which has no `extra`.
template <typename Call, typename... Extra>
CUresult LaunchKernel(const Call& call, CUfunction function, unsigned int grid_x,
                      unsigned int grid_y, unsigned int grid_z, unsigned int block_x,
                      unsigned int block_y, unsigned int block_z, unsigned int shared_bytes,
                      CUstream stream, void** arguments, Extra... extra) {
  const PoolService::Submission submission(call.pools());
  if (submission.watched()) {
    void** packed = nullptr;
    ((packed = extra), ...);
    submission.offloading().TouchArguments(function, arguments, packed);
  }
  return Launched(call, function, stream,
                  call.Forward(function, grid_x, grid_y, grid_z, block_x, block_y, block_z,
                               shared_bytes, stream, arguments, extra...));
}

template <typename Call>
CUresult LaunchKernelEx(const Call& call, const CUlaunchConfig* config, CUfunction function,
                        void** arguments, void** extra) {
  const PoolService::Submission submission(call.pools());
  if (submission.watched()) submission.offloading().TouchArguments(function, arguments, extra);
  return Launched(call, function, config == nullptr ? nullptr : config->hStream,
                  call.Forward(config, function, arguments, extra));
}

// --- Functions that return handles of kernels; the kind of each handle is stored

template <typename Call>
CUresult LibraryGetKernel(const Call& call, CUkernel* kernel, CUlibrary library, const char* name) {
  const CUresult result = call.Forward(kernel, library, name);
  NoteHandle(call, result, kernel, HandleKind::kKernel, library);
  return result;
}

template <typename Call>
CUresult LibraryGetModule(const Call& call, CUmodule* module, CUlibrary library) {
  const CUresult result = call.Forward(module, library);
  NoteHandle(call, result, module, HandleKind::kModule, library);
  return result;
}

template <typename Call>
CUresult ModuleGetFunction(const Call& call, CUfunction* function, CUmodule module,
                           const char* name) {
  const CUresult result = call.Forward(function, module, name);
  NoteHandle(call, result, function, HandleKind::kFunction, module);
  return result;
}

template <typename Call>
CUresult KernelGetFunction(const Call& call, CUfunction* function, CUkernel kernel) {
  const CUresult result = call.Forward(function, kernel);
  const bool known = call.context().handle_kinds.KindOf(kernel) == HandleKind::kKernel;
  NoteHandle(call, result, function, HandleKind::kFunction, known ? kernel : nullptr);
  return result;
}

// Stores the handles of functions that the driver has returned. The driver may return fewer handles
// than fit into the caller's array.
template <typename Call, typename Handle, typename From>
CUresult EnumerateHandles(const Call& call, Handle* handles, unsigned int room, From from,
                          CUresult (*count)(unsigned int*, From), HandleKind kind) {
  const CUresult result = call.Forward(handles, room, from);
  unsigned int all = 0;
  if (result != CUDA_SUCCESS || count == nullptr || count(&all, from) != CUDA_SUCCESS) {
    return result;
  }
  for (unsigned int i = 0; i < room && i < all; ++i) {
    NoteHandle(call, result, handles + i, kind, from);
  }
  return result;
}

template <typename Call>
CUresult LibraryEnumerateKernels(const Call& call, CUkernel* kernels, unsigned int room,
                                 CUlibrary library) {
  return EnumerateHandles(call, kernels, room, library,
                          call.context().driver.cuLibraryGetKernelCount(), HandleKind::kKernel);
}

template <typename Call>
CUresult ModuleEnumerateFunctions(const Call& call, CUfunction* functions, unsigned int room,
                                  CUmodule module) {
  return EnumerateHandles(call, functions, room, module,
                          call.context().driver.cuModuleGetFunctionCount(), HandleKind::kFunction);
}

// Handles the unloading of a module or library, after which the handles of its functions are
// invalid.
template <typename Call, typename Handle>
CUresult Unload(const Call& call, Handle handle) {
  call.pools().FunctionsGone();
  call.context().handle_kinds.ForgetOf(handle);
  return call.Forward(handle);
}

}  // namespace vramstow::handlers

#endif  // VRAMSTOW_INTERPOSE_CORE_HANDLERS_SUBMISSIONS_H_
