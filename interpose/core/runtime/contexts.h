// Contexts remembers which device each context belongs to, because the driver answers this only for
// the current context.
//
// Ownership: static storage. Threads: any, without a lock. Errors: kNoDevice for a context that was
// made before vramstow was loaded, or when the table is full. Units: device numbers.
#ifndef VRAMSTOW_INTERPOSE_CORE_RUNTIME_CONTEXTS_H_
#define VRAMSTOW_INTERPOSE_CORE_RUNTIME_CONTEXTS_H_

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/event.h"
#include "interpose/core/runtime/cuda_abi.h"

namespace vramstow {

class Contexts {
 public:
  constexpr Contexts() = default;
  Contexts(const Contexts&) = delete;
  Contexts& operator=(const Contexts&) = delete;

  // Stores the device of a context. `current` is true if the context can be made a thread's current
  // context.
  void Remember(CUcontext context, int device, bool current = true) {
    Forget(context);
    const uint32_t place = next_.fetch_add(1, std::memory_order_relaxed) % kRoom;
    entries_[place].current.store(current, std::memory_order_relaxed);
    entries_[place].ended.store(false, std::memory_order_relaxed);
    entries_[place].device_plus_one.store(static_cast<int16_t>(device + 1),
                                          std::memory_order_relaxed);
    entries_[place].context.store(context, std::memory_order_release);
  }

  // Called when the context ends. From then on At() does not return the context, and HasEnded is
  // true; DeviceOf still returns its device.
  void Forget(CUcontext context) {
    for (Entry& entry : entries_) {
      if (entry.context.load(std::memory_order_relaxed) != context) continue;
      entry.current.store(false, std::memory_order_relaxed);
      entry.ended.store(true, std::memory_order_relaxed);
    }
  }

  // Finds the context with this number. Returns false if there is none that can be made current;
  // numbers may have gaps.
  static constexpr uint32_t kRoom = 256;
  bool At(uint32_t number, CUcontext* context, int* device) const {
    const Entry& entry = entries_[number];
    *context = entry.context.load(std::memory_order_acquire);
    *device = entry.device_plus_one.load(std::memory_order_relaxed) - 1;
    return *context != nullptr && *device >= 0 && entry.current.load(std::memory_order_relaxed);
  }

  int16_t DeviceOf(CUcontext context) const {
    const Entry* const entry = Newest(context);
    if (entry == nullptr) return kNoDevice;
    return static_cast<int16_t>(entry->device_plus_one.load(std::memory_order_relaxed) - 1);
  }

  // True if hooked calls showed the end of the context, and no later context with its handle.
  bool HasEnded(CUcontext context) const {
    const Entry* const entry = Newest(context);
    return entry != nullptr && entry->ended.load(std::memory_order_relaxed);
  }

  void AbandonAfterFork() {
    next_.store(0, std::memory_order_relaxed);
    for (Entry& entry : entries_) entry.context.store(nullptr, std::memory_order_relaxed);
  }

 private:
  static_assert(kNoDevice == -1);
  struct Entry {
    std::atomic<CUcontext> context{nullptr};
    std::atomic<int16_t> device_plus_one{0};
    std::atomic<bool> current{false};
    std::atomic<bool> ended{false};
  };

  // Returns the newest entry of the context, or null. That entry is the valid one, because the
  // driver reuses the handles of destroyed contexts.
  const Entry* Newest(CUcontext context) const {
    const uint32_t next = next_.load(std::memory_order_acquire);
    for (uint32_t age = 1; age <= kRoom && age <= next; ++age) {
      const Entry& entry = entries_[(next - age) % kRoom];
      if (entry.context.load(std::memory_order_acquire) == context) return &entry;
    }
    return nullptr;
  }

  Entry entries_[kRoom] = {};
  std::atomic<uint32_t> next_{0};
};

}  // namespace vramstow

#endif  // VRAMSTOW_INTERPOSE_CORE_RUNTIME_CONTEXTS_H_
