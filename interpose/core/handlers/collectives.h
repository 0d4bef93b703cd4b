// NCCL's collectives: their kernels get the buffers by a queue in memory that no launch names.
//
// So the buffers count as touched when the program hands them over. That is told before NCCL is
// asked, because NCCL may allocate and launch, for which this thread must be outside the gate. A
// call is handed on with its arguments as they are, and its answer is the library's. A LibraryCall
// (library_entry.h) has what these functions need.
#ifndef VRAMSTOW_INTERPOSE_CORE_HANDLERS_COLLECTIVES_H_
#define VRAMSTOW_INTERPOSE_CORE_HANDLERS_COLLECTIVES_H_

#include <cstdint>

#include "base/keep_errno.h"
#include "interpose/core/pools/pool_service.h"

namespace vramstow::handlers {

// A rank that receives nothing gives null.
template <typename Call, typename... Buffers>
void NoteBuffers(const Call& call, Buffers... buffers) {
  const KeepErrno keep_errno;
  const PoolService::Submission submission(call.pools());
  if (!submission.watched()) return;
  (submission.offloading().Touch(reinterpret_cast<uint64_t>(buffers)), ...);
}

template <typename Call, typename... Others>
int UseTwo(const Call& call, const void* send, void* receive, Others... others) {
  NoteBuffers(call, send, receive);
  return call.Forward(send, receive, others...);
}

// A buffer that is sent is const, one that is received is not.
template <typename Call, typename Buffer, typename... Others>
int UseOne(const Call& call, Buffer* buffer, Others... others) {
  NoteBuffers(call, buffer);
  return call.Forward(buffer, others...);
}

}  // namespace vramstow::handlers

#endif  // VRAMSTOW_INTERPOSE_CORE_HANDLERS_COLLECTIVES_H_
