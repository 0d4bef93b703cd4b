// IdleDevice: a DriverTable whose calls all succeed and do nothing, so that a benchmark of the pool
// measures the pool's own time, also for misses.
//
// Ownership: the benchmark's; it outlives the pool. Threads: any. Errors: none. Units: bytes;
// nanoseconds.
#ifndef VRAMSTOW_BENCH_IDLE_DEVICE_H_
#define VRAMSTOW_BENCH_IDLE_DEVICE_H_

#include <time.h>

#include <atomic>
#include <cstdint>

#include "allocator/core/driver.h"
#include "base/units.h"

namespace vramstow {

class IdleDevice {
 public:
  IdleDevice() {
    table_.self = this;
    table_.describe = [](void*, DriverDevice* device) {
      *device = {kTotalBytes, 2 * kMiB, 0, true};
      return kDriverSuccess;
    };
    table_.memory_info = [](void*, uint64_t* free_bytes, uint64_t* total_bytes) {
      *free_bytes = *total_bytes = kTotalBytes;
      return kDriverSuccess;
    };
    table_.reserve = [](void* self, uint64_t size, uint64_t, uint64_t* address) {
      *address = Self(self)->next_address_.fetch_add(size);
      return kDriverSuccess;
    };
    table_.unreserve = [](void*, uint64_t, uint64_t) { return kDriverSuccess; };
    table_.create = [](void* self, uint64_t, uint64_t* handle) { return Number(self, handle); };
    table_.release = [](void*, uint64_t) { return kDriverSuccess; };
    table_.map = [](void*, uint64_t, uint64_t, uint64_t) { return kDriverSuccess; };
    table_.unmap = [](void*, uint64_t, uint64_t) { return kDriverSuccess; };
    table_.set_access = [](void*, uint64_t, uint64_t) { return kDriverSuccess; };
    table_.event_create = [](void* self, uint64_t* event) { return Number(self, event); };
    table_.event_destroy = [](void*, uint64_t) { return kDriverSuccess; };
    table_.event_record = [](void*, uint64_t, uint64_t) { return kDriverSuccess; };
    table_.event_record_all = [](void*, uint64_t) { return kDriverSuccess; };
    table_.event_query = [](void*, uint64_t) { return kDriverSuccess; };
    table_.synchronize = [](void*) { return kDriverSuccess; };
    table_.relax_capture = [](void*, int32_t*) { return kDriverSuccess; };
    table_.restore_capture = [](void*, int32_t) { return kDriverSuccess; };
    table_.now = [](void*) {
      timespec time{};
      clock_gettime(CLOCK_MONOTONIC, &time);
      return static_cast<uint64_t>(time.tv_sec) * 1'000'000'000 +
             static_cast<uint64_t>(time.tv_nsec);
    };
    table_.pause = [](void*, uint64_t) {};
  }
  IdleDevice(const IdleDevice&) = delete;
  IdleDevice& operator=(const IdleDevice&) = delete;

  const DriverTable* table() const { return &table_; }

 private:
  static constexpr uint64_t kTotalBytes = 512 * kGiB;

  static IdleDevice* Self(void* self) { return static_cast<IdleDevice*>(self); }
  static DriverResult Number(void* self, uint64_t* number) {
    *number = Self(self)->next_number_.fetch_add(1);
    return kDriverSuccess;
  }

  DriverTable table_{};
  std::atomic<uint64_t> next_address_{uint64_t{7} << 44};
  std::atomic<uint64_t> next_number_{1};
};

}  // namespace vramstow

#endif  // VRAMSTOW_BENCH_IDLE_DEVICE_H_
