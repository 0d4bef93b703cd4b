#include "adapters/torch/sharing.h"

#include <cstring>
#include <utility>

namespace vramstow::torch_adapter {
namespace {

// Handles made by this adapter begin with this text; PyTorch's handles begin with a small number.
constexpr char kMark[] = "vramstow";
constexpr size_t kMarkSize = sizeof kMark - 1;

}  // namespace

ShareableHandle Sharing::Export(void* data) {
  vramstow_framework_block block;
  const int result = table_->find(reinterpret_cast<uint64_t>(data), &block);
  if (result == VRAMSTOW_NOT_OURS) return native_.ShareIpcHandle(data);
  TORCH_CHECK(result == VRAMSTOW_OK, "invalid device pointer: ", data);
  cudaIpcMemHandle_t handle;
  C10_CUDA_CHECK(cudaIpcGetMemHandle(&handle, reinterpret_cast<void*>(block.address)));
  std::string text(kMark, kMarkSize);
  text.append(reinterpret_cast<const char*>(&handle), sizeof handle);
  const auto offset = reinterpret_cast<uint64_t>(data) - block.address;
  return {static_cast<ptrdiff_t>(offset), std::move(text)};
}

std::shared_ptr<void> Sharing::Open(std::string text) {
  if (!text.starts_with(kMark) || text.size() != kMarkSize + sizeof(cudaIpcMemHandle_t)) {
    return native_->getIpcDevPtr(std::move(text));
  }
  const MutexLock lock(&mutex_);
  if (auto known = opened_[text].lock()) return known;
  cudaIpcMemHandle_t handle;
  std::memcpy(&handle, text.data() + kMarkSize, sizeof handle);
  DeviceIndex device = 0;
  C10_CUDA_CHECK(c10::cuda::GetDevice(&device));
  void* data = nullptr;
  C10_CUDA_CHECK(cudaIpcOpenMemHandle(&data, handle, cudaIpcMemLazyEnablePeerAccess));
  std::shared_ptr<void> opened(
      data, [this, text, device](void* address) { Close(text, device, address); });
  opened_[text] = opened;
  return opened;
}

void Sharing::Close(const std::string& handle, DeviceIndex device, void* address) {
  const c10::cuda::CUDAGuard guard(device);
  const MutexLock lock(&mutex_);
  C10_CUDA_CHECK_WARN(cudaDeviceSynchronize());
  C10_CUDA_CHECK_WARN(cudaIpcCloseMemHandle(address));
  // The entry is removed only if it is expired, because another thread may have opened the block
  // again meanwhile.
  const auto known = opened_.find(handle);
  if (known != opened_.end() && known->second.expired()) opened_.erase(known);
}

void Sharing::EnablePeerAccess(DeviceIndex device, DeviceIndex peer) {
  const c10::cuda::CUDAGuard guard(device);
  const cudaError_t error = cudaDeviceEnablePeerAccess(peer, 0);
  if (error == cudaErrorPeerAccessAlreadyEnabled) {
    (void)cudaGetLastError();
    return;
  }
  C10_CUDA_CHECK(error);
}

// Without peer access cudaMemcpyAsync cannot copy mapped memory between devices.
cudaError_t Sharing::Copy(void* to, int to_device, const void* from, int from_device, size_t count,
                          cudaStream_t stream, bool peer_access) {
  if (peer_access || to_device == from_device) {
    return cudaMemcpyAsync(to, from, count, cudaMemcpyDeviceToDevice, stream);
  }
  return cudaMemcpyPeerAsync(to, to_device, from, from_device, count, stream);
}

}  // namespace vramstow::torch_adapter
