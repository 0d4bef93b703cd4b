#include "interpose/core/pooling/kernel_arguments.h"

#include "interpose/core/core.h"

namespace vramstow {

// False: the driver does not tell, or there are too many of them.
bool KernelArguments::Ask(CUfunction function, Layout* layout) {
  auto* of_function = TheCore().driver.cuFuncGetParamInfo();
  auto* of_kernel = TheCore().driver.cuKernelGetParamInfo();
  size_t offset = 0;
  size_t size = 0;
  layout->count = 0;
  if (of_function == nullptr) return false;
  const auto ask = [&](bool plain, size_t i) {
    return plain ? of_function(function, i, &offset, &size)
                 : of_kernel(reinterpret_cast<CUkernel>(function), i, &offset, &size);
  };
  bool plain = true;
  for (size_t i = 0; i <= UINT8_MAX; ++i) {
    CUresult result = ask(plain, i);
    // It may be a CUkernel, which launches take as well.
    if (result != CUDA_SUCCESS && i == 0 && of_kernel != nullptr) {
      plain = false;
      result = ask(plain, i);
    }
    if (result != CUDA_SUCCESS) return true;  // that was the last one
    if (size < sizeof(CUdeviceptr)) continue;
    if (layout->count == kMost || size > UINT16_MAX) return false;
    layout->indexes[layout->count] = static_cast<uint8_t>(i);
    layout->sizes[layout->count++] = static_cast<uint16_t>(size);
  }
  return false;
}

const KernelArguments::Layout* KernelArguments::Find(CUfunction function) {
  const auto handle = reinterpret_cast<uint64_t>(function);
  const uint64_t generation = generation_.load(std::memory_order_acquire);
  if (handle >> kAddressBits != 0 || generation >= kGenerations - 1) return nullptr;
  const uint64_t key = generation << kAddressBits | handle;
  uint64_t place = (key * 0x9E3779B97F4A7C15U) >> 52;
  static_assert(kPlaces == 1U << 12);
  for (uint32_t look = 0; look < kLooks; ++look, place = (place + 1) % kPlaces) {
    Entry& entry = entries_[place];
    uint64_t found = entry.key.load(std::memory_order_acquire);
    if (found == key) return &entry.layout;
    if (found != 0) continue;
    Layout layout{};
    if (!Ask(function, &layout)) return nullptr;
    if (!entry.key.compare_exchange_strong(found, kBeingWritten, std::memory_order_acq_rel)) {
      continue;  // another thread took the place
    }
    entry.layout = layout;
    entry.key.store(key, std::memory_order_release);
    return &entry.layout;
  }
  return nullptr;
}

}  // namespace vramstow
