// Implements access of one device to another's memory.
#include <cuda.h>

#include "simulator/driver/context.h"

using namespace vramstow::simulator;  // NOLINT(google-build-using-namespace): the C ABI is global

namespace {

bool CanReach(Call& call, CUdevice device, CUdevice peer) {
  return device != peer && call.machine().card().nvlink &&
         (call.machine().spec().without & kPeer) == 0;
}

}  // namespace

extern "C" {

CUresult cuDeviceCanAccessPeer(int* can, CUdevice device, CUdevice peer) {
  return Serve("cuDeviceCanAccessPeer", Needs::kInit, [&](Call& call) {
    if (can == nullptr) return CUDA_ERROR_INVALID_VALUE;
    if (!IsDevice(call, device) || !IsDevice(call, peer)) return CUDA_ERROR_INVALID_DEVICE;
    *can = CanReach(call, device, peer);
    return CUDA_SUCCESS;
  });
}

CUresult cuDeviceGetP2PAttribute(int* value, CUdevice_P2PAttribute attribute, CUdevice device,
                                 CUdevice peer) {
  return Serve("cuDeviceGetP2PAttribute", Needs::kInit, [&](Call& call) {
    if (value == nullptr) return CUDA_ERROR_INVALID_VALUE;
    if (!IsDevice(call, device) || !IsDevice(call, peer) || device == peer) {
      return CUDA_ERROR_INVALID_DEVICE;
    }
    const bool reach = CanReach(call, device, peer);
    switch (static_cast<int>(attribute)) {
      case CU_DEVICE_P2P_ATTRIBUTE_PERFORMANCE_RANK:
        *value = 0;
        break;
      case CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED:
      case CU_DEVICE_P2P_ATTRIBUTE_NATIVE_ATOMIC_SUPPORTED:
      case CU_DEVICE_P2P_ATTRIBUTE_CUDA_ARRAY_ACCESS_SUPPORTED:
        *value = reach;
        break;
      default:
        return CUDA_ERROR_INVALID_VALUE;
    }
    return CUDA_SUCCESS;
  });
}

CUresult cuCtxEnablePeerAccess(CUcontext handle, unsigned int flags) {
  return Serve("cuCtxEnablePeerAccess", Needs::kContext, [&](Call& call) {
    if (flags != 0) return CUDA_ERROR_INVALID_VALUE;
    Context* peer = FindContext(&call.state(), handle);
    if (peer == nullptr || peer == call.context()) return CUDA_ERROR_INVALID_CONTEXT;
    if (!CanReach(call, call.device(), peer->device)) return CUDA_ERROR_PEER_ACCESS_UNSUPPORTED;
    return call.context()->peers.insert(peer).second ? CUDA_SUCCESS
                                                     : CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED;
  });
}

CUresult cuCtxDisablePeerAccess(CUcontext handle) {
  return Serve("cuCtxDisablePeerAccess", Needs::kContext, [&](Call& call) {
    Context* peer = FindContext(&call.state(), handle);
    if (peer == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
    return call.context()->peers.erase(peer) > 0 ? CUDA_SUCCESS
                                                 : CUDA_ERROR_PEER_ACCESS_NOT_ENABLED;
  });
}

}  // extern "C"
