// TurnClock measures how long turns and exchanges of memory take (--share).
//
// Idea: the time is the real time, or the virtual time of a simulated GPU with clock=model. Without
// that clock a simulated GPU does not count the time in which the simulator copies memory, but the
// programs wait for it. With that clock a process that waited for another one continues at the time
// that the other one has reached: the table has the latest time of each GPU.
//
// Ownership: none; driver, memory and table outlive it. Threads: the sharer's. Errors: without the
// table's lock nothing is noted. Units: nanoseconds.
#ifndef VRAMSTOW_INTERPOSE_CORE_SHARE_TURN_CLOCK_H_
#define VRAMSTOW_INTERPOSE_CORE_SHARE_TURN_CLOCK_H_

#include <cstdint>

#include "base/share_table.h"
#include "interpose/core/runtime/core.h"
#include "interpose/core/share/movable_memory.h"

namespace vramstow {

class TurnClock {
 public:
  constexpr TurnClock(const Driver& driver, const MovableMemory& memory, ShareTable& table)
      : driver_(driver), memory_(memory), table_(table) {}
  TurnClock(const TurnClock&) = delete;
  TurnClock& operator=(const TurnClock&) = delete;

  // Sets the number of our GPU in the table.
  void Open(uint64_t card) { card_ = card; }
  uint64_t Now() const;
  // For how long nothing must be submitted before this process is idle: as long as an exchange
  // takes. A turn that ends earlier may cost more than it saves.
  uint64_t IdleTime() const;

  bool is_in_turn() const { return turn_began_ns_ != 0; }
  // Begins a turn, and writes into the table what the exchange of memory for it took. If no memory
  // of this process has left since its turn before, the exchange continues the one of that turn:
  // requests for memory may begin turns shortly after one another, each of which moves little.
  void BeginTurn();
  void EndTurn() { turn_began_ns_ = 0; }
  // Notes how long the present turn and its exchange have taken; the table is locked. Other
  // processes continue at that time, also if this process is killed.
  void NoteTurn();

  // Notes that memory has left, or returned, since `began_ns`; the table is locked for
  // NoteMovedOut.
  void NoteMovedOut(uint64_t began_ns, uint64_t bytes);
  void NoteMovedBack(uint64_t began_ns, uint64_t bytes);
  // Notes the virtual time, at which those continue that waited for this process; the table is
  // locked.
  void NoteCardTime();
  // Lets a simulated GPU continue at the time at which the turn before ended, and counts the time
  // until then as waited.
  void JoinCardTime();

  // What one process did, for its trace. The last two are 0 without clock=model.
  struct Sums {
    uint64_t out_ns = 0;  // of the exchanges in which bytes moved
    uint64_t in_ns = 0;
    bool is_modelled = false;
    uint64_t end_ns = 0;     // the virtual time
    uint64_t waited_ns = 0;  // virtual time in which this process was stopped
  };
  Sums ReadSums() const;
  // In a forked child.
  void Reset();

 private:
  void NoteExchange();

  const Driver& driver_;
  const MovableMemory& memory_;
  ShareTable& table_;
  uint64_t card_ = 0;
  uint64_t in_ns_ = 0;          // how long memory took to return for the present turn
  uint64_t before_ns_ = 0;      // of exchange_ns_, what was taken before the present turn began
  uint64_t exchange_ns_ = 0;    // what the exchange for the last own turn took
  bool has_left_ = false;       // memory has left since the last own turn began
  uint64_t turn_began_ns_ = 0;  // 0 outside an own turn
  uint64_t all_out_ns_ = 0;
  uint64_t all_in_ns_ = 0;
  uint64_t joined_ns_ = 0;
};

}  // namespace vramstow

#endif  // VRAMSTOW_INTERPOSE_CORE_SHARE_TURN_CLOCK_H_
