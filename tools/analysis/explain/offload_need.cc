#include <algorithm>
#include <cmath>
#include <optional>
#include <string>

#include "absl/strings/numbers.h"
#include "tools/analysis/explain/explain.h"
#include "tools/analysis/facts/named_facts.h"

namespace vramstow {
namespace {

std::string KeyOf(const DeviceFacts& device, const char* name) {
  return "device." + std::to_string(device.device) + "." + name;
}

uint64_t CardOf(const DeviceFacts& device) { return device.total_bytes.value_or(0); }

// Returns the memory of the GPU that was in use before this process allocated.
uint64_t GoneFrom(const DeviceFacts& device) {
  return CardOf(device) - std::min(CardOf(device), device.free_bytes_at_start.value_or(~0ULL));
}

// Returns the limit of the pool that was the reason for all moves from this GPU. Returns 0 if some
// moves had another reason, or if the GPU had less free memory than the limit allows. Returns no
// value if no memory moved from this GPU.
std::optional<uint64_t> LimitAtMoves(const Facts& facts, const DeviceFacts& device) {
  const auto limit =
      FactNumber<uint64_t>(facts.trace_metadata, KeyOf(device, "moved_at_limit_bytes"));
  if (!limit.has_value()) return std::nullopt;
  return *limit + GoneFrom(device) < CardOf(device) ? *limit : 0;
}

// True if memory moved from a GPU because the GPU had no free memory.
bool WasAnyFull(const Facts& facts) {
  return std::ranges::any_of(facts.devices, [&](const DeviceFacts& device) {
    return LimitAtMoves(facts, device) == uint64_t{0};
  });
}

// True if the program's last call that limits the pool, or its last call of
// set_per_process_memory_fraction(), set this limit.
bool IsOfLastCall(const Facts& facts, const DeviceFacts& device, uint64_t limit) {
  constexpr double kRounding = 2 << 20;
  if (IsLimitOfPool(facts.trace_metadata, KeyOf(device, "limited_by"))) {
    return FactNumber<uint64_t>(facts.trace_metadata, KeyOf(device, "limited_bytes")) == limit;
  }
  const auto text = facts.trace_metadata.find(KeyOf(device, "limited_fraction"));
  double fraction = 0;
  if (text == facts.trace_metadata.end() || !absl::SimpleAtod(text->second, &fraction)) {
    return false;
  }
  const double bytes = fraction * static_cast<double>(CardOf(device));
  return std::abs(bytes - static_cast<double>(limit)) <= kRounding;
}

// Returns what set the limit, as far as the trace tells: the option --limit, or the program.
std::string PlaceOfLimit(const Facts& facts, const DeviceFacts& device, uint64_t limit) {
  const auto& metadata = facts.trace_metadata;
  if (LimitOfOption(metadata, CardOf(device)) == limit) {
    return "--limit=" + metadata.at("option.limit");
  }
  const auto place = metadata.find(KeyOf(device, "limited_at"));
  if (place == metadata.end() || !IsOfLastCall(facts, device, limit)) return "";
  return place->second;
}

}  // namespace

void FindOffloadNeed(Facts* facts) {
  OffloadFacts& offload = facts->offload;
  const uint64_t pressed = offload.by_reason[static_cast<size_t>(OffloadReason::kPressure)];
  if (pressed == 0) return;
  offload.carries_job = facts->counts.out_of_memory == 0;
  offload.was_full = WasAnyFull(*facts);
  double highest = 0;
  for (const DeviceFacts& device : facts->devices) {
    const uint64_t card = CardOf(device);
    if (card == 0) continue;
    const uint64_t gone = GoneFrom(device);
    const uint64_t needed = device.peak_bytes + gone;
    const uint64_t limit = offload.was_full ? 0 : LimitAtMoves(*facts, device).value_or(0);
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
