// Handlers for NCCL's collectives. NCCL's kernels find the buffers in a queue in memory, so no
// launch names them.
//
// So the buffers are reported as used (touched) when the program passes them to NCCL, before NCCL
// is called. NCCL itself may allocate and launch, so this thread must not hold a GateTicket
// (offloaders.h) during the call. The work is submitted at the end of the call or of its group.
// Until then no quiet time (a time in which the program promises not to use memory: vramstow_quiet)
// begins for these buffers, and their blocks do not become idle in this iteration. A call is passed
// on with unchanged arguments, and its result is the library's. A LibraryCall (library_call.h)
// provides what these functions need.
#ifndef VRAMSTOW_INTERPOSE_CORE_HANDLERS_COLLECTIVES_H_
#define VRAMSTOW_INTERPOSE_CORE_HANDLERS_COLLECTIVES_H_

#include <cstdint>

#include "base/keep_errno.h"
#include "interpose/core/handlers/nccl_results.h"
#include "interpose/core/pools/open_collectives.h"
#include "interpose/core/pools/pool_service.h"

namespace vramstow::handlers {

// Reports the buffers of a collective. A buffer is null in a rank that receives nothing.
template <typename Call, typename... Buffers>
void NoteBuffers(const Call& call, Buffers... buffers) {
  const KeepErrno keep_errno;
  const uint64_t addresses[] = {reinterpret_cast<uint64_t>(buffers)...};
  // The buffers are stored before they are reported as used. If a quiet time begins between the two
  // steps, it then leaves the buffers out.
  call.open_collectives().Note(addresses, sizeof...(Buffers));
  const PoolService::Submission submission(call.pools());
  if (!submission.watched()) return;
  for (const uint64_t address : addresses) submission.offloading().Expose(address);
}

// Calls NCCL for a collective or for the end of a group, after which the work is submitted.
template <typename Call, typename... Arguments>
int Submitted(const Call& call, Arguments... arguments) {
  const int result = call.Forward(arguments...);
  const KeepErrno keep_errno;
  call.open_collectives().Close(result != kNcclInProgress);
  return result;
}

template <typename Call, typename... Others>
int UseTwo(const Call& call, const void* send, void* receive, Others... others) {
  OpenCollectives::Open();
  NoteBuffers(call, send, receive);
  return Submitted(call, send, receive, others...);
}

// Calls NCCL with one buffer. The type of the buffer is const if NCCL sends it, and not const if
// NCCL receives into it.
template <typename Call, typename Buffer, typename... Others>
int UseOne(const Call& call, Buffer* buffer, Others... others) {
  OpenCollectives::Open();
  NoteBuffers(call, buffer);
  return Submitted(call, buffer, others...);
}

template <typename Call>
int BeginGroup(const Call& call) {
  const int result = call.Forward();
  if (result == kNcclSuccess) OpenCollectives::Open();
  return result;
}

template <typename Call, typename... Arguments>
int EndGroup(const Call& call, Arguments... arguments) {
  return Submitted(call, arguments...);
}

}  // namespace vramstow::handlers

#endif  // VRAMSTOW_INTERPOSE_CORE_HANDLERS_COLLECTIVES_H_
