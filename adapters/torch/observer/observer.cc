// The observer: PyTorch's own allocator calls back, and each call becomes an event of the trace.
//
// Idea: PyTorch's allocator stays as it is. Its trace trackers run for every allocation and every
// free, its out-of-memory observers for every request that fails. One source serves PyTorch 2.2 to
// 2.15: what moved between releases is found with __has_include and `requires`.
//
// Ownership: one observer, never destroyed. Threads: trackers run under the lock of a device's
// allocator, so each device's state has one user at a time. A tracker uses no heap, takes no lock
// of others, and calls neither the driver nor Python nor the dynamic linker. Errors: half a
// sentence; then nothing is observed. Units: bytes.
#include <c10/cuda/CUDACachingAllocator.h>
#if __has_include(<c10/cuda/CUDAAllocatorConfig.h>)
#include <c10/cuda/CUDAAllocatorConfig.h>
#endif
#include <c10/cuda/CUDAFunctions.h>
#include <dlfcn.h>

#include <array>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <limits>

#include "adapters/torch/observer/block_sizes.h"
#include "include/vramstow/framework.h"
#include "include/vramstow/vramstow.h"

namespace c10::CachingAllocator {
class AcceleratorAllocatorConfig;  // not in every release
}  // namespace c10::CachingAllocator
namespace c10::cuda::CUDACachingAllocator {
class CUDAAllocatorConfig;  // not in every release
}  // namespace c10::cuda::CUDACachingAllocator

namespace vramstow::torch_observer {
namespace {

namespace caching = c10::cuda::CUDACachingAllocator;
using Entry = caching::TraceEntry;

// PyTorch's settings for block sizes. The functions take the class as a template's parameter, so
// that a release without it still compiles.
template <typename Newer, typename Older>
uint64_t Divisions(uint64_t requested) {
  if constexpr (requires { Newer::roundup_power2_divisions(requested); }) {
    return Newer::roundup_power2_divisions(requested);
  } else if constexpr (requires { Older::roundup_power2_divisions(requested); }) {
    return Older::roundup_power2_divisions(requested);
  } else {
    return 0;
  }
}

template <typename Newer, typename Older>
uint64_t MaxSplit() {
  if constexpr (requires { Newer::max_split_size(); }) {
    return Newer::max_split_size();
  } else if constexpr (requires { Older::max_split_size(); }) {
    return Older::max_split_size();
  } else {
    return std::numeric_limits<uint64_t>::max();
  }
}

using NewerConfig = c10::CachingAllocator::AcceleratorAllocatorConfig;
using OlderConfig = caching::CUDAAllocatorConfig;

class Observer {
 public:
  static constexpr int kMostDevices = 64;

  explicit Observer(const vramstow_framework_trace* trace) : trace_(trace) {}

  void OnEntry(const Entry& entry);
  // `allowed`: what PyTorch may take of the device.
  void OnOutOfMemory(int64_t device, uint64_t requested, uint64_t allowed);

 private:
  struct Device {
    BlockSizes sizes;
  };

  void OnAllocate(const Entry& entry, Device* device);
  void OnFreeRequested(const Entry& entry, Device* device);
  void OnFreeCompleted(const Entry& entry, Device* device);
  void Emit(int kind, int64_t device, uint64_t address, uint64_t size, uint64_t requested,
            void* stream);

