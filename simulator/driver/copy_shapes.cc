// Implements copies of two and three dimensions.
#include "simulator/driver/copy_shapes.h"

#include "simulator/driver/array.h"
#include "simulator/driver/context.h"

namespace vramstow::simulator {
namespace {

struct ShapeSide {
  CUmemorytype type;
  const void* host;
  CUdeviceptr device;
  CUarray array;
  size_t x_bytes, y, z;
  size_t pitch, height;
};

// Computes where one side's box begins, and its pitches. Returns false if the side is not valid. As
// documented, rows and slices must not lie upon each other.
bool ReadSide(const ShapeSide& side, const CUDA_MEMCPY3D& shape, CopySide* out) {
  uint64_t base = 0;
  const uint64_t row_end = AddSizes(side.x_bytes, shape.WidthInBytes);
  const uint64_t last_row = AddSizes(side.y, shape.Height);
  uint64_t pitch = side.pitch != 0 ? side.pitch : row_end;
  uint64_t height = side.height != 0 ? side.height : last_row;
  switch (side.type) {
    case CU_MEMORYTYPE_HOST:
      base = reinterpret_cast<uintptr_t>(side.host);
      break;
    case CU_MEMORYTYPE_DEVICE:
    case CU_MEMORYTYPE_UNIFIED:
      base = side.device;
      break;
    case CU_MEMORYTYPE_ARRAY: {
      const Array* array = FindArray(side.array);
      if (array == nullptr) return false;
      base = array->address;
      pitch = array->pitch;
      height = array->height;
      break;
    }
    default:
      return false;
  }
  if (base == 0 || (shape.Height > 1 && pitch < row_end)) return false;
  if (shape.Depth > 1 && (pitch < row_end || height < last_row)) return false;
  out->pitch = pitch;
  out->slice = MultiplySizes(pitch, height);
  const uint64_t offset = AddSizes(MultiplySizes(side.z, out->slice), MultiplySizes(side.y, pitch));
  out->address = AddSizes(base, AddSizes(offset, side.x_bytes));
  return true;
}

}  // namespace

bool ReadShape(const CUDA_MEMCPY3D& shape, CopyBox* box) {
  box->width = shape.WidthInBytes;
  box->height = shape.Height;
  box->depth = shape.Depth;
  const ShapeSide from = {shape.srcMemoryType, shape.srcHost,     shape.srcDevice,
                          shape.srcArray,      shape.srcXInBytes, shape.srcY,
                          shape.srcZ,          shape.srcPitch,    shape.srcHeight};
  const ShapeSide to = {shape.dstMemoryType, shape.dstHost,     shape.dstDevice,
                        shape.dstArray,      shape.dstXInBytes, shape.dstY,
                        shape.dstZ,          shape.dstPitch,    shape.dstHeight};
  return ReadSide(from, shape, &box->from) && ReadSide(to, shape, &box->to);
}

CUDA_MEMCPY3D Widen(const CUDA_MEMCPY2D& flat) {
  CUDA_MEMCPY3D shape = {};
  shape.srcXInBytes = flat.srcXInBytes;
  shape.srcY = flat.srcY;
  shape.srcMemoryType = flat.srcMemoryType;
  shape.srcHost = flat.srcHost;
  shape.srcDevice = flat.srcDevice;
  shape.srcArray = flat.srcArray;
  shape.srcPitch = flat.srcPitch;
  shape.dstXInBytes = flat.dstXInBytes;
  shape.dstY = flat.dstY;
  shape.dstMemoryType = flat.dstMemoryType;
  shape.dstHost = flat.dstHost;
  shape.dstDevice = flat.dstDevice;
  shape.dstArray = flat.dstArray;
  shape.dstPitch = flat.dstPitch;
  shape.WidthInBytes = flat.WidthInBytes;
  shape.Height = flat.Height;
  shape.Depth = 1;
  return shape;
}

}  // namespace vramstow::simulator

using namespace vramstow::simulator;  // NOLINT(google-build-using-namespace): the C ABI is global

