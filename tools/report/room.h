// Room: how much of a GPU was never used.
//
// Idea: a process that had its GPU alone used what it reserved, and the driver's answers say if
// other programs used more. If several processes had memory of the GPU, only the driver's answers
// count, and they are about single moments: so they say how much was never used at the most.
//
// Ownership: the caller owns the results. Threads: pure functions, callable from any thread.
// Errors: none. Units: bytes.
#ifndef VRAMSTOW_TOOLS_REPORT_ROOM_H_
#define VRAMSTOW_TOOLS_REPORT_ROOM_H_

#include <cstdint>
#include <optional>
#include <string>

#include "tools/analysis/facts/facts.h"
#include "tools/analysis/facts/gpu_sharers.h"

namespace vramstow {

// How full the fullest GPU of a process was.
struct Room {
  int device = kNoDevice;
  uint64_t card_bytes = 0;
  uint64_t used_bytes = 0;
  uint64_t left_bytes = 0;  // at the most, if is_shared
  bool is_shared = false;   // other processes had memory of the GPU, too
};

// Returns how full the fullest GPU of the trace was. Returns nullopt if the trace does not have the
// size of a GPU, if it does not show all memory of the process, or if processes shared a GPU and
// the driver was not asked.
std::optional<Room> RoomOf(const GpuSharers& sharers, const Facts& trace);
// Returns "139 GiB of the GPU's 140 GiB were never used" or "the GPU was full"; empty if unknown.
std::string RoomInWords(const GpuSharers& sharers, const Facts& trace);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_REPORT_ROOM_H_
