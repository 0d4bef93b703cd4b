// Advice if the cache still holds the memory of a peak that is over.
#include "tools/analysis/advice/advice_words.h"
#include "tools/analysis/advice/other_allocator.h"
#include "tools/analysis/advice/rule.h"

namespace vramstow {
namespace {

// The peak is over, so the cached memory of the peak is useless to the job and is missing
// elsewhere.
Hint FindCacheAtEnd(const Evidence& evidence) {
  const Facts& facts = evidence.facts();
  // If the job failed, the cache that it held at its end does not matter.
  if (!facts.cache.known || !facts.out_of_memory.empty()) return std::nullopt;
  uint64_t reserved = 0;
  uint64_t allocated = 0;
  for (const DeviceFacts& device : facts.devices) {
    reserved += device.end_reserved_bytes;
    allocated += device.end_bytes;
  }
  // A program that ends frees everything, its cache included.
  if (allocated * 20 < facts.peak.allocated_bytes) return std::nullopt;
  if (reserved < allocated * 2 || !evidence.IsWorthIt(reserved - allocated)) return std::nullopt;
  return AdviceFacts{
      .title = "The cache stays large after the peak is over",
      .bytes = reserved - allocated,
      .evidence = "At the end " + AdviceText(reserved) + " were reserved and " +
                  AdviceText(allocated) +
                  " allocated. A smaller cache does not lower this process's own peak. It helps "
                  "other processes on the GPU, and libraries and pools that cannot use the cache.",
      .cost = "A few cudaMalloc calls if the memory is needed again (milliseconds each).",
      .action = "Call torch.cuda.empty_cache() once between the phases."};
}

}  // namespace

constinit const Rule kCacheAtEnd = {
    .rank = Rank::kLast,
    .meaning = "the cache stays large after the peak is over",
    .help =
        "At the end twice as much was reserved as was allocated. A smaller cache does not lower "
        "the job's own peak, but other processes on the GPU could use the memory. This advice is "
        "not given if the program frees everything at its end.",
    .needs = {kNeedsCache},
    .advice = FindCacheAtEnd,
};

}  // namespace vramstow