namespace {

// The contexts of both sides of a copy. A side that is not device memory needs no context.
struct PeerContexts {
  CUcontext from = nullptr;
  CUcontext to = nullptr;
};

CUresult CopyShape(const char* name, const CUDA_MEMCPY3D& shape, CUstream handle, CopyMode mode,
                   PeerContexts peers = {}) {
  return Serve(name, Needs::kContext, [&](Call& call) {
    Stream* stream = FindStream(call, handle);
    CopyBox box;
    if (stream == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    if (shape.WidthInBytes == 0 || shape.Height == 0 || shape.Depth == 0) return CUDA_SUCCESS;
    if (!ReadShape(shape, &box)) return CUDA_ERROR_INVALID_VALUE;
    const Context* from = FindContext(&call.state(), peers.from);
    const Context* to = FindContext(&call.state(), peers.to);
    if (from != nullptr) box.from.device = from->device;
    if (to != nullptr) box.to.device = to->device;
    return SubmitCopy(call, stream, box, mode);
  });
}

CUDA_MEMCPY3D WithoutContexts(const CUDA_MEMCPY3D_PEER& peer) {
  CUDA_MEMCPY3D shape = {};
  shape.srcXInBytes = peer.srcXInBytes;
  shape.srcY = peer.srcY;
  shape.srcZ = peer.srcZ;
  shape.srcMemoryType = peer.srcMemoryType;
  shape.srcHost = peer.srcHost;
  shape.srcDevice = peer.srcDevice;
  shape.srcArray = peer.srcArray;
  shape.srcPitch = peer.srcPitch;
  shape.srcHeight = peer.srcHeight;
  shape.dstXInBytes = peer.dstXInBytes;
  shape.dstY = peer.dstY;
  shape.dstZ = peer.dstZ;
  shape.dstMemoryType = peer.dstMemoryType;
  shape.dstHost = peer.dstHost;
  shape.dstDevice = peer.dstDevice;
  shape.dstArray = peer.dstArray;
  shape.dstPitch = peer.dstPitch;
  shape.dstHeight = peer.dstHeight;
  shape.WidthInBytes = peer.WidthInBytes;
  shape.Height = peer.Height;
  shape.Depth = peer.Depth;
  return shape;
}

CUresult CopyPeers(const char* name, const CUDA_MEMCPY3D_PEER* peers, CUstream stream,
                   CopyMode mode) {
  if (peers == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return CopyShape(name, WithoutContexts(*peers), stream, mode,
                   {.from = peers->srcContext, .to = peers->dstContext});
}

CUresult CopyFlat(const char* name, const CUDA_MEMCPY2D* flat, CUstream stream, CopyMode mode) {
  if (flat == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return CopyShape(name, Widen(*flat), stream, mode);
}

}  // namespace

extern "C" {

CUresult cuMemcpy2D(const CUDA_MEMCPY2D* shape) {
  return CopyFlat("cuMemcpy2D", shape, nullptr, kNow);
}

CUresult cuMemcpy2DUnaligned(const CUDA_MEMCPY2D* shape) {
  return CopyFlat("cuMemcpy2DUnaligned", shape, nullptr, kNow);
}

CUresult cuMemcpy2DAsync(const CUDA_MEMCPY2D* shape, CUstream stream) {
  return CopyFlat("cuMemcpy2DAsync", shape, stream, kLater);
}

CUresult cuMemcpy3D(const CUDA_MEMCPY3D* shape) {
  if (shape == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return CopyShape("cuMemcpy3D", *shape, nullptr, kNow);
}

CUresult cuMemcpy3DAsync(const CUDA_MEMCPY3D* shape, CUstream stream) {
  if (shape == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return CopyShape("cuMemcpy3DAsync", *shape, stream, kLater);
}

CUresult cuMemcpy3DPeer(const CUDA_MEMCPY3D_PEER* shape) {
  return CopyPeers("cuMemcpy3DPeer", shape, nullptr, kNow);
}

CUresult cuMemcpy3DPeerAsync(const CUDA_MEMCPY3D_PEER* shape, CUstream stream) {
  return CopyPeers("cuMemcpy3DPeerAsync", shape, stream, kLater);
}

}  // extern "C"
