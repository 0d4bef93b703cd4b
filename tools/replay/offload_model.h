// OffloadModel: vramstow's own pool with --offload=auto on a device that is too small. It runs the
// real code of allocator/ and allocator/offload/, and counts the bytes that this code would have
// moved, and that work would have accessed, over PCIe or NVLink.
//
// Idea: the recording says which blocks work used, and when. A block that lies on the host when it
// is used is read over the bus as a whole; a policy should keep this traffic low. The policy
// `foreseen` knows the future, as no real allocator does, and serves as a reference for the other
// policies.
//
// Ownership: owns the pool and the offloader; the caller owns the device. Threads: used by one
// thread at a time. Errors: those of AllocatorModel. Units: bytes, nanoseconds.
#ifndef VRAMSTOW_TOOLS_REPLAY_OFFLOAD_MODEL_H_
#define VRAMSTOW_TOOLS_REPLAY_OFFLOAD_MODEL_H_

#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "allocator/offload/offloader.h"
#include "tools/replay/pool_model.h"

namespace vramstow {

// The policy of the model; nullopt stands for the policy kForeseen.
using OffloadModelChoice = std::optional<OffloadChoice>;
inline constexpr std::string_view kForeseen = "foreseen";

class OffloadModel : public AllocatorModel {
 public:
  OffloadModel(ModelDevice* device, uint64_t device_bytes, OffloadModelChoice choice);
  ~OffloadModel() override;

  bool Allocate(const ModelRequest& request) override;
  void Free(uint32_t block) override;
  void Flush() override { pool_.Flush(); }
  void Touch(const ModelTouch& touch) override;
  uint64_t allocated() const override { return pool_.allocated(); }
  const OffloadTraffic* traffic() override;

 private:
  struct Placed {
    uint64_t bytes = 0;
    uint64_t next_touch = 0;
  };

  static uint64_t RankForeseen(const void* self, const PageUse& use);

  SubmissionGate gate_;
  Offloader offloader_;  // before the pool, which names it
  PoolModel pool_;
  std::vector<Placed> blocks_;                  // by number
  absl::flat_hash_map<uint64_t, uint32_t> at_;  // address → number
  uint32_t clock_ = 0;
  uint64_t maintained_ns_ = 0;
  OffloadTraffic traffic_;
};

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_REPLAY_OFFLOAD_MODEL_H_
