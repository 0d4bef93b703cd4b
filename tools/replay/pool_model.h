// PoolModel: vramstow's own pool as a model. It runs the real code of allocator/ on a ModelDevice.
//
// Idea: work completes at once, so each fence (a recorded point in the work of a stream) has always
// passed. The number of the request is the time in milliseconds, because the pool needs a clock for
// waits and ages.
//
// Ownership: owns the pool; the caller owns the device. Threads: used by one thread at a time.
// Errors: Allocate returns false when out of memory. Units: bytes.
#ifndef VRAMSTOW_TOOLS_REPLAY_POOL_MODEL_H_
#define VRAMSTOW_TOOLS_REPLAY_POOL_MODEL_H_

#include <memory>
#include <vector>

#include "allocator/pool/pool.h"
#include "tools/replay/device.h"
#include "tools/replay/model.h"
#include "tools/replay/model_driver.h"

namespace vramstow {

struct PoolModelConfig {
  PoolConfig pool;
  uint64_t tick_ns = 1'000'000;  // that one request takes
};

class PoolModel : public AllocatorModel {
 public:
  // `device_bytes` is the size of the device that the pool sees.
  PoolModel(ModelDevice* device, uint64_t device_bytes, const PoolModelConfig& config = {});
  ~PoolModel() override;

  // False if the pool refused this device.
  bool opened() const { return opened_; }

  bool Allocate(const ModelRequest& request) override;
  void Free(uint32_t block) override;
  void Flush() override;
  uint64_t allocated() const override;

  Pool* pool() { return pool_.get(); }
  ModelDriver* driver() { return &driver_; }
  // Returns the address of a live block.
  uint64_t AddressOf(uint32_t block) const { return addresses_[block]; }

 private:
  const uint64_t tick_ns_;
  ModelDriver driver_;
  std::unique_ptr<Pool> pool_;
  bool opened_ = false;
  std::vector<uint64_t> addresses_;  // by block
};

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_REPLAY_POOL_MODEL_H_
