// TorchSettings: parses PYTORCH_CUDA_ALLOC_CONF as PyTorch's own allocator does.
//
// Ownership: a plain value. Threads: const functions may be called at the same time. Errors:
// kInvalidArgument with one sentence. Units: bytes. Source: PyTorch's page "CUDA semantics",
// section "Optimizing memory usage", and the names in torch 2.15's c10/core/AllocatorConfig.h.
#ifndef VRAMSTOW_TOOLS_REPLAY_TORCH_SETTINGS_H_
#define VRAMSTOW_TOOLS_REPLAY_TORCH_SETTINGS_H_

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/units.h"
#include "tools/formats/snapshot.h"

namespace vramstow {

struct TorchSettings {
  uint64_t max_split_bytes = std::numeric_limits<uint64_t>::max();
  uint64_t max_non_split_rounding_bytes = 20 * kMiB;
  bool sets_non_split_rounding = false;  // the text names it
  uint64_t large_segment_bytes = 20 * kMiB;
  double garbage_collection_threshold = 0;
  // The fraction of the device's memory that may be reserved. A value over 1 means that no limit
  // was set; then no garbage is collected.
  double memory_fraction = 2;
  bool expandable_segments = false;
  // Settings with names as in a snapshot ("roundup_power2_divisions.64"), which BlockRounding
  // reads.
  std::vector<AllocatorSetting> divisions;
};

// Adds settings, written as "max_split_size_mb:64,roundup_power2_divisions:[256:4,>:1]", to
// `settings`. Settings without an effect on device memory are ignored.
absl::StatusOr<TorchSettings> ParseTorchSettings(std::string_view text, TorchSettings settings);

// Returns an error if PyTorch refuses these values together. It accepts them in any order.
absl::Status CheckTorchSettings(const TorchSettings& settings);

// Splits the text at commas that are not within brackets.
std::vector<std::string_view> SplitSettings(std::string_view text);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_REPLAY_TORCH_SETTINGS_H_
