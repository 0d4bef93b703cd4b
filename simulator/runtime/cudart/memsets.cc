// Implements the functions that fill memory. Compiled twice (see api.h).
#include "simulator/runtime/cudart/runtime.h"

using namespace vramstow::simulator::cudart;  // NOLINT(google-build-using-namespace)

namespace {

// The driver fills rows; slices without gaps between them are treated as more rows.
struct Rows {
  CUdeviceptr address;
  size_t pitch;
  size_t width;
  size_t height;
};

// Calls `fill` for each area of rows, so that all areas together cover `extent` of `pointer`. Uses
// as few areas as possible.
template <typename Fill>
cudaError_t ForSlices(const cudaPitchedPtr& pointer, const cudaExtent& extent, Fill fill) {
  if (extent.width == 0 || extent.height == 0 || extent.depth == 0) {
    return cudaSuccess;
  }
  size_t rows = 0;
  size_t slice_bytes = 0;
  size_t bytes = 0;
  if (__builtin_mul_overflow(extent.height, extent.depth, &rows)) {
    return cudaErrorInvalidValue;
  }
  if (extent.height == pointer.ysize || extent.depth == 1) {
    return FromDriver(fill(Rows{Address(pointer.ptr), pointer.pitch, extent.width, rows}));
  }
  // Slices do not lie upon each other.
  if (pointer.ysize < extent.height ||
      __builtin_mul_overflow(pointer.pitch, pointer.ysize, &slice_bytes) ||
      __builtin_mul_overflow(slice_bytes, extent.depth, &bytes)) {
    return cudaErrorInvalidValue;
  }
  for (size_t z = 0; z < extent.depth; ++z) {
    CUdeviceptr slice = Address(pointer.ptr) + z * slice_bytes;
    CUresult result = fill(Rows{slice, pointer.pitch, extent.width, extent.height});
    if (result != CUDA_SUCCESS) {
      return FromDriver(result);
    }
  }
  return cudaSuccess;
}

unsigned char Byte(int value) { return static_cast<unsigned char>(value); }

}  // namespace

cudaError_t cudaMemset(void* pointer, int value, size_t bytes) {
  return Call([&](const DriverTable& driver) {
    return bytes == 0 ? CUDA_SUCCESS : driver.MemsetD8(Address(pointer), Byte(value), bytes);
  });
}

cudaError_t cudaMemsetAsync(void* pointer, int value, size_t bytes, cudaStream_t stream) {
  return Call([&](const DriverTable& driver) {
    return bytes == 0 ? CUDA_SUCCESS
                      : driver.MemsetD8Async(Address(pointer), Byte(value), bytes, stream);
  });
}

cudaError_t cudaMemset2D(void* pointer, size_t pitch, int value, size_t width, size_t height) {
  return Call([&](const DriverTable& driver) {
    return width == 0 || height == 0
               ? CUDA_SUCCESS
               : driver.MemsetD2D8(Address(pointer), pitch, Byte(value), width, height);
  });
}

cudaError_t cudaMemset2DAsync(void* pointer, size_t pitch, int value, size_t width, size_t height,
                              cudaStream_t stream) {
  return Call([&](const DriverTable& driver) {
    return width == 0 || height == 0 ? CUDA_SUCCESS
                                     : driver.MemsetD2D8Async(Address(pointer), pitch, Byte(value),
                                                              width, height, stream);
  });
}

cudaError_t cudaMemset3D(cudaPitchedPtr pointer, int value, cudaExtent extent) {
  return Call([&](const DriverTable& driver) {
    return ForSlices(pointer, extent, [&](const Rows& rows) {
      return driver.MemsetD2D8(rows.address, rows.pitch, Byte(value), rows.width, rows.height);
    });
  });
}

cudaError_t cudaMemset3DAsync(cudaPitchedPtr pointer, int value, cudaExtent extent,
                              cudaStream_t stream) {
  return Call([&](const DriverTable& driver) {
    return ForSlices(pointer, extent, [&](const Rows& rows) {
      return driver.MemsetD2D8Async(rows.address, rows.pitch, Byte(value), rows.width, rows.height,
                                    stream);
    });
  });
}
