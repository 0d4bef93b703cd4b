// Advice: PyTorch rounds page-locked buffers up to powers of two.
#include <bit>
#include <string>

#include "tools/analysis/advice/advice_words.h"
#include "tools/analysis/advice/rule.h"

namespace vramstow {
namespace {

constexpr uint64_t kLeastPinnedBuffer = uint64_t{16} << 20;
constexpr uint64_t kLeastPinnedBytes = uint64_t{256} << 20;

// The driver is asked for the rounded size, so that the trace has no other.
Hint FindPinnedRounding(const Evidence& evidence) {
  uint64_t bytes = 0;
  uint64_t buffers = 0;
  std::string place;
  for (const BlockFacts& group : evidence.facts().live.groups) {
    if (group.memory != MemoryKind::kHostPinned && group.memory != MemoryKind::kHostRegistered) {
      continue;
    }
    if (group.size < kLeastPinnedBuffer || !std::has_single_bit(group.size)) continue;
    bytes += group.size * group.count;
    buffers += group.count;
    if (place.empty()) place = group.site;
  }
  if (bytes < kLeastPinnedBytes) return std::nullopt;
  return AdviceFacts{
      .title = "PyTorch rounds page-locked buffers up to powers of two",
      .bytes = bytes / 2,
      .evidence = std::to_string(buffers) + " page-locked buffers take " + AdviceText(bytes) +
                  " of host memory, each a power of two: PyTorch rounds up, so that a buffer a "
                  "little above a power of two takes twice what was asked for. Up to half of "
                  "these bytes may be rounding.",
      .cost = "None.",
      .action =
          "Give buffers sizes at or just below a power of two, or set "
          "PYTORCH_CUDA_ALLOC_CONF=pinned_reserve_segment_size_mb:N, where PyTorch has it, so that "
          "buffers are cut from one segment.",
      .is_estimate = true,
      .place = place};
}

bool HasPinnedMemory(const Evidence& evidence) {
  return std::ranges::any_of(evidence.facts().live.groups, [](const BlockFacts& group) {
    return group.memory == MemoryKind::kHostPinned || group.memory == MemoryKind::kHostRegistered;
  });
}

constexpr Precondition kNeedsPinnedMemory = {
    .words = "page-locked memory of the host was live at the end", .in_job = HasPinnedMemory};

}  // namespace

constinit const Rule kPinnedRounding = {
    .rank = Rank::kUsual,
    .meaning = "PyTorch rounds page-locked buffers up to powers of two",
    .help =
        "PyTorch locks the next power of two for each page-locked buffer. Buffers a little above "
        "a power of two take twice what was asked for. Choose their sizes, or set "
        "pinned_reserve_segment_size_mb in PYTORCH_CUDA_ALLOC_CONF.",
    .needs = {kNeedsPinnedMemory},
    .advice = FindPinnedRounding,
    .saves = false,
};

}  // namespace vramstow
