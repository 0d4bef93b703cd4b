// ModelDriver: a driver table for the real code of vramstow's pool. Its functions do their
// bookkeeping on a ModelDevice.
//
// Idea: work completes at once, so each fence (a recorded point in the work of a stream) has always
// passed. The caller advances the time in steps; copies take the time of a transfer at 24 GiB/s.
//
// Ownership: the caller owns the device. Threads: used by one thread at a time. Errors: those of
// the table. Units: bytes, nanoseconds.
#ifndef VRAMSTOW_TOOLS_REPLAY_MODEL_DRIVER_H_
#define VRAMSTOW_TOOLS_REPLAY_MODEL_DRIVER_H_

#include <cstdint>

#include "absl/container/flat_hash_map.h"
#include "allocator/core/driver.h"
#include "tools/replay/device.h"

namespace vramstow {

class ModelDriver {
 public:
  // `total_bytes` is the size of the device that the table reports.
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
