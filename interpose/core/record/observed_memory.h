// ObservedMemory adds up how much memory a framework's own allocator holds now, from the events of
// its observer.
//
// Idea: a question about the current state should not have to read the trace. So each event is
// added when it arrives. An observer reports events of a device under the lock of that device's
// allocator. So each device has one writer at a time, and the writer needs no atomic
// read-modify-write instructions. A reader sees each number as it was at some moment, but not all
// numbers at the same moment.
//
// Ownership: static storage. Threads: Allocate, Free and Complete of a device are called by one
// thread at a time, and so is Reserve; all other functions by any thread. Peaks are exact if the
// thread that resets them is the one that allocates; otherwise an allocation of another thread at
// that moment may be missing from them. Errors: devices out of range are ignored. No heap, no lock.
// Units: bytes.
#ifndef VRAMSTOW_INTERPOSE_CORE_RECORD_OBSERVED_MEMORY_H_
#define VRAMSTOW_INTERPOSE_CORE_RECORD_OBSERVED_MEMORY_H_

#include <algorithm>
#include <atomic>
#include <cstdint>

namespace vramstow {

struct ObservedFigures {
  uint64_t allocated = 0;  // bytes of live blocks, rounded up
  uint64_t requested = 0;
  uint64_t reserved = 0;
  uint64_t peak_allocated = 0;
  uint64_t peak_reserved = 0;
  uint64_t pending = 0;  // freed, while work may still use it
  uint64_t allocations = 0;
  uint64_t frees = 0;
  uint64_t released = 0;  // released to the device so far
  uint64_t out_of_memory = 0;
  bool knows_retries = false;
  uint64_t retries = 0;  // requests before which the framework released its cache
};

class ObservedMemory {
 public:
  static constexpr int kMaxDevices = 64;

  constexpr ObservedMemory() = default;
  ObservedMemory(const ObservedMemory&) = delete;
  ObservedMemory& operator=(const ObservedMemory&) = delete;

  // Called when an observer is installed; from now on its events are counted. `sees_driver` is true
  // if vramstow also sees when the driver refuses memory, which it does only with a trace.
  // Otherwise the number of requests that succeeded at a retry is unknown.
  void Begin(bool sees_driver);
  bool is_followed() const { return is_followed_.load(std::memory_order_acquire); }

  void Allocate(int device, uint64_t size, uint64_t requested);
  // Counts a free. `size` is 0 if the block is older than the observer.
  void Free(int device, uint64_t size, uint64_t requested);
  void Complete(int device, uint64_t size);
  // Stores the total memory of the device.
  void NoteSize(int device, uint64_t bytes);
  uint64_t SizeOf(int device) const;  // 0 if unknown
  // Counts memory that the framework got from the device, or returned to it (`bytes` is then
  // negative). `retries` is the number of retries so far. If `bytes` is 0, any thread may call
  // this.
  void Reserve(int device, int64_t bytes, uint64_t retries);
  void Refuse(int device);
  // Notes that the driver had no memory for the framework's allocator. The allocator then retries
  // or fails. Called by any thread.
  void NoteDriverRefusal(int device);

  // Returns false if no memory of this device was requested in this process.
  bool Read(int device, ObservedFigures* figures) const;
  // Sets the peaks to the current figures.
  bool ResetPeaks(int device);

  // Removes the counts, which belong to the parent. Called in a forked child; async-signal-safe.
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
    std::atomic<bool> is_refused{false};  // the driver refused memory since the last allocation
  };

  // Returns null if the device is out of range, or this process is not observed.
  Device* Find(int device) {
    return device < 0 || device >= kMaxDevices || !is_followed() ? nullptr : &devices_[device];
  }
  // Adds without an atomic read-modify-write instruction. Only the device's single writer may call
  // it.
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
  // Sets a peak from a thread other than the writer. A peak that the writer raises meanwhile is not
  // lowered.
  static void SetPeak(Number* peak, const Number& now);

  std::atomic<bool> is_followed_{false};
  std::atomic<bool> sees_driver_{false};
  Device devices_[kMaxDevices] = {};
};

// These functions are inline, because they run at every reported event.
inline void ObservedMemory::Allocate(int device, uint64_t size, uint64_t requested) {
  Device* const of = Find(device);
  if (of == nullptr) return;
  Raise(&of->peak_allocated, Add(&of->allocated, size));
  Add(&of->requested, requested);
  Add(&of->allocations, 1);
  // The driver refused memory, and the framework got some after it had released its cache.
  if (of->is_refused.load(std::memory_order_relaxed)) [[unlikely]] {
    if (of->is_refused.exchange(false, std::memory_order_relaxed)) Add(&of->retries, 1);
  }
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
