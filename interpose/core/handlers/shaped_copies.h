// Handlers for copies of two and three dimensions, and copies in batches.
//
// Idea: copies.h explains why a copy between GPUs that cannot access each other's memory has to
// name both contexts. Such a copy is submitted here as a three-dimensional copy between peers. If a
// batch contains such a copy, all copies of the batch are submitted one by one, in order; a batch
// itself promises no order.
//
// record.h describes what all handlers have in common.
#ifndef VRAMSTOW_INTERPOSE_CORE_HANDLERS_SHAPED_COPIES_H_
#define VRAMSTOW_INTERPOSE_CORE_HANDLERS_SHAPED_COPIES_H_

#include <cstddef>
#include <type_traits>

#include "interpose/core/handlers/copies.h"

namespace vramstow::handlers {

// --- One copy ------------------------------------------------------------------------------------

// Finds the address of the source or the destination of a copy for PoolService::CopyNeedsContexts.
// Returns false for memory of the host.
inline bool FindCopyEnd(CUmemorytype type, CUdeviceptr address, CUdeviceptr* end) {
  *end = type == CU_MEMORYTYPE_ARRAY ? 0 : address;
  return type == CU_MEMORYTYPE_ARRAY ||
         ((type == CU_MEMORYTYPE_DEVICE || type == CU_MEMORYTYPE_UNIFIED) && address != 0);
}

inline CUmemorytype WithoutUnified(CUmemorytype type) {
  return type == CU_MEMORYTYPE_UNIFIED ? CU_MEMORYTYPE_DEVICE : type;
}

// Returns a description of the same copy that names both contexts; `copy` is a CUDA_MEMCPY2D or a
// CUDA_MEMCPY3D.
template <typename Copy>
CUDA_MEMCPY3D_PEER WithContexts(const Copy& copy, const CopyEnds& ends) {
  CUDA_MEMCPY3D_PEER peers = {};
  peers.srcXInBytes = copy.srcXInBytes;
  peers.srcY = copy.srcY;
  peers.srcMemoryType = WithoutUnified(copy.srcMemoryType);
  peers.srcDevice = copy.srcDevice;
  peers.srcArray = copy.srcArray;
  peers.srcContext = ends.from;
  peers.srcPitch = copy.srcPitch;
  peers.dstXInBytes = copy.dstXInBytes;
  peers.dstY = copy.dstY;
  peers.dstMemoryType = WithoutUnified(copy.dstMemoryType);
  peers.dstDevice = copy.dstDevice;
  peers.dstArray = copy.dstArray;
  peers.dstContext = ends.to;
  peers.dstPitch = copy.dstPitch;
  peers.WidthInBytes = copy.WidthInBytes;
  peers.Height = copy.Height;
  peers.Depth = 1;
  if constexpr (std::is_same_v<Copy, CUDA_MEMCPY3D>) {
    peers.srcZ = copy.srcZ;
    peers.srcHeight = copy.srcHeight;
    peers.dstZ = copy.dstZ;
    peers.dstHeight = copy.dstHeight;
    peers.Depth = copy.Depth;
  }
  return peers;
}

template <typename Call, typename Copy>
bool NeedsContexts(const Call& call, const Copy* copy, CUDA_MEMCPY3D_PEER* peers) {
  CUdeviceptr to = 0;
  CUdeviceptr from = 0;
  CopyEnds ends;
  if (copy == nullptr || !FindCopyEnd(copy->dstMemoryType, copy->dstDevice, &to) ||
      !FindCopyEnd(copy->srcMemoryType, copy->srcDevice, &from) ||
      !call.pools().CopyNeedsContexts(to, from, &ends)) {
    return false;
  }
  *peers = WithContexts(*copy, ends);
  return true;
}

// Handles only copies between two addresses, because the description of an array does not contain
// the size of its elements.
template <typename Call>
bool NeedsContexts(const Call& call, const CUDA_MEMCPY3D_BATCH_OP* copy,
                   CUDA_MEMCPY3D_PEER* peers) {
  CopyEnds ends;
  if (copy == nullptr || copy->src.type != CU_MEMCPY_OPERAND_TYPE_POINTER ||
      copy->dst.type != CU_MEMCPY_OPERAND_TYPE_POINTER || copy->src.op.ptr.ptr == 0 ||
      copy->dst.op.ptr.ptr == 0 ||
      !call.pools().CopyNeedsContexts(copy->dst.op.ptr.ptr, copy->src.op.ptr.ptr, &ends)) {
    return false;
  }
  // According to the documentation, a row length of 0 stands for the width of the copy, and a layer
  // height of 0 for its height.
  const auto or_else = [](size_t value, size_t other) { return value != 0 ? value : other; };
  *peers = {};
  peers->srcMemoryType = CU_MEMORYTYPE_DEVICE;
  peers->srcDevice = copy->src.op.ptr.ptr;
  peers->srcContext = ends.from;
  peers->srcPitch = or_else(copy->src.op.ptr.rowLength, copy->extent.width);
  peers->srcHeight = or_else(copy->src.op.ptr.layerHeight, copy->extent.height);
  peers->dstMemoryType = CU_MEMORYTYPE_DEVICE;
  peers->dstDevice = copy->dst.op.ptr.ptr;
  peers->dstContext = ends.to;
  peers->dstPitch = or_else(copy->dst.op.ptr.rowLength, copy->extent.width);
  peers->dstHeight = or_else(copy->dst.op.ptr.layerHeight, copy->extent.height);
  peers->WidthInBytes = copy->extent.width;
  peers->Height = copy->extent.height;
  peers->Depth = copy->extent.depth;
  return true;
}

// Returns the peer copy function (cuMemcpy3DPeer) that corresponds to this call, or null if the
// driver has none.
template <typename... Stream, typename Call>
auto ShapedPeerCopyFor(const Call& call) {
  constexpr bool kAsync = sizeof...(Stream) != 0;
  const bool own_stream = RowOf(call.site().hook).per_thread_stream;
  const Hook plain = kAsync ? Hook::kcuMemcpy3DPeerAsync : Hook::kcuMemcpy3DPeer;
  const Hook threads = kAsync ? Hook::kcuMemcpy3DPeerAsync_ptsz : Hook::kcuMemcpy3DPeer_ptds;
  using Function = CUresult(CUDAAPI*)(const CUDA_MEMCPY3D_PEER*, Stream...);
  return reinterpret_cast<Function>(call.context().driver.real(own_stream ? threads : plain));
}

// Handles cuMemcpy2D, cuMemcpy3D and their variants with a stream.
template <typename Call, typename Copy, typename... Stream>
CUresult CopyShape(const Call& call, const Copy* copy, Stream... stream) {
  const PoolService::Submission submission(call.pools());
  if (submission.watched()) NoteArgument(&submission.offloading(), copy);
  CUDA_MEMCPY3D_PEER peers;
  if (NeedsContexts(call, copy, &peers)) [[unlikely]] {
    const auto peer_copy = ShapedPeerCopyFor<Stream...>(call);
    if (peer_copy != nullptr) return peer_copy(&peers, stream...);
  }
  return ForwardInReach(call, copy, stream...);
}

// --- Batches, and copies with attributes ---------------------------------------------------------

// True for the legacy stream. The driver refuses such copies on the legacy stream. So they are
// passed on unchanged, and the driver reports the error.
template <typename Call>
bool IsLegacy(const Call& call, CUstream stream) {
  return stream == CU_STREAM_LEGACY ||
         (stream == nullptr && !RowOf(call.site().hook).per_thread_stream);
}

// These functions read the last arguments of a batch. In the first form of the batch function one
// of these arguments receives the number of the failed copy.
inline CUstream StreamIn(CUstream stream) { return stream; }
template <typename First, typename... Rest>
CUstream StreamIn(First, Rest... rest) {
  return StreamIn(rest...);
}
inline void NoteFailed(size_t, CUstream) {}
inline void NoteFailed(size_t, unsigned long long, CUstream) {}
template <typename... Rest>
void NoteFailed(size_t number, size_t* failed, Rest...) {
  if (failed != nullptr) *failed = number;
}

template <typename Call>
bool AnyNeedsContexts(const Call& call, const CUdeviceptr* to, const CUdeviceptr* from,
                      size_t count) {
  if (!call.pools().SomeCardsApart() || to == nullptr || from == nullptr) return false;
  CopyEnds ends;
  for (size_t i = 0; i < count; ++i) {
    if (to[i] != 0 && from[i] != 0 && call.pools().CopyNeedsContexts(to[i], from[i], &ends)) {
      return true;
    }
  }
  return false;
}

// Handles cuMemcpyBatchAsync. `rest` is the output for the number of the failed copy, and the
// stream.
template <typename Call, typename... Rest>
CUresult CopyBatch(const Call& call, CUdeviceptr* to, CUdeviceptr* from, size_t* sizes,
                   size_t count, CUmemcpyAttributes* attributes, size_t* indexes,
                   size_t attribute_count, Rest... rest) {
  const PoolService::Submission submission(call.pools());
  if (submission.watched() && to != nullptr && from != nullptr) {
    submission.offloading().TouchWords(to, count * sizeof(CUdeviceptr));
    submission.offloading().TouchWords(from, count * sizeof(CUdeviceptr));
  }
  const auto peer_copy = PeerCopyFor<CUstream>(call);
  const CUstream stream = StreamIn(rest...);
  const bool readable = sizes != nullptr && attributes != nullptr && indexes != nullptr;
  if (!readable || attribute_count == 0 || IsLegacy(call, stream) || peer_copy == nullptr ||
      !AnyNeedsContexts(call, to, from, count)) [[likely]] {
    return call.Forward(to, from, sizes, count, attributes, indexes, attribute_count, rest...);
  }
  size_t attribute = 0;
  for (size_t i = 0; i < count; ++i) {
    while (attribute + 1 < attribute_count && indexes[attribute + 1] <= i) ++attribute;
    size_t first = 0;
    CopyEnds ends;
    const bool apart =
        to[i] != 0 && from[i] != 0 && call.pools().CopyNeedsContexts(to[i], from[i], &ends);
    const CUresult result = apart
                                ? peer_copy(to[i], ends.to, from[i], ends.from, sizes[i], stream)
                                : call.Forward(to + i, from + i, sizes + i, size_t{1},
                                               attributes + attribute, &first, size_t{1}, rest...);
    if (result == CUDA_SUCCESS) continue;
    NoteFailed(i, rest...);
    return result;
  }
  return CUDA_SUCCESS;
}

template <typename Call>
bool AnyNeedsContexts(const Call& call, const CUDA_MEMCPY3D_BATCH_OP* copies, size_t count) {
  if (!call.pools().SomeCardsApart() || copies == nullptr) return false;
  CUDA_MEMCPY3D_PEER peers;
  for (size_t i = 0; i < count; ++i) {
    if (NeedsContexts(call, copies + i, &peers)) return true;
  }
  return false;
}

// Handles cuMemcpy3DBatchAsync. `rest` consists of the output for the number of the failed copy
// (only in the first form), the flags, and the stream.
template <typename Call, typename... Rest>
CUresult CopyShapeBatch(const Call& call, size_t count, CUDA_MEMCPY3D_BATCH_OP* copies,
                        Rest... rest) {
  const PoolService::Submission submission(call.pools());
  for (size_t i = 0; submission.watched() && copies != nullptr && i < count; ++i) {
    NoteArgument(&submission.offloading(), copies + i);
  }
  const auto peer_copy = ShapedPeerCopyFor<CUstream>(call);
  const CUstream stream = StreamIn(rest...);
  if (IsLegacy(call, stream) || peer_copy == nullptr || !AnyNeedsContexts(call, copies, count))
      [[likely]] {
    return call.Forward(count, copies, rest...);
  }
  for (size_t i = 0; i < count; ++i) {
    CUDA_MEMCPY3D_PEER peers;
    const CUresult result = NeedsContexts(call, copies + i, &peers)
                                ? peer_copy(&peers, stream)
                                : call.Forward(size_t{1}, copies + i, rest...);
    if (result == CUDA_SUCCESS) continue;
    NoteFailed(i, rest...);
    return result;
  }
  return CUDA_SUCCESS;
}

// Handles cuMemcpyWithAttributesAsync. A copy between peers loses the attributes, which are only
// hints about host memory.
template <typename Call>
CUresult CopyWithAttributes(const Call& call, CUdeviceptr to, CUdeviceptr from, size_t bytes,
                            CUmemcpyAttributes* attributes, CUstream stream) {
  const PoolService::Submission submission(call.pools());
  if (submission.watched()) {
    NoteArgument(&submission.offloading(), to);
    NoteArgument(&submission.offloading(), from);
    submission.offloading().ExposeWordsAt(from, bytes);
  }
  CopyEnds ends;
  if (attributes != nullptr && to != 0 && from != 0 && !IsLegacy(call, stream) &&
      call.pools().CopyNeedsContexts(to, from, &ends)) [[unlikely]] {
    const auto peer_copy = PeerCopyFor<CUstream>(call);
    if (peer_copy != nullptr) return peer_copy(to, ends.to, from, ends.from, bytes, stream);
  }
  return call.Forward(to, from, bytes, attributes, stream);
}

// Handles cuMemcpy3DWithAttributesAsync.
template <typename Call>
CUresult CopyShapeWithAttributes(const Call& call, CUDA_MEMCPY3D_BATCH_OP* copy,
                                 unsigned long long flags, CUstream stream) {
  const PoolService::Submission submission(call.pools());
  if (submission.watched()) NoteArgument(&submission.offloading(), copy);
  CUDA_MEMCPY3D_PEER peers;
  if (!IsLegacy(call, stream) && NeedsContexts(call, copy, &peers)) [[unlikely]] {
    const auto peer_copy = ShapedPeerCopyFor<CUstream>(call);
    if (peer_copy != nullptr) return peer_copy(&peers, stream);
  }
  return call.Forward(copy, flags, stream);
}

}  // namespace vramstow::handlers

#endif  // VRAMSTOW_INTERPOSE_CORE_HANDLERS_SHAPED_COPIES_H_
