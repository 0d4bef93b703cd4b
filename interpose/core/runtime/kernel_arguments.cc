#include "interpose/core/runtime/kernel_arguments.h"

#include "interpose/core/runtime/driver.h"
#include "interpose/core/runtime/kernel_names.h"

namespace vramstow {

ArgumentSizes::ArgumentSizes(const Driver& driver, HandleKind kind, CUfunction function)
    : function_(function) {
  if (kind == HandleKind::kFunction) of_function_ = driver.cuFuncGetParamInfo();
  if (kind == HandleKind::kKernel) of_kernel_ = driver.cuKernelGetParamInfo();
}

bool ArgumentSizes::Next(size_t* size) {
  if (!known()) return false;
  size_t offset = 0;
  const auto kernel = reinterpret_cast<CUkernel>(function_);
  const CUresult result = of_function_ != nullptr ? of_function_(function_, index_, &offset, size)
                                                  : of_kernel_(kernel, index_, &offset, size);
  if (result != CUDA_SUCCESS) return false;
  ++index_;
  return true;
}

ArgumentSizes KernelArguments::Ask(CUfunction function) const {
  return {driver_, kinds_.KindOf(function), function};
}

// Gets the sizes of a kernel's arguments. Returns false if the driver does not describe the
// arguments, or if there are too many.
bool KernelArguments::Describe(CUfunction function, Layout* layout) const {
  ArgumentSizes sizes = Ask(function);
  layout->count = 0;
  layout->writes_no_addresses =
      WritesNoAddresses(KernelName(driver_, kinds_.KindOf(function), function));
  size_t size = 0;
  for (size_t i = 0; sizes.Next(&size); ++i) {
    if (i > UINT8_MAX) return false;
    if (size < sizeof(CUdeviceptr)) continue;
    if (layout->count == kMax || size > UINT16_MAX) return false;
    layout->indexes[layout->count] = static_cast<uint8_t>(i);
    layout->sizes[layout->count++] = static_cast<uint16_t>(size);
  }
  return sizes.known();
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
    if (!Describe(function, &layout)) return nullptr;
    if (!entry.key.compare_exchange_strong(found, kBeingWritten, std::memory_order_acq_rel)) {
      continue;  // another thread took the slot
    }
    entry.layout = layout;
    entry.key.store(key, std::memory_order_release);
    return &entry.layout;
  }
  return nullptr;
}

}  // namespace vramstow
