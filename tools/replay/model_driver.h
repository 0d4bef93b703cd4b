// ModelDriver: a driver table for the pool's real code, whose functions keep books on a
// ModelDevice.
//
// Idea: work is done at once, so fences have always passed. Time is the caller's, in steps; copies
// take what they take on a link of 24 GiB/s.
//
// Ownership: the device is the caller's. Threads: one at a time. Errors: as the table's. Units:
// bytes, nanoseconds.
#ifndef VRAMSTOW_TOOLS_REPLAY_MODEL_DRIVER_H_
#define VRAMSTOW_TOOLS_REPLAY_MODEL_DRIVER_H_

#include <cstdint>

#include "absl/container/flat_hash_map.h"
#include "allocator/core/driver.h"
#include "tools/replay/device.h"

namespace vramstow {

class ModelDriver {
 public:
  // `total_bytes`: what the device has, as it tells.
  ModelDriver(ModelDevice* device, uint64_t total_bytes);
  ModelDriver(const ModelDriver&) = delete;
  ModelDriver& operator=(const ModelDriver&) = delete;

  const DriverTable* table() const { return &table_; }
  uint64_t now_ns() const { return now_ns_; }
  void Advance(uint64_t nanoseconds) { now_ns_ += nanoseconds; }

 private:
  static ModelDriver* Of(void* self) { return static_cast<ModelDriver*>(self); }
  void FillMemory();
  void FillHost();
  void FillOrder();

  DriverTable table_{};
  ModelDevice* device_;
  uint64_t total_bytes_;
  uint64_t now_ns_ = 0;
  uint64_t next_handle_ = 1;
  uint64_t created_bytes_ = 0;
  absl::flat_hash_map<uint64_t, uint64_t> handles_;  // handle → bytes
  absl::flat_hash_map<uint64_t, uint64_t> ranges_;   // address → bytes
};

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_REPLAY_MODEL_DRIVER_H_