  const vramstow_framework_trace* const trace_;
  std::array<Device, kMostDevices> devices_;
};

void Observer::Emit(int kind, int64_t device, uint64_t address, uint64_t size, uint64_t requested,
                    void* stream) {
  const vramstow_framework_event event = {kind,      static_cast<int32_t>(device),
                                          address,   size,
                                          requested, reinterpret_cast<uint64_t>(stream)};
  trace_->emit(&event);
}

void Observer::OnAllocate(const Entry& entry, Device* device) {
  const uint64_t requested = static_cast<uint64_t>(entry.size_);
  const uint64_t rounded = RoundSize(requested, Divisions<NewerConfig, OlderConfig>(requested));
  const uint64_t address = static_cast<uint64_t>(entry.addr_);
  const uint64_t size =
      device->sizes.Allocate(address, rounded, MaxSplit<NewerConfig, OlderConfig>());
  Emit(VRAMSTOW_EVENT_ALLOCATE, entry.device_, address, size, requested, entry.stream_);
}

void Observer::OnFreeRequested(const Entry& entry, Device* device) {
  const uint64_t address = static_cast<uint64_t>(entry.addr_);
  Emit(VRAMSTOW_EVENT_FREE, entry.device_, address, device->sizes.SizeOf(address),
       static_cast<uint64_t>(entry.size_), entry.stream_);
}

void Observer::OnFreeCompleted(const Entry& entry, Device* device) {
  const uint64_t address = static_cast<uint64_t>(entry.addr_);
  Emit(VRAMSTOW_EVENT_FREE_COMPLETED, entry.device_, address, device->sizes.Release(address),
       static_cast<uint64_t>(entry.size_), entry.stream_);
}

void Observer::OnEntry(const Entry& entry) {
  if (entry.device_ < 0 || entry.device_ >= kMostDevices) return;
  Device* device = &devices_[static_cast<size_t>(entry.device_)];
  const uint64_t address = static_cast<uint64_t>(entry.addr_);
  switch (entry.action_) {
    case Entry::ALLOC:
      OnAllocate(entry, device);
      break;
    case Entry::FREE_REQUESTED:
      OnFreeRequested(entry, device);
      return;
    case Entry::FREE_COMPLETED:
      OnFreeCompleted(entry, device);
      return;
    case Entry::SEGMENT_ALLOC:
      device->sizes.AddSegment(address, static_cast<uint64_t>(entry.size_));
      break;
    case Entry::SEGMENT_FREE:
      device->sizes.RemoveSegment(address);
      break;
    default:  // the driver's events have mapped memory; the observer below has failures
      break;
  }
}

void Observer::OnOutOfMemory(int64_t device, uint64_t requested, uint64_t allowed) {
  Emit(VRAMSTOW_EVENT_OUT_OF_MEMORY, device, allowed, requested, requested, nullptr);
}

const char* Attach() {
  static bool attached = false;  // Python's lock for the start of CUDA is held
  if (attached) return nullptr;
  void* found = dlsym(RTLD_DEFAULT, VRAMSTOW_TABLE_SYMBOL);
  if (found == nullptr) return "vramstow is not preloaded";
  const auto get_table = reinterpret_cast<vramstow_table_function>(found);
  const auto* trace = reinterpret_cast<const vramstow_framework_trace*>(
      get_table(VRAMSTOW_TABLE_TRACE, VRAMSTOW_TABLE_TRACE_VERSION));
  if (trace == nullptr) {
    return "the library is of an older version, or the pool serves the framework";
  }
  auto* allocator = caching::get();
  if (allocator == nullptr || !allocator->initialized()) return "PyTorch has not started CUDA";
  if (allocator->name() != "native") return "another allocator is chosen";
  const char* uncached = std::getenv("PYTORCH_NO_CUDA_MEMORY_CACHING");
  if (uncached != nullptr && *uncached != '\0' && std::strcmp(uncached, "0") != 0) {
    return "PYTORCH_NO_CUDA_MEMORY_CACHING asks for no caching";
  }
  if (trace->attach(reinterpret_cast<const void*>(&c10::cuda::device_count)) != VRAMSTOW_OK) {
    return "";  // there is no trace, and it was said why
  }
  auto* observer = new Observer(trace);
  allocator->attachAllocatorTraceTracker(
      [observer](const Entry& entry) { observer->OnEntry(entry); });
  allocator->attachOutOfMemoryObserver(
      [observer](int64_t device, size_t requested, size_t allowed, size_t) {
        observer->OnOutOfMemory(device, requested, allowed);
      });
  attached = true;
  return nullptr;
}

}  // namespace
}  // namespace vramstow::torch_observer

// Null: from now on PyTorch's tensors are in the trace. Otherwise half a sentence says why not; an
// empty one was said already.
extern "C" __attribute__((visibility("default"))) const char* vramstow_torch_observe() {
  try {
    return vramstow::torch_observer::Attach();
  } catch (const std::exception&) {
    return "PyTorch refused";
  }
}
