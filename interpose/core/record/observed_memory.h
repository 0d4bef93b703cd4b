// ObservedMemory: how much memory a framework's own allocator holds now, as its observer tells it.
//
// Idea: the trace has every event, and a question about this moment should not read it. So each
// event is added up where it comes in. An observer tells of a device under the lock of that
// device's allocator: a device has one writer at a time, who needs no locked instructions. Whoever
// reads sees each figure as it was at some moment, and not all of them at the same one.
//
// Ownership: static storage. Threads: Allocate, Free, Complete and Reserve of a device one at a
// time; all others from any thread. Peaks are exact where the thread that resets them is the one
// that allocates; otherwise what another thread does at that very moment may be left out of them.
// Errors: devices out of range are left out. No heap, no lock. Units: bytes.
#ifndef VRAMSTOW_INTERPOSE_CORE_RECORD_OBSERVED_MEMORY_H_
#define VRAMSTOW_INTERPOSE_CORE_RECORD_OBSERVED_MEMORY_H_

#include <algorithm>
#include <atomic>
#include <cstdint>

namespace vramstow {

struct ObservedFigures {
  uint64_t allocated = 0;  // in live blocks, after rounding
  uint64_t requested = 0;
  uint64_t reserved = 0;
  uint64_t peak_allocated = 0;
  uint64_t peak_reserved = 0;
  uint64_t pending = 0;  // freed, while work may still use it
  uint64_t allocations = 0;
  uint64_t frees = 0;
  uint64_t released = 0;  // given back to the device, ever
  uint64_t out_of_memory = 0;
  bool knows_retries = false;
  uint64_t retries = 0;  // requests that the framework gave its cache back for
};

class ObservedMemory {
 public:
  static constexpr int kMaxDevices = 64;

  constexpr ObservedMemory() = default;
  ObservedMemory(const ObservedMemory&) = delete;
  ObservedMemory& operator=(const ObservedMemory&) = delete;

  // An observer is in place: from now on its events count. Refusals of the driver are seen in the
  // trace only: without one nobody knows of requests that were served at the second try.
  void Begin(bool sees_driver);
  bool is_followed() const { return is_followed_.load(std::memory_order_acquire); }

  void Allocate(int device, uint64_t size, uint64_t requested);
  // `size` 0: the block was there before the observer.
  void Free(int device, uint64_t size, uint64_t requested);
  void Complete(int device, uint64_t size);
  // The memory of the whole device.
  void NoteSize(int device, uint64_t bytes);
  uint64_t SizeOf(int device) const;  // 0: not known
  // The framework got memory from the device, or gave some back. `retries`: so far. Any thread may
  // tell of 0 bytes.
  void Reserve(int device, int64_t bytes, uint64_t retries);
  void Refuse(int device);
  // The driver had no memory for the framework's allocator, which tries again or refuses. Any
  // thread.
  void NoteDriverRefusal(int device);

  // False: no memory of this device was asked for in this process.
  bool Read(int device, ObservedFigures* figures) const;
  // Sets the peaks to what there is now.
  bool ResetPeaks(int device);

  // In a forked child, async-signal-safe: what was counted is the parent's.
  void AbandonAfterFork();

 private:
  using Number = std::atomic<uint64_t>;

  struct alignas(64) Device {
    Number allocated{0};
    Number requested{0};
    Number peak_allocated{0};
    Number allocations{0};
    Number frees{0};
    Number pending{0};
    Number reserved{0};
    Number peak_reserved{0};
    Number released{0};
    Number retries{0};
    Number out_of_memory{0};
    Number device_bytes{0};
    std::atomic<bool> is_refused{false};  // by the driver, since memory was reserved
  };

  // Null: the device is out of range, or this process is not observed.
  Device* Find(int device) {
    return device < 0 || device >= kMaxDevices || !is_followed() ? nullptr : &devices_[device];
  }
  // By the only writer.
  static uint64_t Add(Number* number, uint64_t value) {
    const uint64_t now = number->load(std::memory_order_relaxed) + value;
    number->store(now, std::memory_order_relaxed);
    return now;
  }
  static void Subtract(Number* number, uint64_t value) {
    const uint64_t before = number->load(std::memory_order_relaxed);
    number->store(before - std::min(before, value), std::memory_order_relaxed);
  }
  static void Raise(Number* peak, uint64_t value) {
    if (value > peak->load(std::memory_order_relaxed)) {
      peak->store(value, std::memory_order_relaxed);
    }
  }
  // By another thread than the writer: what is raised meanwhile stays.
  static void SetPeak(Number* peak, const Number& now);

  std::atomic<bool> is_followed_{false};
  std::atomic<bool> sees_driver_{false};
  Device devices_[kMaxDevices] = {};
};

// Here, because they are part of every event that is told.
inline void ObservedMemory::Allocate(int device, uint64_t size, uint64_t requested) {
  Device* const of = Find(device);
  if (of == nullptr) return;
  Raise(&of->peak_allocated, Add(&of->allocated, size));
  Add(&of->requested, requested);
  Add(&of->allocations, 1);
}

inline void ObservedMemory::Free(int device, uint64_t size, uint64_t requested) {
  Device* const of = Find(device);
  if (of == nullptr || size == 0) return;
  Subtract(&of->allocated, size);
  Subtract(&of->requested, requested);
  Add(&of->pending, size);
  Add(&of->frees, 1);
}

inline void ObservedMemory::Complete(int device, uint64_t size) {
  Device* const of = Find(device);
  if (of != nullptr) Subtract(&of->pending, size);
}

}  // namespace vramstow

#endif  // VRAMSTOW_INTERPOSE_CORE_RECORD_OBSERVED_MEMORY_H_
