// The runtime's descriptions of multi-dimensional copies, turned into the driver's.
//
// The runtime measures arrays in elements and linear memory in bytes; the driver measures all in
// bytes. Sizes and pitches are in bytes unless said otherwise.
//
// Ownership: values. Threads: pure functions. Errors: cudaError_t.
#ifndef VRAMSTOW_SIMULATOR_RUNTIME_CUDART_COPY_SHAPES_H_
#define VRAMSTOW_SIMULATOR_RUNTIME_CUDART_COPY_SHAPES_H_

#include "simulator/runtime/cudart/runtime.h"

namespace vramstow::simulator::cudart {

// True if `kind` is one of the five directions.
bool IsDirection(cudaMemcpyKind kind);

// One side of a copy: linear memory, or an array from position (x bytes, y) on.
struct Side {
  const void* pointer = nullptr;
  size_t pitch = 0;
  CUarray array = nullptr;
  size_t x = 0;
  size_t y = 0;
};

// What a copy of `width` bytes by `height` rows is to the driver.
cudaError_t Make2D(const Side& destination, const Side& source, size_t width, size_t height,
                   cudaMemcpyKind kind, CUDA_MEMCPY2D* copy);

cudaError_t Make3D(const cudaMemcpy3DParms& parameters, CUDA_MEMCPY3D* copy);
// The reverse, for graph nodes that are asked what they copy.
void Unmake3D(const CUDA_MEMCPY3D& copy, cudaMemcpy3DParms* parameters);

// A copy of `bytes` bytes in a row.
cudaError_t Make1D(void* destination, const void* source, size_t bytes, cudaMemcpyKind kind,
                   CUDA_MEMCPY3D* copy);

// The same between other memory and a place `offset` bytes into a registered variable.
cudaError_t CopyToSymbol(const void* symbol, const void* source, size_t bytes, size_t offset,
                         cudaMemcpyKind kind, CUDA_MEMCPY3D* copy);
cudaError_t CopyFromSymbol(void* destination, const void* symbol, size_t bytes, size_t offset,
                           cudaMemcpyKind kind, CUDA_MEMCPY3D* copy);

// Needs the devices' primary contexts, and retains them.
cudaError_t MakePeer3D(const cudaMemcpy3DPeerParms& parameters, CUDA_MEMCPY3D_PEER* copy);

// The size of an array's element in bytes.
cudaError_t ElementSize(CUarray array, size_t* bytes);

}  // namespace vramstow::simulator::cudart

#endif  // VRAMSTOW_SIMULATOR_RUNTIME_CUDART_COPY_SHAPES_H_
