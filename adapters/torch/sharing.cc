// Memory between processes and devices.
#include <cstring>

#include "adapters/torch/adapter.h"

namespace vramstow::torch_adapter {
namespace {

// Handles of ours begin with this; PyTorch's with a small number.
constexpr char kMark[] = "vramstow";
constexpr size_t kMarkSize = sizeof kMark - 1;

}  // namespace

caching::ShareableHandle Adapter::shareIpcHandle(void* data) {
  vramstow_framework_block block;
  const int result = table_->find(reinterpret_cast<uint64_t>(data), &block);
  if (result == VRAMSTOW_NOT_OURS) return native_->shareIpcHandle(data);
  TORCH_CHECK(result == VRAMSTOW_OK, "invalid device pointer: ", data);
  cudaIpcMemHandle_t handle;
  C10_CUDA_CHECK(cudaIpcGetMemHandle(&handle, reinterpret_cast<void*>(block.address)));
  std::string text(kMark, kMarkSize);
  text.append(reinterpret_cast<const char*>(&handle), sizeof handle);
  const auto offset = reinterpret_cast<uint64_t>(data) - block.address;
  return {static_cast<ptrdiff_t>(offset), std::move(text)};
}

// Opened once in a process, and closed with its last user.
std::shared_ptr<void> Adapter::getIpcDevPtr(std::string text) {
  if (!text.starts_with(kMark) || text.size() != kMarkSize + sizeof(cudaIpcMemHandle_t)) {
    return native_->getIpcDevPtr(std::move(text));
  }
  const std::lock_guard<std::mutex> lock(shared_mutex_);
  if (auto known = shared_[text].lock()) return known;
  cudaIpcMemHandle_t handle;
  std::memcpy(&handle, text.data() + kMarkSize, sizeof handle);
  DeviceIndex device = 0;
  C10_CUDA_CHECK(c10::cuda::GetDevice(&device));
  void* data = nullptr;
  C10_CUDA_CHECK(cudaIpcOpenMemHandle(&data, handle, cudaIpcMemLazyEnablePeerAccess));
  std::shared_ptr<void> opened(data, [this, text, device](void* address) {
    const c10::cuda::CUDAGuard guard(device);
    const std::lock_guard<std::mutex> closing(shared_mutex_);
    C10_CUDA_CHECK_WARN(cudaDeviceSynchronize());
    C10_CUDA_CHECK_WARN(cudaIpcCloseMemHandle(address));
    const auto known = shared_.find(text);
    if (known != shared_.end() && known->second.expired()) shared_.erase(known);
  });
  shared_[text] = opened;
  return opened;
}

void Adapter::enablePeerAccess(DeviceIndex device, DeviceIndex peer) {
  const c10::cuda::CUDAGuard guard(device);
  const cudaError_t error = cudaDeviceEnablePeerAccess(peer, 0);
  if (error == cudaErrorPeerAccessAlreadyEnabled) {
    (void)cudaGetLastError();
    return;
  }
  C10_CUDA_CHECK(error);
}

// Mapped memory cannot be copied between devices by cudaMemcpyAsync without peer access.
cudaError_t Adapter::memcpyAsync(void* to, int to_device, const void* from, int from_device,
                                 size_t count, cudaStream_t stream, bool peer_access) {
  if (peer_access || to_device == from_device) {
    return cudaMemcpyAsync(to, from, count, cudaMemcpyDeviceToDevice, stream);
  }
  return cudaMemcpyPeerAsync(to, to_device, from, from_device, count, stream);
}

}  // namespace vramstow::torch_adapter
