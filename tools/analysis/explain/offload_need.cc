#include <algorithm>

#include "tools/analysis/explain/explain.h"

namespace vramstow {

void FindOffloadNeed(Facts* facts) {
  OffloadFacts& offload = facts->offload;
  const uint64_t pressed = offload.by_reason[static_cast<size_t>(OffloadReason::kPressure)];
  offload.carries_job = pressed != 0 && facts->counts.out_of_memory == 0;
  if (!offload.carries_job) return;
  double highest = 0;
  for (const DeviceFacts& device : facts->devices) {
    const uint64_t card = device.total_bytes.value_or(0);
    if (card == 0) continue;
    const uint64_t gone = card - std::min(card, device.free_bytes_at_start.value_or(card));
    const uint64_t needed = device.peak_bytes + gone;
    const double share = static_cast<double>(needed) / static_cast<double>(card);
    if (share <= highest) continue;
    highest = share;
    offload.needed_bytes = needed;
    offload.card_bytes = card;
  }
}

}  // namespace vramstow
