// Handlers for copies from one device address to another.
//
// Idea: the driver copies memory of cuMemAlloc between any two GPUs. Memory of the pool is mapped
// memory. The driver copies such memory between GPUs that cannot access each other's memory only if
// the call names both contexts. So such a copy is submitted as a copy between peers (cuMemcpyPeer),
// which has the same effect. A copy whose own device cannot access the pool's memory is made in the
// context of that memory (work_elsewhere.h). With --offload, copies are also handled as submissions
// of work.
//
// record.h describes what all handlers have in common.
#ifndef VRAMSTOW_INTERPOSE_CORE_HANDLERS_COPIES_H_
#define VRAMSTOW_INTERPOSE_CORE_HANDLERS_COPIES_H_

#include <cstddef>

#include "interpose/core/handlers/submissions.h"
#include "interpose/core/handlers/work_elsewhere.h"

namespace vramstow::handlers {

// Returns the peer copy function that corresponds to this call, or null if the driver has none.
// `Stream` is empty for synchronous copies, and is the stream's type for asynchronous ones.
template <typename... Stream, typename Call>
auto PeerCopyFor(const Call& call) {
  constexpr bool kAsync = sizeof...(Stream) != 0;
  const bool own_stream = RowOf(call.site().hook).per_thread_stream;
  const Hook plain = kAsync ? Hook::kcuMemcpyPeerAsync : Hook::kcuMemcpyPeer;
  const Hook threads = kAsync ? Hook::kcuMemcpyPeerAsync_ptsz : Hook::kcuMemcpyPeer_ptds;
  using Function =
      CUresult(CUDAAPI*)(CUdeviceptr, CUcontext, CUdeviceptr, CUcontext, size_t, Stream...);
  void* const real = call.context().driver.real(own_stream ? threads : plain);
  return reinterpret_cast<Function>(real);
}

// Handles cuMemcpy, cuMemcpyDtoD and their variants with a stream.
template <typename Call, typename... Stream>
CUresult Copy(const Call& call, CUdeviceptr to, CUdeviceptr from, size_t bytes, Stream... stream) {
  const PoolService::Submission submission(call.pools());
  if (submission.watched()) {
    NoteArgument(&submission.offloading(), to);
    NoteArgument(&submission.offloading(), from);
    submission.offloading().ExposeWordsAt(from, bytes);
  }
  CopyEnds ends;
  if (call.pools().CopyNeedsContexts(to, from, &ends)) [[unlikely]] {
    const auto peer_copy = PeerCopyFor<Stream...>(call);
    if (peer_copy != nullptr) return peer_copy(to, ends.to, from, ends.from, bytes, stream...);
  }
  return ForwardInReach(call, to, from, bytes, stream...);
}

// Handles cuMemcpyHtoD and its variants with a stream.
template <typename Call, typename... Stream>
CUresult CopyFromHost(const Call& call, CUdeviceptr to, const void* from, size_t bytes,
                      Stream... stream) {
  const PoolService::Submission submission(call.pools());
  if (submission.watched()) {
    submission.offloading().Touch(to);
    submission.offloading().ExposeWords(from, bytes);
  }
  return ForwardInReach(call, to, from, bytes, stream...);
}

// Handles cuMemcpyDtoH, cuMemset and their variants.
template <typename Call, typename... Arguments>
CUresult SubmitInReach(const Call& call, Arguments... arguments) {
  const PoolService::Submission submission(call.pools());
  if (submission.watched()) (NoteArgument(&submission.offloading(), arguments), ...);
  return ForwardInReach(call, arguments...);
}

}  // namespace vramstow::handlers

#endif  // VRAMSTOW_INTERPOSE_CORE_HANDLERS_COPIES_H_
