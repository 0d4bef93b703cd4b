// WaitingRequests decides about the requests for memory of this process that wait for room.
//
// Idea: all requests of a RoomRequest are granted together, when it is this process's turn and the
// GPU has room for them. The room stays reserved for a moment, because the threads that asked still
// have to take it. If the GPU is too small, the largest request is refused at once. It is refused
// later if the requests could not be served for some time: the memory of a process that has just
// ended becomes free a little later.
//
// Ownership: none. Threads: one; RoomRequest itself is called by any. Errors: none. Units: bytes,
// nanoseconds of MonotonicTime.
#ifndef VRAMSTOW_INTERPOSE_CORE_SHARE_WAITING_REQUESTS_H_
#define VRAMSTOW_INTERPOSE_CORE_SHARE_WAITING_REQUESTS_H_

#include <cstdint>

#include "base/share_turns.h"
#include "interpose/core/runtime/core.h"
#include "interpose/core/share/movable_memory.h"

namespace vramstow {

class WaitingRequests {
 public:
  enum class Answer : uint8_t { kNone, kGrant, kRefuse };

  constexpr explicit WaitingRequests(RoomRequest& requests) : requests_(requests) {}
  WaitingRequests(const WaitingRequests&) = delete;
  WaitingRequests& operator=(const WaitingRequests&) = delete;

  // Looks for requests. Returns true if the first one has come since the last call.
  bool Look();
  // True if requests wait.
  bool any() const;
  // When the oldest waiting request was first seen; 0 if none waits.
  uint64_t since_ns() const { return since_ns_; }
  // The bytes that the requests lack, for the table.
  uint64_t LackingBytes(const MovableMemory::Figures& figures);

  // What Decide has to know about the table.
  struct Situation {
    bool has_room;       // it is our turn, and the GPU has all that our group lacks
    bool can_be_served;  // others have enough memory that can move
    bool is_fresh;       // all figures of the table are newer than since_ns()
  };
  Answer Decide(const MovableMemory::Figures& figures, const Situation& situation);
  // Grants all requests, or refuses the largest one. `resident_bytes` are those of this process
  // now.
  void Give(Answer answer, uint64_t resident_bytes);
  // Lets the requests try again, because memory that they may use has returned. Nothing is
  // reserved.
  void TryAgain();
  // In a forked child.
  void Reset();

 private:
  RoomRequest& requests_;
  uint64_t since_ns_ = 0;
  uint64_t seen_at_ns_ = 0;  // when a request last waited
  UnservableTime unservable_;
  uint64_t granted_bytes_ = 0;       // of the last granted requests
  uint64_t granted_from_bytes_ = 0;  // resident bytes when they were granted
  uint64_t granted_until_ns_ = 0;
};

}  // namespace vramstow

#endif  // VRAMSTOW_INTERPOSE_CORE_SHARE_WAITING_REQUESTS_H_
