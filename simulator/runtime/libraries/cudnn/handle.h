// The state behind a cudnnHandle_t, and how its work is queued.
//
// Modelled: a handle owns no device memory. cuDNN 9 documents that its kernels come with
// sub-libraries which load at first use; what they occupy is part of the device's module model, not
// of this room.
//
// Ownership: cudnnCreate allocates, cudnnDestroy frees. Threads: one handle, one thread at a time.
// Errors: cuDNN's status codes. Units: bytes.
#ifndef VRAMSTOW_SIMULATOR_RUNTIME_LIBRARIES_CUDNN_HANDLE_H_
#define VRAMSTOW_SIMULATOR_RUNTIME_LIBRARIES_CUDNN_HANDLE_H_

#include <cuda.h>

#include <cstdint>
#include <initializer_list>

#include "simulator/runtime/libraries/common/device.h"
#include "simulator/runtime/libraries/cudnn/cudnn.h"

namespace vramstow::simulator {

inline constexpr uint64_t kCudnnMagic = 0x76737464'6e6e4844;

}  // namespace vramstow::simulator

struct cudnnContext {
  uint64_t magic = 0;
  CUstream stream = nullptr;
  CUdeviceptr state = 0;  // of as many bytes as cuDNN 9.19 had on an H100 (docs/card.md)
};

namespace vramstow::simulator {

bool IsHandle(cudnnHandle_t handle);

// What a failed driver call means to a cuDNN caller.
cudnnStatus_t StatusOf(CUresult result);

// Keeps `sentence` for cudnnGetLastErrorString of this thread and gives `status` back.
cudnnStatus_t Fail(cudnnStatus_t status, const char* sentence);

// Queues kernel `name` on the handle's stream; null addresses among `words` are no error here.
cudnnStatus_t Launch(cudnnHandle_t handle, const char* name, const WorkSize& size,
                     std::initializer_list<uint64_t> words);

// An address as an argument word.
inline uint64_t Word(const void* address) { return reinterpret_cast<uint64_t>(address); }

}  // namespace vramstow::simulator

#endif  // VRAMSTOW_SIMULATOR_RUNTIME_LIBRARIES_CUDNN_HANDLE_H_
