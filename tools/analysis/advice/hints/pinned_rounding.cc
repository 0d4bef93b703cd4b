// Advice: PyTorch rounds page-locked buffers up to powers of two.
#include <string>

#include "tools/analysis/advice/advice_words.h"
#include "tools/analysis/advice/rule.h"

namespace vramstow {
namespace {

constexpr uint64_t kLeastRounding = uint64_t{64} << 20;

// Returns the line of the largest group of page-locked buffers that exist at the end.
std::string PlaceOfBuffers(const Facts& facts) {
  for (const BlockFacts& group : facts.live.groups) {
    if (group.memory == MemoryKind::kHostPinned || group.memory == MemoryKind::kHostRegistered) {
      return group.site;
    }
  }
  return "";
}

// There is no advice if the trace has only the locked sizes and not the requested sizes, because
// the difference is then 0.
Hint FindPinnedRounding(const Evidence& evidence) {
  const Facts& facts = evidence.facts();
  const uint64_t rounding = facts.host.pinned_rounding_bytes;
  if (rounding < kLeastRounding) return std::nullopt;
  return AdviceFacts{
      .title = "PyTorch rounds the size of page-locked buffers up to powers of two",
      .bytes = rounding,
      .evidence = AdviceText(rounding) + " of " + AdviceText(facts.peak.host_bytes) +
                  " of page-locked host memory were not requested: PyTorch rounds each buffer up "
                  "to a power of two, so that a buffer a little above one takes twice its size.",
      .cost = "None.",
      .action =
          "Use buffers whose sizes are at or just below a power of two, or set "
          "PYTORCH_CUDA_ALLOC_CONF=pinned_reserve_segment_size_mb:N, if your PyTorch has it, so "
          "that buffers are cut from one segment.",
      .place = PlaceOfBuffers(facts)};
}

bool IsRounded(const Evidence& evidence) { return evidence.facts().host.pinned_rounding_bytes > 0; }

constexpr Precondition kNeedsRounding = {.words =
                                             "more page-locked memory was allocated than was "
                                             "requested, and the trace contains both sizes",
                                         .in_job = IsRounded};

}  // namespace

constinit const Rule kPinnedRounding = {
    .rank = Rank::kUsual,
    .meaning = "PyTorch rounds the size of page-locked buffers up to powers of two",
    .help =
        "PyTorch locks the next power of two for each page-locked buffer. Buffers a little above a "
        "power of two take twice the requested size. This advice is given only if the trace "
        "contains both sizes. Choose other sizes, or set pinned_reserve_segment_size_mb in "
        "PYTORCH_CUDA_ALLOC_CONF.",
    .needs = {kNeedsRounding},
    .advice = FindPinnedRounding,
    .saves = false,
};

}  // namespace vramstow
