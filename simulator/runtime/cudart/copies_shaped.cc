// Implements copies in two and three dimensions, and to and from arrays. Compiled twice (see
// api.h).
#include <optional>

#include "simulator/runtime/cudart/copy_shapes.h"
#include "simulator/runtime/cudart/runtime.h"

using namespace vramstow::simulator::cudart;  // NOLINT(google-build-using-namespace)

namespace {

CUarray DriverArray(cudaArray_const_t array) {
  return reinterpret_cast<CUarray>(const_cast<cudaArray*>(array));
}

// Returns linear memory as one side of a copy.
Side Linear(const void* pointer, size_t pitch) { return {pointer, pitch, nullptr, 0, 0}; }

// Returns an array as one side of a copy. The copy begins at byte `x` of row `y` of the array.
Side InArray(cudaArray_const_t array, size_t x, size_t y) {
  return {nullptr, 0, DriverArray(array), x, y};
}

// Without a stream, the copy is synchronous.
using Stream = std::optional<cudaStream_t>;

// The driver's aligned copies require larger pitches than the runtime does. So the unaligned form
// of the driver's function is called for a synchronous copy.
cudaError_t Copy2D(const DriverTable& driver, const Side& destination, const Side& source,
                   size_t width, size_t height, cudaMemcpyKind kind, Stream stream) {
  CUDA_MEMCPY2D copy;
  cudaError_t error = Make2D(destination, source, width, height, kind, &copy);
  if (error != cudaSuccess || width == 0 || height == 0) {
    return error;
  }
  return FromDriver(stream ? driver.Memcpy2DAsync(&copy, *stream)
                           : driver.Memcpy2DUnaligned(&copy));
}

cudaError_t Copy3D(const DriverTable& driver, const cudaMemcpy3DParms* parameters, Stream stream) {
  CUDA_MEMCPY3D copy;
  cudaError_t error = parameters == nullptr ? cudaErrorInvalidValue : Make3D(*parameters, &copy);
  if (error != cudaSuccess) return error;
  return FromDriver(stream ? driver.Memcpy3DAsync(&copy, *stream) : driver.Memcpy3D(&copy));
}

cudaError_t Copy3D(const DriverTable& driver, const cudaMemcpy3DPeerParms* parameters,
                   Stream stream) {
  CUDA_MEMCPY3D_PEER copy;
  cudaError_t error =
      parameters == nullptr ? cudaErrorInvalidValue : MakePeer3D(*parameters, &copy);
  if (error != cudaSuccess) return error;
  return FromDriver(stream ? driver.Memcpy3DPeerAsync(&copy, *stream) : driver.Memcpy3DPeer(&copy));
}

// Copies consecutive bytes between linear memory and the rows of an array: the rest of the first
// row, whole rows, and a part of the last row. `copy(linear_offset, x, y, width, height)` copies
// one of these parts.
template <typename Copy>
cudaError_t InRows(cudaArray_const_t array, size_t x, size_t y, size_t bytes, Copy copy) {
  CUDA_ARRAY3D_DESCRIPTOR description = {};
  size_t element = 0;
  if (cudaError_t error = ElementSize(DriverArray(array), &element); error != cudaSuccess) {
    return error;
  }
  CUresult result = Driver().Array3DGetDescriptor(&description, DriverArray(array));
  if (result != CUDA_SUCCESS) {
    return FromDriver(result);
  }
  const size_t row = description.Width * element;
  const size_t rows = description.Height == 0 ? 1 : description.Height;
  if (x >= row || y >= rows || bytes > (rows - y) * row - x) {
    return bytes == 0 ? cudaSuccess : cudaErrorInvalidValue;
  }
  size_t done = 0;
  while (done < bytes) {
    size_t left = bytes - done;
    bool whole = x == 0 && left >= row;
    size_t width = whole ? row : (left < row - x ? left : row - x);
    size_t height = whole ? left / row : 1;
    if (cudaError_t error = copy(done, x, y, width, height, row); error != cudaSuccess) {
      return error;
    }
    done += width * height;
    y += height;
    x = 0;
  }
  return cudaSuccess;
}

cudaError_t CopyToArray(const DriverTable& driver, cudaArray_t destination, size_t x, size_t y,
                        const void* source, size_t bytes, cudaMemcpyKind kind, Stream stream) {
  return InRows(
      destination, x, y, bytes,
      [&](size_t offset, size_t to_x, size_t to_y, size_t width, size_t height, size_t pitch) {
        return Copy2D(driver, InArray(destination, to_x, to_y),
                      Linear(static_cast<const char*>(source) + offset, pitch), width, height, kind,
                      stream);
      });
}

cudaError_t CopyFromArray(const DriverTable& driver, void* destination, cudaArray_const_t source,
                          size_t x, size_t y, size_t bytes, cudaMemcpyKind kind, Stream stream) {
  return InRows(
      source, x, y, bytes,
      [&](size_t offset, size_t from_x, size_t from_y, size_t width, size_t height, size_t pitch) {
        return Copy2D(driver, Linear(static_cast<char*>(destination) + offset, pitch),
                      InArray(source, from_x, from_y), width, height, kind, stream);
      });
}

}  // namespace

