// Sharing shares memory between processes and devices.
//
// Idea: blocks of the pool are shared by handles that the hooked cudaIpcGetMemHandle returns; such
// a handle begins with the text "vramstow". All other memory is shared by PyTorch's own allocator.
//
// Ownership: an opened block is closed with its last user. Threads: any. Errors: PyTorch's
// exceptions. Units: bytes.
#ifndef VRAMSTOW_ADAPTERS_TORCH_SHARING_H_
#define VRAMSTOW_ADAPTERS_TORCH_SHARING_H_

#include <memory>
#include <string>
#include <unordered_map>

#include "adapters/torch/native.h"
#include "adapters/torch/torch_api.h"
#include "base/mutex.h"

namespace vramstow::torch_adapter {

class Sharing {
 public:
  Sharing(const vramstow_framework* table, Native native) : table_(table), native_(native) {}

  ShareableHandle Export(void* data);
  // Opens a block. A process opens each block only once.
  std::shared_ptr<void> Open(std::string handle);
  void EnablePeerAccess(DeviceIndex device, DeviceIndex peer);
  cudaError_t Copy(void* to, int to_device, const void* from, int from_device, size_t count,
                   cudaStream_t stream, bool peer_access);

 private:
  void Close(const std::string& handle, DeviceIndex device, void* address);

  const vramstow_framework* const table_;
  const Native native_;
  Mutex mutex_;  // the driver is called while it is held
  std::unordered_map<std::string, std::weak_ptr<void>> opened_ VRAMSTOW_GUARDED_BY(mutex_);
};

}  // namespace vramstow::torch_adapter

#endif  // VRAMSTOW_ADAPTERS_TORCH_SHARING_H_
