// Converts the runtime's descriptions of multi-dimensional copies to the driver's.
//
// The runtime measures arrays in elements and linear memory in bytes; the driver measures both in
// bytes. Sizes and pitches are in bytes unless documented otherwise.
//
// Ownership: values. Threads: pure functions. Errors: returns a cudaError_t.
#ifndef VRAMSTOW_SIMULATOR_RUNTIME_CUDART_COPY_SHAPES_H_
#define VRAMSTOW_SIMULATOR_RUNTIME_CUDART_COPY_SHAPES_H_

#include "simulator/runtime/cudart/runtime.h"

namespace vramstow::simulator::cudart {

// True if `kind` is one of the five directions.
bool IsDirection(cudaMemcpyKind kind);

// One side of a copy. It is either linear memory, or an array in which the copy begins at byte x of
// row y.
struct Side {
  const void* pointer = nullptr;
  size_t pitch = 0;
  CUarray array = nullptr;
  size_t x = 0;
  size_t y = 0;
};

// Describes a copy of `height` rows of `width` bytes for the driver.
cudaError_t Make2D(const Side& destination, const Side& source, size_t width, size_t height,
                   cudaMemcpyKind kind, CUDA_MEMCPY2D* copy);

cudaError_t Make3D(const cudaMemcpy3DParms& parameters, CUDA_MEMCPY3D* copy);
// Converts a copy back to the runtime's description, for queries of graph nodes.
void Unmake3D(const CUDA_MEMCPY3D& copy, cudaMemcpy3DParms* parameters);

// Describes a copy of `bytes` consecutive bytes.
cudaError_t Make1D(void* destination, const void* source, size_t bytes, cudaMemcpyKind kind,
                   CUDA_MEMCPY3D* copy);

// Describes a copy from other memory to a registered variable, `offset` bytes after its beginning.
cudaError_t CopyToSymbol(const void* symbol, const void* source, size_t bytes, size_t offset,
                         cudaMemcpyKind kind, CUDA_MEMCPY3D* copy);
cudaError_t CopyFromSymbol(void* destination, const void* symbol, size_t bytes, size_t offset,
                           cudaMemcpyKind kind, CUDA_MEMCPY3D* copy);

// Describes a copy between devices for the driver. Retains the primary contexts of both devices,
// because the description contains them.
cudaError_t MakePeer3D(const cudaMemcpy3DPeerParms& parameters, CUDA_MEMCPY3D_PEER* copy);

// Returns the size of an array's element in bytes.
cudaError_t ElementSize(CUarray array, size_t* bytes);

}  // namespace vramstow::simulator::cudart

#endif  // VRAMSTOW_SIMULATOR_RUNTIME_CUDART_COPY_SHAPES_H_
