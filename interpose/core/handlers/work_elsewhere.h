// Submits copies and fills of the pool's memory in the context that owns the memory.
//
// Idea: the driver lets every context copy and fill memory of cuMemAlloc. Memory of the pool is
// mapped memory, which only devices with access can use. If the device of a call cannot access the
// device of the block, the call is made in the block's context: a synchronous call on the default
// stream there, and an asynchronous call on a stream of its own. Events put the call between the
// earlier and the later work of the caller's stream.
//
// Ownership: objects on the handler's stack. Threads: each thread has its own. Errors: if the call
// cannot be made elsewhere, it is passed on unchanged, and the driver reports the error. No heap.
// Units: none.
#ifndef VRAMSTOW_INTERPOSE_CORE_HANDLERS_WORK_ELSEWHERE_H_
#define VRAMSTOW_INTERPOSE_CORE_HANDLERS_WORK_ELSEWHERE_H_

#include <type_traits>

#include "interpose/core/handlers/hook_guard.h"
#include "interpose/core/pools/pool_service.h"
#include "interpose/core/runtime/cuda_abi.h"

namespace vramstow::handlers {

// Makes the block's context current, until Finish or its own end.
class WorkElsewhere {
 public:
  // `stream` is null for a synchronous call.
  WorkElsewhere(const HandlerContext& context, const CallSite& site, const OutOfReach& block,
                const CUstream* stream);
  ~WorkElsewhere();
  WorkElsewhere(const WorkElsewhere&) = delete;
  WorkElsewhere& operator=(const WorkElsewhere&) = delete;

  // False if the call cannot be made elsewhere; then the caller's context is current.
  bool ok() const { return ok_; }
  // Called after the call, once. Makes the caller's context current, and orders the caller's later
  // work behind the call. Returns the call's result.
  CUresult Finish(CUresult result);

  // Returns the argument that the call made elsewhere gets for an argument of the program.
  CUstream Argument(CUstream) const { return stream_; }
  template <typename T>
  T Argument(T argument) const {
    return argument;
  }

 private:
  bool Begin(const OutOfReach& block);
  void Leave();

  const Driver& driver_;
  const bool asynchronous_;
  bool ok_ = false;
  CUstream callers_ = nullptr;  // the caller's stream, or the default stream of the caller's kind
  CUstream stream_ = nullptr;   // the stream of the block's context
  CUevent before_ = nullptr;
  CUevent after_ = nullptr;
};

// Finds the first of the addresses that an argument names and that the call's device cannot access.
template <typename Call, typename Argument>
bool FindOutOfReach(const Call&, CUstream, Argument, OutOfReach*) {
  return false;
}
template <typename Call>
bool FindOutOfReach(const Call& call, CUstream stream, CUdeviceptr address, OutOfReach* block) {
  return call.pools().IsOutOfReach(address, stream, block);
}
template <typename Call, typename Copy>
bool FindShapeOutOfReach(const Call& call, CUstream stream, const Copy* copy, OutOfReach* block) {
  const auto find = [&](CUmemorytype type, CUdeviceptr address) {
    return (type == CU_MEMORYTYPE_DEVICE || type == CU_MEMORYTYPE_UNIFIED) &&
           call.pools().IsOutOfReach(address, stream, block);
  };
  return copy != nullptr &&
         (find(copy->dstMemoryType, copy->dstDevice) || find(copy->srcMemoryType, copy->srcDevice));
}
template <typename Call>
bool FindOutOfReach(const Call& call, CUstream stream, const CUDA_MEMCPY2D* copy,
                    OutOfReach* block) {
  return FindShapeOutOfReach(call, stream, copy, block);
}
template <typename Call>
bool FindOutOfReach(const Call& call, CUstream stream, const CUDA_MEMCPY3D* copy,
                    OutOfReach* block) {
  return FindShapeOutOfReach(call, stream, copy, block);
}

inline void FindStream(const CUstream** found, const CUstream& stream) { *found = &stream; }
template <typename Argument>
void FindStream(const CUstream**, const Argument&) {}

// Calls the driver, in the context of the memory that the arguments name if the call's own device
// cannot access it.
template <typename Call, typename... Arguments>
CUresult ForwardInReach(const Call& call, Arguments... arguments) {
  if (!call.pools().SomeCardsApart()) [[likely]] {
    return call.Forward(arguments...);
  }
  const CUstream* stream = nullptr;
  (FindStream(&stream, arguments), ...);
  const CUstream submits = stream == nullptr ? nullptr : *stream;
  OutOfReach block;
  if (!(FindOutOfReach(call, submits, arguments, &block) || ...)) return call.Forward(arguments...);
  WorkElsewhere work(call.context(), call.site(), block, stream);
  if (!work.ok()) return call.Forward(arguments...);
  return work.Finish(call.Forward(work.Argument(arguments)...));
}

}  // namespace vramstow::handlers

#endif  // VRAMSTOW_INTERPOSE_CORE_HANDLERS_WORK_ELSEWHERE_H_
