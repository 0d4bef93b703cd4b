// Questions about memory.
//
// See record.h for what all delegates have in common.
#ifndef VRAMSTOW_INTERPOSE_CORE_DELEGATE_QUERIES_H_
#define VRAMSTOW_INTERPOSE_CORE_DELEGATE_QUERIES_H_

#include "interpose/core/delegate/record.h"

namespace vramstow::delegate {

template <typename Call, typename Size>
CUresult MemGetInfo(const Call& call, Size* free_bytes, Size* total_bytes) {
  const CUresult result = call.Forward(free_bytes, total_bytes);
  Event event;
  event.kind = EventKind::kMemoryInfo;
  event.result = result;
  event.device = result == CUDA_SUCCESS ? CurrentDevice() : kNoDevice;
  event.size = Output(result, free_bytes);
  event.requested = Output(result, total_bytes);
  Record(call.entry(), event);
  return result;
}

}  // namespace vramstow::delegate

#endif  // VRAMSTOW_INTERPOSE_CORE_DELEGATE_QUERIES_H_
