#include <algorithm>

#include "tools/analysis/explain/explain.h"
#include "tools/analysis/facts/fact_numbers.h"

namespace vramstow {
namespace {

// Returns the limit of the pool that was the reason for all moves; 0 if there is none.
uint64_t LimitAtMoves(const Facts& facts, const DeviceFacts& device) {
  const std::string key = "device." + std::to_string(device.device) + ".moved_at_limit_bytes";
  return FactNumber<uint64_t>(facts.trace_metadata, key).value_or(0);
}

// Returns what set the limit, as far as the trace tells: the option --limit, or the program.
std::string PlaceOfLimit(const Facts& facts, const DeviceFacts& device, uint64_t limit) {
  const auto& metadata = facts.trace_metadata;
  if (LimitOfOption(metadata, device.total_bytes.value_or(0)) == limit) {
    return "--limit=" + metadata.at("option.limit");
  }
  const auto place = metadata.find("device." + std::to_string(device.device) + ".limited_at");
  return place == metadata.end() ? "" : place->second;
}

}  // namespace

void FindOffloadNeed(Facts* facts) {
  OffloadFacts& offload = facts->offload;
  const uint64_t pressed = offload.by_reason[static_cast<size_t>(OffloadReason::kPressure)];
  if (pressed == 0) return;
  offload.carries_job = facts->counts.out_of_memory == 0;
  double highest = 0;
  for (const DeviceFacts& device : facts->devices) {
    const uint64_t card = device.total_bytes.value_or(0);
    if (card == 0) continue;
    const uint64_t gone = card - std::min(card, device.free_bytes_at_start.value_or(card));
    const uint64_t needed = device.peak_bytes + gone;
    const uint64_t limit = LimitAtMoves(*facts, device);
    const uint64_t room = limit != 0 ? std::min(card, limit + gone) : card;
    const double share = static_cast<double>(needed) / static_cast<double>(room);
    if (share <= highest) continue;
    highest = share;
    offload.limit_bytes = limit;
    offload.limit_place = limit != 0 ? PlaceOfLimit(*facts, device, limit) : "";
    if (!offload.carries_job) continue;
    offload.needed_bytes = needed;
    offload.card_bytes = card;
    offload.room_bytes = room;
  }
}

}  // namespace vramstow
