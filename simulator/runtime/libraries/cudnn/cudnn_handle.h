// The state behind a cudnnHandle_t, and the functions that queue its work.
//
// Modelled: a handle owns no device memory. cuDNN 9 documents that its kernels are in sub-libraries
// which are loaded at their first use. The device memory that the code of these kernels would
// occupy is not modelled.
//
// Ownership: cudnnCreate allocates, cudnnDestroy frees. Threads: one handle is used by one thread
// at a time. Errors: cuDNN's status codes. Units: bytes.
#ifndef VRAMSTOW_SIMULATOR_RUNTIME_LIBRARIES_CUDNN_CUDNN_HANDLE_H_
#define VRAMSTOW_SIMULATOR_RUNTIME_LIBRARIES_CUDNN_CUDNN_HANDLE_H_

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
  CUdeviceptr state = 0;  // as large as cuDNN 9.19's state on an H100 (docs/card.md)
};

namespace vramstow::simulator {

bool IsHandle(cudnnHandle_t handle);

// Converts the result of a driver call to cuDNN's status.
cudnnStatus_t StatusOf(CUresult result);

// Stores `sentence` for this thread's cudnnGetLastErrorString and returns `status`.
cudnnStatus_t Fail(cudnnStatus_t status, const char* sentence);

// Queues kernel `name` on the handle's stream; null addresses among `words` are not an error.
cudnnStatus_t Launch(cudnnHandle_t handle, const char* name, const WorkSize& size,
                     std::initializer_list<uint64_t> words);

// Returns an address as an argument word.
inline uint64_t Word(const void* address) { return reinterpret_cast<uint64_t>(address); }

}  // namespace vramstow::simulator

#endif  // VRAMSTOW_SIMULATOR_RUNTIME_LIBRARIES_CUDNN_CUDNN_HANDLE_H_
