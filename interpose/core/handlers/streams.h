// Handlers for streams and their captures. These calls concern no memory, but the pools need to
// know them.
//
// record.h describes what all handlers have in common.
#ifndef VRAMSTOW_INTERPOSE_CORE_HANDLERS_STREAMS_H_
#define VRAMSTOW_INTERPOSE_CORE_HANDLERS_STREAMS_H_

#include "interpose/core/handlers/record.h"

namespace vramstow::handlers {

// Handles the functions that create a stream. In every form of them the first argument receives the
// new stream.
template <typename Call, typename... Arguments>
CUresult StreamCreate(const Call& call, CUstream* stream, Arguments... arguments) {
  const CUresult result = call.Forward(stream, arguments...);
  if (result == CUDA_SUCCESS && stream != nullptr) call.pools().StreamCreated(*stream);
  return result;
}

template <typename Call>
CUresult StreamDestroy(const Call& call, CUstream stream) {
  // The pools are notified first, because after the call the handle is invalid or names another
  // stream.
  if (stream != nullptr) call.pools().StreamDestroyed(stream);
  const CUresult result = call.Forward(stream);
  if (stream != nullptr && result != CUDA_SUCCESS) call.pools().StreamDestroyFailed(stream);
  return result;
}

template <typename Call, typename... Arguments>
CUresult StreamBeginCapture(const Call& call, CUstream stream, Arguments... arguments) {
  const auto name = reinterpret_cast<CUstream>(StreamOf(call.site(), stream));
  call.pools().CaptureBegins(name);
  const CUresult result = call.Forward(stream, arguments...);
  if (result != CUDA_SUCCESS && !IsCapturing(call, stream)) call.pools().CaptureEnded(name);
  return result;
}

// Handles the end of a capture. A capture that became invalid also ends here, with an error.
template <typename Call, typename... Arguments>
CUresult StreamEndCapture(const Call& call, CUstream stream, Arguments... arguments) {
  const CUresult result = call.Forward(stream, arguments...);
  if (result == CUDA_SUCCESS || !IsCapturing(call, stream)) {
    call.pools().CaptureEnded(reinterpret_cast<CUstream>(StreamOf(call.site(), stream)));
  }
  return result;
}

}  // namespace vramstow::handlers

#endif  // VRAMSTOW_INTERPOSE_CORE_HANDLERS_STREAMS_H_
