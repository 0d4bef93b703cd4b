#include "tools/report/room.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tools/analysis/facts/known_part.h"
#include "tools/analysis/facts/named_facts.h"
#include "tools/base/words.h"

namespace vramstow {
namespace {

uint64_t HadAtStart(const DeviceFacts& device) {
  return device.free_bytes_at_start.value_or(device.total_bytes.value_or(0));
}

// Allocated memory that was moved to the host used none of the GPU's memory.
uint64_t UsedOf(const Facts& trace, const DeviceFacts& device) {
  const uint64_t away = std::min(device.peak_bytes, trace.offload.most_bytes);
  return std::max(device.peak_reserved_bytes, device.peak_bytes - away);
}

// Returns the lowest free memory that the driver reported to the process; nullopt if it reported
// none. The option --limit also applies to the free bytes that cuMemGetInfo reports. If these were
// fewer than the limit left, the GPU had no more.
std::optional<uint64_t> LowestAnswer(const Facts& trace, const DeviceFacts& device) {
  const uint64_t lowest = device.lowest_free_bytes.value_or(HadAtStart(device));
  const uint64_t card = device.total_bytes.value_or(HadAtStart(device));
  const auto limit = LimitOfOption(trace.trace_metadata, card);
  const bool may_be_of_limit = limit.has_value() && lowest + UsedOf(trace, device) >= *limit;
  return may_be_of_limit ? std::nullopt : device.lowest_free_bytes;
}

// Returns the lowest free memory of a GPU that the processes shared, as far as the driver was
// asked; nullopt if it was not.
std::optional<uint64_t> LowestOfSharers(const std::vector<const Facts*>& others, const Facts& trace,
                                        const DeviceFacts& device) {
  std::optional<uint64_t> lowest = LowestAnswer(trace, device);
  const std::string key = absl::StrCat("device.", device.device, ".uuid");
  const std::string uuid = FactText(trace.trace_metadata, key);
  for (const Facts* other : others) {
    for (const DeviceFacts& one : other->devices) {
      const std::string of_one =
          FactText(other->trace_metadata, absl::StrCat("device.", one.device, ".uuid"));
      const bool is_same = uuid.empty() ? one.device == device.device : of_one == uuid;
      const std::optional<uint64_t> answer = LowestAnswer(*other, one);
      if (!is_same || !answer.has_value()) continue;
      lowest = std::min(lowest.value_or(*answer), *answer);
    }
  }
  return lowest;
}

}  // namespace

std::optional<Room> RoomOf(const GpuSharers& sharers, const Facts& trace) {
  if (SeesOnlyFramework(trace)) return std::nullopt;
  std::optional<Room> least;
  for (const DeviceFacts& device : trace.devices) {
    const uint64_t had = HadAtStart(device);
    if (had == 0) continue;
    const std::vector<const Facts*> others = sharers.Of(trace, device);
    Room room;
    room.device = device.device;
    room.card_bytes = device.total_bytes.value_or(had);
    room.used_bytes = UsedOf(trace, device);
    room.left_bytes = had - std::min(had, room.used_bytes);
    room.is_shared = !others.empty() || IsWithShare(trace);
    const std::optional<uint64_t> lowest =
        room.is_shared ? LowestOfSharers(others, trace, device) : LowestAnswer(trace, device);
    const bool was_full = room.is_shared && trace.devices.size() == 1 && HadToLeave(trace);
    if (room.is_shared && !lowest.has_value() && !was_full) return std::nullopt;
    room.left_bytes = std::min(room.left_bytes, lowest.value_or(room.left_bytes));
    if (was_full) room.left_bytes = 0;
    if (!least.has_value() || room.left_bytes < least->left_bytes) least = room;
  }
  return least;
}

std::string RoomInWords(const GpuSharers& sharers, const Facts& trace) {
  const std::optional<Room> room = RoomOf(sharers, trace);
  if (!room.has_value()) return "";
  const bool is_one = trace.devices.size() == 1;
  if (room->left_bytes == 0) {
    return is_one ? "the GPU was full" : absl::StrCat("GPU ", room->device, " was full");
  }
  return absl::StrCat(room->is_shared ? "at most " : "", Bytes(room->left_bytes), " of the ",
                      is_one ? "GPU's " : "", Bytes(room->card_bytes),
                      is_one ? "" : absl::StrCat(" of device ", room->device), " were never used");
}

}  // namespace vramstow
