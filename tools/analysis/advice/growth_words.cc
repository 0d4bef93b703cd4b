#include "tools/analysis/advice/growth_words.h"

#include <algorithm>

#include "base/units.h"
#include "tools/base/words.h"

namespace vramstow {
namespace {

// Returns the bytes that the process can have on its GPUs; 0 if unknown. What contexts and other
// processes have is neither free nor reserved by this process when the driver tells what is free.
uint64_t RoomOnCards(const Facts& facts) {
  uint64_t room = 0;
  for (const DeviceFacts& device : facts.devices) {
    uint64_t of_device = device.free_bytes_at_start.value_or(device.total_bytes.value_or(0));
    if (device.lowest_free_bytes.has_value()) {
      const uint64_t held = std::max(device.peak_bytes, device.peak_reserved_bytes);
      of_device = std::min(of_device, *device.lowest_free_bytes + held);
    }
    room += of_device;
  }
  return room;
}

}  // namespace

uint64_t GrownByIterations(const Evidence& evidence) {
  if (!evidence.HasTrueIterations()) return 0;
  uint64_t bytes = 0;
  for (const GrowthFacts& growth : evidence.facts().lifetimes.growing) bytes += growth.bytes;
  return bytes < kMiB ? 0 : bytes;
}

std::string WhenFull(const Facts& facts) {
  const HourFacts& growth = facts.by_hour;
  const uint64_t room = RoomOnCards(facts);
  if (!growth.is_endless || !facts.out_of_memory.empty() || room <= growth.to_bytes) return "";
  constexpr uint64_t kHourNs = uint64_t{3600} * 1'000'000'000;
  const double hours =
      static_cast<double>(room - growth.to_bytes) / static_cast<double>(growth.bytes_per_hour);
  constexpr double kMaxHours = 24 * 365;
  if (hours > kMaxHours) return "";
  return " The GPU is full " + Time(static_cast<uint64_t>(hours * static_cast<double>(kHourNs))) +
         " later at this rate.";
}

}  // namespace vramstow