// Defines a synchronous copy and its asynchronous form, which has a stream.
#define VRAMSTOW_UNPACKED(...) __VA_ARGS__
#define VRAMSTOW_COPY(name, parameters, ...)                                   \
  cudaError_t name(VRAMSTOW_UNPACKED parameters) {                             \
    constexpr Stream kStream;                                                  \
    return Call([&](const DriverTable& driver) { return __VA_ARGS__; });       \
  }                                                                            \
  cudaError_t name##Async(VRAMSTOW_UNPACKED parameters, cudaStream_t stream) { \
    const Stream kStream = stream;                                             \
    return Call([&](const DriverTable& driver) { return __VA_ARGS__; });       \
  }

VRAMSTOW_COPY(cudaMemcpy2D,
              (void* destination, size_t destination_pitch, const void* source, size_t source_pitch,
               size_t width, size_t height, cudaMemcpyKind kind),
              Copy2D(driver, Linear(destination, destination_pitch), Linear(source, source_pitch),
                     width, height, kind, kStream))
VRAMSTOW_COPY(cudaMemcpy2DToArray,
              (cudaArray_t destination, size_t x, size_t y, const void* source, size_t source_pitch,
               size_t width, size_t height, cudaMemcpyKind kind),
              Copy2D(driver, InArray(destination, x, y), Linear(source, source_pitch), width,
                     height, kind, kStream))
VRAMSTOW_COPY(cudaMemcpy2DFromArray,
              (void* destination, size_t destination_pitch, cudaArray_const_t source, size_t x,
               size_t y, size_t width, size_t height, cudaMemcpyKind kind),
              Copy2D(driver, Linear(destination, destination_pitch), InArray(source, x, y), width,
                     height, kind, kStream))
VRAMSTOW_COPY(cudaMemcpyToArray,
              (cudaArray_t destination, size_t x, size_t y, const void* source, size_t bytes,
               cudaMemcpyKind kind),
              CopyToArray(driver, destination, x, y, source, bytes, kind, kStream))
VRAMSTOW_COPY(cudaMemcpyFromArray,
              (void* destination, cudaArray_const_t source, size_t x, size_t y, size_t bytes,
               cudaMemcpyKind kind),
              CopyFromArray(driver, destination, source, x, y, bytes, kind, kStream))
VRAMSTOW_COPY(cudaMemcpy3D, (const cudaMemcpy3DParms* parameters),
              Copy3D(driver, parameters, kStream))
VRAMSTOW_COPY(cudaMemcpy3DPeer, (const cudaMemcpy3DPeerParms* parameters),
              Copy3D(driver, parameters, kStream))

#undef VRAMSTOW_COPY
#undef VRAMSTOW_UNPACKED

cudaError_t cudaMemcpy2DArrayToArray(cudaArray_t destination, size_t destination_x,
                                     size_t destination_y, cudaArray_const_t source,
                                     size_t source_x, size_t source_y, size_t width, size_t height,
                                     cudaMemcpyKind kind) {
  return Call([&](const DriverTable& driver) {
    return Copy2D(driver, InArray(destination, destination_x, destination_y),
                  InArray(source, source_x, source_y), width, height, kind, {});
  });
}

cudaError_t cudaMemcpyArrayToArray(cudaArray_t destination, size_t destination_x,
                                   size_t destination_y, cudaArray_const_t source, size_t source_x,
                                   size_t source_y, size_t bytes, cudaMemcpyKind) {
  return Call([&](const DriverTable& driver) {
    // The driver's copy between arrays takes byte offsets. An offset can only begin in the first
    // row of a one-dimensional array.
    return destination_y != 0 || source_y != 0
               ? cudaErrorNotSupported
               : FromDriver(driver.MemcpyAtoA(DriverArray(destination), destination_x,
                                              DriverArray(source), source_x, bytes));
  });
}
