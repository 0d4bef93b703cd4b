#include "tools/replay/flush_finder.h"

#include <string_view>

namespace vramstow {
namespace {

bool IsSegment(const Event& event) {
  return event.layer == Layer::kPool && event.memory != MemoryKind::kHostPhysical &&
         event.memory != MemoryKind::kHostPinned;
}

}  // namespace

std::optional<int16_t> FlushFinder::Take(const Event& event) {
  const bool is_segment = IsSegment(event);
  if (is_segment && (event.kind == EventKind::kFree || event.kind == EventKind::kUnmap)) {
    // The driver's functions that free memory are given no device. An unmapped range is followed by
    // the release of its memory, whose device is known.
    int16_t device = event.device;
    if (const auto known = segments_.find(event.address);
        known != segments_.end() && event.kind == EventKind::kFree) {
      device = known->second;
      segments_.erase(known);
    }
    if (device == kNoDevice) return std::nullopt;
    Releases& releases = devices_[device];
    if (!releases.open) releases = {.open = true, .refused = releases.refused};
    releases.is_call = event.call != kUnknownName;
    Release(&releases);
    return std::nullopt;
  }
  if (event.device == kNoDevice) return std::nullopt;
  Releases& releases = devices_[event.device];
  bool found = false;
  if (releases.open) {
    releases.open = false;
    const bool takes_again = (is_segment && event.kind != EventKind::kNone) || event.result != 0;
    found = IsApplications(releases, owner_, takes_again);
    if (found && !releases.has_stack) ++guesses_;
  }
  NoteCall(event, &releases);
  return found ? std::optional<int16_t>(event.device) : std::nullopt;
}

std::vector<int16_t> FlushFinder::OpenAtEnd() const {
  std::vector<int16_t> devices;
  for (const auto& [device, releases] : devices_) {
    if (releases.open && IsApplications(releases, owner_, false)) devices.push_back(device);
  }
  return devices;
}

void FlushFinder::Release(Releases* releases) {
  releases->for_room = releases->for_room || releases->refused;
  const uint32_t stack = source_.Stack();
  if (stack == 0) return;
  releases->has_stack = true;
  releases->by_application = releases->by_application || FromEmptyCache(stack);
}

// Remembers segments, and whether the driver refused the newest one.
void FlushFinder::NoteCall(const Event& event, Releases* releases) {
  if (event.layer == Layer::kFramework) releases->refused = false;
  if (!IsSegment(event) || event.kind != EventKind::kAllocate) return;
  releases->refused = event.result != 0;
  if (event.result == 0) segments_[event.address] = event.device;
}

bool FlushFinder::FromEmptyCache(uint32_t stack) {
  const auto [known, is_new] = known_.try_emplace(stack, false);
  if (!is_new) return known->second;
  for (const CallFrame& frame : source_.Frames(stack)) {
    known->second = known->second || frame.function == "empty_cache" ||
                    frame.function.find("emptyCache") != std::string_view::npos;
  }
  return known->second;
}

// Returns true if the application caused the releases. `takes_again` says that a request for memory
// follows.
bool FlushFinder::IsApplications(const Releases& releases, CacheOwner owner, bool takes_again) {
  // vramstow's own pool also releases chunks for other reasons, so only a call stack shows that the
  // application requested the release.
  if (releases.by_application || owner == CacheOwner::kOwnPool) return releases.by_application;
  if (releases.for_room) return false;
  if (!takes_again) return true;
  return owner == CacheOwner::kTraced && releases.is_call && !releases.has_stack;
}

}  // namespace vramstow
