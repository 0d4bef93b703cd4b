// The state in which a process that shares its GPU is, as users see it (--share).
//
// Ownership: none. Threads: pure functions. Errors, units: none.
#ifndef VRAMSTOW_BASE_SHARE_STATE_H_
#define VRAMSTOW_BASE_SHARE_STATE_H_

#include <cstdint>

#include "base/share_turns.h"

namespace vramstow {

enum class ShareState : uint8_t { kTurn, kWaits, kParked, kIdle, kRuns, kPaused };
inline constexpr const char* kShareStateNames[] = {"turn", "waits", "parked",
                                                   "idle", "runs",  "paused"};

inline const char* NameOf(ShareState state) { return kShareStateNames[static_cast<int>(state)]; }

// Returns the state of a process; `holder` is the group whose turn it is, or 0.
inline ShareState ShareStateOf(const ShareMember& member, uint64_t holder) {
  if (member.is_paused) return ShareState::kPaused;
  if (holder != 0 && member.group == holder) return ShareState::kTurn;
  if (member.is_waiting) return ShareState::kWaits;
  if (member.away_bytes != 0) return ShareState::kParked;
  return member.is_idle ? ShareState::kIdle : ShareState::kRuns;
}

}  // namespace vramstow

#endif  // VRAMSTOW_BASE_SHARE_STATE_H_
