// ModelDevice: the device under a model: how much it gave, what it was asked, and where.
//
// Idea: addresses are given lowest first, as the simulated device gives them, because allocators
// choose between equal blocks by address. Device memory comes in pages of 2 MiB.
//
// Ownership: numbers only. Threads: one at a time. Errors: 0 or false where the device's memory
// does not reach. Units: bytes. Costs of calls are assumptions (docs/replay.md), for comparing
// models and not for predicting a card.
#ifndef VRAMSTOW_TOOLS_REPLAY_DEVICE_H_
#define VRAMSTOW_TOOLS_REPLAY_DEVICE_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/range_allocator.h"

namespace vramstow {

enum class DeviceCall : uint8_t {
  kAllocate,  // cudaMalloc
  kFree,      // cudaFree: waits for all work
  kMap,       // create, map and set access, for each physical handle
  kUnmap,     // unmap and release, for each physical handle
  kReserve,   // of addresses
  kUnreserve,
};
inline constexpr int kDeviceCalls = 6;

// One step of a model that changed what is reserved.
struct DeviceStep {
  uint64_t request = 0;  // during which request, from 0
  uint64_t address = 0;
  uint64_t bytes = 0;
  DeviceCall call = DeviceCall::kAllocate;
  uint32_t stream = 0;
};

class ModelDevice {
 public:
  // `capacity`: the most that can be reserved; 0: as much as is asked for.
  explicit ModelDevice(uint64_t capacity);

  // Memory with an address; 0: out of memory.
  uint64_t Allocate(uint64_t bytes, uint32_t stream);
  void Free(uint64_t address, uint64_t bytes, uint32_t stream);

  // A range of addresses without memory; never out of them.
  uint64_t Reserve(uint64_t bytes);
  void Unreserve(uint64_t address, uint64_t bytes);
  // Memory in `handles` pieces at an address of such a range. False: out of memory.
  bool Map(uint64_t address, uint64_t bytes, uint64_t handles, uint32_t stream);
  void Unmap(uint64_t address, uint64_t bytes, uint64_t handles, uint32_t stream);

  // Memory without an address of its own, and calls for it, where a model tells them apart. False:
  // out of memory.
  bool Charge(uint64_t bytes);
  void Discharge(uint64_t bytes) { reserved_ -= bytes; }
  void Count(DeviceCall call) { ++counts_[static_cast<std::size_t>(call)]; }

  // What the next calls are for; steps are kept from the first call of KeepSteps on.
  void BeginRequest(uint64_t request) { request_ = request; }
  void KeepSteps() { keeps_steps_ = true; }
  const std::vector<DeviceStep>& steps() const { return steps_; }

  uint64_t capacity() const { return capacity_; }
  uint64_t reserved() const { return reserved_; }
  uint64_t peak_reserved() const { return peak_reserved_; }
  // Calls by kind, and how many driver calls that makes in all.
  const std::array<uint64_t, kDeviceCalls>& counts() const { return counts_; }
  uint64_t calls() const;
  // Nanoseconds that these calls would hold the job up, at assumed costs.
  uint64_t stall_ns() const;

 private:
  void Note(DeviceCall call, uint64_t address, uint64_t bytes, uint64_t count, uint32_t stream);

  const uint64_t capacity_;
  RangeAllocator plain_;   // addresses of Allocate
  RangeAllocator ranges_;  // addresses of Reserve
  uint64_t reserved_ = 0;
  uint64_t peak_reserved_ = 0;
  uint64_t request_ = 0;
  bool keeps_steps_ = false;
  std::array<uint64_t, kDeviceCalls> counts_ = {};
  std::vector<DeviceStep> steps_;
};

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_REPLAY_DEVICE_H_
