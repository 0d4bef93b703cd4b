// TorchSettings: PYTORCH_ALLOC_CONF as PyTorch's own allocator reads it.
//
// Ownership: a value. Threads: const calls are free. Errors: kInvalidArgument, one sentence.
// Units: bytes. Source: PyTorch's page "CUDA semantics", section "Optimizing memory usage", and the
// names in torch 2.15's c10/core/AllocatorConfig.h.
#ifndef VRAMSTOW_TOOLS_REPLAY_TORCH_SETTINGS_H_
#define VRAMSTOW_TOOLS_REPLAY_TORCH_SETTINGS_H_

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "base/units.h"
#include "tools/formats/snapshot.h"

namespace vramstow {

struct TorchSettings {
  uint64_t max_split_bytes = std::numeric_limits<uint64_t>::max();
  uint64_t max_non_split_rounding_bytes = 20 * kMiB;
  uint64_t large_segment_bytes = 20 * kMiB;
  double garbage_collection_threshold = 0;
  // Of the device's memory; over 1: no limit was set, and nothing is collected.
  double memory_fraction = 2;
  bool expandable_segments = false;
  // As a snapshot names them, "roundup_power2_divisions.64"; for BlockRounding.
  std::vector<AllocatorSetting> divisions;
};

// "max_split_size_mb:64,roundup_power2_divisions:[256:4,>:1]", added to `settings`. Settings that
// have no effect on device memory are let pass.
absl::StatusOr<TorchSettings> ParseTorchSettings(std::string_view text, TorchSettings settings);

// Cuts at commas that are not within brackets.
std::vector<std::string_view> SplitSettings(std::string_view text);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_REPLAY_TORCH_SETTINGS_H_
