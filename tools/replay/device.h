// ModelDevice: the device of a model. It stores how much memory it gave, which calls it got, and
// which addresses are free.
//
// Idea: the lowest free address is given first, as on the simulated device, because allocators
// choose between equal blocks by address. Device memory comes in pages of 2 MiB.
//
// Ownership: stores numbers only. Threads: used by one thread at a time. Errors: 0 or false if the
// device's memory is not enough. Units: bytes. The costs of calls are assumptions (docs/replay.md),
// for comparing models and not for predicting a real GPU.
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

// A change of the memory that a model has reserved on its device.
struct DeviceStep {
  uint64_t request = 0;  // during which request, from 0
  uint64_t address = 0;
  uint64_t bytes = 0;
  DeviceCall call = DeviceCall::kAllocate;
  uint32_t stream = 0;
};

class ModelDevice {
 public:
  // `capacity` is the largest number of bytes that can be reserved; 0 means no limit.
  explicit ModelDevice(uint64_t capacity);

  // Allocates memory and returns its address. Returns 0 if out of memory.
  uint64_t Allocate(uint64_t bytes, uint32_t stream);
  void Free(uint64_t address, uint64_t bytes, uint32_t stream);

  // Reserves a range of addresses without memory; never fails.
  uint64_t Reserve(uint64_t bytes);
  void Unreserve(uint64_t address, uint64_t bytes);
  // Maps memory, in `handles` pieces, at an address in a range that Reserve returned. Returns false
  // if out of memory.
  bool Map(uint64_t address, uint64_t bytes, uint64_t handles, uint32_t stream);
  void Unmap(uint64_t address, uint64_t bytes, uint64_t handles, uint32_t stream);

  // These functions are for models whose memory has no address when it is reserved, and that count
  // calls separately. Charge reserves memory, and returns false if out of memory.
  bool Charge(uint64_t bytes);
  void Discharge(uint64_t bytes) { reserved_ -= bytes; }
  void Count(DeviceCall call) { ++counts_[static_cast<std::size_t>(call)]; }

  // Sets the request to which the next calls belong. Steps are recorded only after KeepSteps was
  // called.
  void BeginRequest(uint64_t request) { request_ = request; }
  void KeepSteps() { keeps_steps_ = true; }
  const std::vector<DeviceStep>& steps() const { return steps_; }

  uint64_t capacity() const { return capacity_; }
  uint64_t reserved() const { return reserved_; }
  uint64_t peak_reserved() const { return peak_reserved_; }
  // Begins a new peak with the memory that is reserved now.
  void ForgetPeak() { peak_reserved_ = reserved_; }
  // counts() returns the number of calls by kind, and calls() the number of driver calls that they
  // stand for.
  const std::array<uint64_t, kDeviceCalls>& counts() const { return counts_; }
  uint64_t calls() const;
  // Returns for how many nanoseconds the calls would block the job, at assumed costs.
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
