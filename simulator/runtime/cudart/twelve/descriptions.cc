// Implements functions whose structures became larger with CUDA 13. Only the part of a structure
// that CUDA 12 also has is read and filled. Members at the same offset have the same meaning; sizes
// are those of driver_types.h of CUDA 12.8.
#include <cstddef>
#include <cstring>

#include "simulator/runtime/cudart/twelve/abi.h"

namespace {

constexpr size_t kPointerAttributesBytes = 24;
constexpr size_t kResourceBytes = 64;
constexpr size_t kResourceViewBytes = 48;
constexpr size_t kMemoryHandleBytes = 40;
constexpr size_t kMemoryBufferBytes = 24;
constexpr size_t kMemoryArrayBytes = 64;
constexpr size_t kSemaphoreHandleBytes = 32;

// A structure of CUDA 13 made from the first `kBytes`, which are a structure of CUDA 12.
template <size_t kBytes, typename T>
class Widened {
 public:
  explicit Widened(const void* older) : given_(older != nullptr) {
    static_assert(kBytes < sizeof(T));
    if (given_) memcpy(&newer_, older, kBytes);
  }
  const T* get() const { return given_ ? &newer_ : nullptr; }

 private:
  bool given_;
  T newer_ = {};
};

// Calls `ask` with a structure of CUDA 13, and copies the first `kBytes` of the result to the
// caller.
template <size_t kBytes, typename T, typename Ask>
cudaError_t Narrowed(void* older, const Ask& ask) {
  static_assert(kBytes < sizeof(T));
  T newer = {};
  const cudaError_t error = ask(older == nullptr ? nullptr : &newer);
  if (error == cudaSuccess && older != nullptr) memcpy(older, &newer, kBytes);
  return error;
}

}  // namespace

VRAMSTOW_THIRTEEN(cudaPointerGetAttributes, cudaPointerAttributes*, const void*);
VRAMSTOW_THIRTEEN(cudaCreateTextureObject, cudaTextureObject_t*, const cudaResourceDesc*,
                  const cudaTextureDesc*, const cudaResourceViewDesc*);
VRAMSTOW_THIRTEEN(cudaGetTextureObjectResourceDesc, cudaResourceDesc*, cudaTextureObject_t);
VRAMSTOW_THIRTEEN(cudaGetTextureObjectResourceViewDesc, cudaResourceViewDesc*, cudaTextureObject_t);
VRAMSTOW_THIRTEEN(cudaCreateSurfaceObject, cudaSurfaceObject_t*, const cudaResourceDesc*);
VRAMSTOW_THIRTEEN(cudaGetSurfaceObjectResourceDesc, cudaResourceDesc*, cudaSurfaceObject_t);
VRAMSTOW_THIRTEEN(cudaImportExternalMemory, cudaExternalMemory_t*,
                  const cudaExternalMemoryHandleDesc*);
VRAMSTOW_THIRTEEN(cudaExternalMemoryGetMappedBuffer, void**, cudaExternalMemory_t,
                  const cudaExternalMemoryBufferDesc*);
VRAMSTOW_THIRTEEN(cudaExternalMemoryGetMappedMipmappedArray, cudaMipmappedArray_t*,
                  cudaExternalMemory_t, const cudaExternalMemoryMipmappedArrayDesc*);
VRAMSTOW_THIRTEEN(cudaImportExternalSemaphore, cudaExternalSemaphore_t*,
                  const cudaExternalSemaphoreHandleDesc*);

VRAMSTOW_TWELVE(cudaPointerGetAttributes, void* attributes, const void* pointer) {
  return Narrowed<kPointerAttributesBytes, cudaPointerAttributes>(
      attributes, [&](cudaPointerAttributes* newer) {
        return Thirteen_cudaPointerGetAttributes(newer, pointer);
      });
}

VRAMSTOW_TWELVE(cudaCreateTextureObject, cudaTextureObject_t* object, const void* resource,
                const cudaTextureDesc* texture, const void* view) {
  const Widened<kResourceBytes, cudaResourceDesc> newer_resource(resource);
  const Widened<kResourceViewBytes, cudaResourceViewDesc> newer_view(view);
  return Thirteen_cudaCreateTextureObject(object, newer_resource.get(), texture, newer_view.get());
}

VRAMSTOW_TWELVE(cudaGetTextureObjectResourceDesc, void* resource, cudaTextureObject_t object) {
  return Narrowed<kResourceBytes, cudaResourceDesc>(resource, [&](cudaResourceDesc* newer) {
    return Thirteen_cudaGetTextureObjectResourceDesc(newer, object);
  });
}

VRAMSTOW_TWELVE(cudaGetTextureObjectResourceViewDesc, void* view, cudaTextureObject_t object) {
  return Narrowed<kResourceViewBytes, cudaResourceViewDesc>(view, [&](cudaResourceViewDesc* newer) {
    return Thirteen_cudaGetTextureObjectResourceViewDesc(newer, object);
  });
}

VRAMSTOW_TWELVE(cudaCreateSurfaceObject, cudaSurfaceObject_t* object, const void* resource) {
  const Widened<kResourceBytes, cudaResourceDesc> newer(resource);
  return Thirteen_cudaCreateSurfaceObject(object, newer.get());
}

VRAMSTOW_TWELVE(cudaGetSurfaceObjectResourceDesc, void* resource, cudaSurfaceObject_t object) {
  return Narrowed<kResourceBytes, cudaResourceDesc>(resource, [&](cudaResourceDesc* newer) {
    return Thirteen_cudaGetSurfaceObjectResourceDesc(newer, object);
  });
}

VRAMSTOW_TWELVE(cudaImportExternalMemory, cudaExternalMemory_t* memory, const void* handle) {
  const Widened<kMemoryHandleBytes, cudaExternalMemoryHandleDesc> newer(handle);
  return Thirteen_cudaImportExternalMemory(memory, newer.get());
}

VRAMSTOW_TWELVE(cudaExternalMemoryGetMappedBuffer, void** pointer, cudaExternalMemory_t memory,
                const void* buffer) {
  const Widened<kMemoryBufferBytes, cudaExternalMemoryBufferDesc> newer(buffer);
  return Thirteen_cudaExternalMemoryGetMappedBuffer(pointer, memory, newer.get());
}

VRAMSTOW_TWELVE(cudaExternalMemoryGetMappedMipmappedArray, cudaMipmappedArray_t* array,
                cudaExternalMemory_t memory, const void* description) {
  const Widened<kMemoryArrayBytes, cudaExternalMemoryMipmappedArrayDesc> newer(description);
  return Thirteen_cudaExternalMemoryGetMappedMipmappedArray(array, memory, newer.get());
}

VRAMSTOW_TWELVE(cudaImportExternalSemaphore, cudaExternalSemaphore_t* semaphore,
                const void* handle) {
  const Widened<kSemaphoreHandleBytes, cudaExternalSemaphoreHandleDesc> newer(handle);
  return Thirteen_cudaImportExternalSemaphore(semaphore, newer.get());
}
