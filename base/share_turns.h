// ShareTurns: the rules by which several processes use GPUs in turns (--share).
//
// Idea: while the memory of all processes fits on their GPUs, all run. When it does not, the turn
// belongs to one group of processes at a time, the holder. On each GPU of the holder as much memory
// of the other groups moves to the host as the holder lacks there, and members that gave memory
// wait before they submit work. A turn ends when the holder has nothing to do, or when it took so
// long that exchanging the memory cost at most a tenth of it. The next holder is the waiting group
// that has had the least time so far, as in Linux's Completely Fair Scheduler.
//
// There is one turn for all GPUs, so that a group on several GPUs gets all of them or none, and two
// such groups cannot wait for one another. Who runs on other GPUs than the holder's continues.
//
// Every process evaluates these rules with the same numbers, those of the table (share_table.h), so
// that no process has to be asked or trusted to be alive.
//
// Ownership: none. Threads: pure functions. Errors: none. Units: bytes, nanoseconds.
#ifndef VRAMSTOW_BASE_SHARE_TURNS_H_
#define VRAMSTOW_BASE_SHARE_TURNS_H_

#include <cstddef>
#include <cstdint>

namespace vramstow {

// One process. A group is the processes of one run of `vramstow run`; they have their turns
// together, because they may wait for one another.
struct ShareMember {
  uint64_t group;           // never 0
  uint64_t card;            // its GPU: a number made of the UUID
  uint64_t free_bytes;      // free memory of that GPU, or kUnknownFree
  uint64_t measured_at_ns;  // when these figures were measured
  uint64_t resident_bytes;  // device memory of its pool
  uint64_t stuck_bytes;     // of these, the bytes that cannot move
  uint64_t away_bytes;      // bytes on the host that must return before its work can run
  uint64_t wanted_bytes;    // bytes of requests that wait
  uint64_t reserve_bytes;   // what must stay free on that GPU while requests wait
  bool is_waiting;          // its work or a request of it waits for the turn
  bool is_idle;          // nothing was submitted for kShareIdleNs or more, and its work has ended
  bool is_interactive;   // short bursts of work, which somebody waits for
  bool is_paused;        // by the user: it lacks nothing, and must not submit work
  uint32_t weight;       // from 1; a group with a larger weight has longer turns
  uint64_t used_ns;      // the sum of its turns, divided by its weight
  uint64_t exchange_ns;  // what the exchange of memory at the last turn took
};

// The free memory that a process publishes whose driver does not report it.
inline constexpr uint64_t kUnknownFree = ~uint64_t{0};

struct ShareTurn {
  uint64_t holder;      // the group whose turn it is, or 0 if all run
  uint64_t turn_ns;     // for how long the holder has been running
  uint64_t stalled_ns;  // for how long the holder has lacked memory while nothing changed
  // The time now. A process that has published nothing for kShareLongestStallNs is stopped, and
  // gets no turn.
  uint64_t now_ns = 0;
};

inline constexpr uint64_t kShareIdleNs = 100'000'000;
// The shortest turn that ends while its holder has work, and the part of a turn that an exchange
// may take: one in kShareExchangePart. A turn is not longer than kShareMaxTurnNs for that, because
// the first exchange of a process makes page-locked memory, and later ones are much shorter.
inline constexpr uint64_t kShareLeastTurnNs = 500'000'000;
inline constexpr uint64_t kShareMaxTurnNs = 20'000'000'000;
inline constexpr uint64_t kShareExchangePart = 10;
// A holder that lacks memory for this long without any change loses its turn, because another
// process may be stopped, or its memory may not move.
inline constexpr uint64_t kShareLongestStallNs = 5'000'000'000;
// By how much used time an interactive group may be ahead of others and still be next.
inline constexpr uint64_t kShareHeadStartNs = 10'000'000'000;

// The part of the GPU, one in so many, that no pool takes while several processes share it. The
// driver itself may need more memory later (streams, modules, stacks of kernels). If the pools had
// left nothing for that, the memory of a process could not return.
inline constexpr uint64_t kShareReservedPart = 64;
inline uint64_t ReservedBytes(uint64_t total_bytes) { return total_bytes / kShareReservedPart; }

// The bytes that the member lacks before it can continue.
inline uint64_t LackingBytes(const ShareMember& member) {
  return member.is_paused ? 0 : member.away_bytes + member.wanted_bytes;
}
// All functions below take the members of all groups. `group` is the number of a group, and `self`
// is the index of a member.

// The bytes that all members of the group lack, on any GPU and on the GPU `card`. On one GPU they
// include the reserve if a request waits there.
uint64_t LackingBytes(const ShareMember* members, size_t count, uint64_t group);
uint64_t LackingBytes(const ShareMember* members, size_t count, uint64_t group, uint64_t card);
// The free memory of the GPU `card` by the latest figures; 0 if no member knows it.
uint64_t FreeBytesOn(const ShareMember* members, size_t count, uint64_t card);
// The bytes that the group lacks and that are not free yet, on all of its GPUs.
uint64_t ShortfallOf(const ShareMember* members, size_t count, uint64_t group);
// The bytes that the member can give up.
inline uint64_t MovableBytes(const ShareMember& member) {
  return member.resident_bytes -
         (member.stuck_bytes < member.resident_bytes ? member.stuck_bytes : member.resident_bytes);
}

// True if the free memory of each GPU suffices for everything that members lack there.
bool AllFit(const ShareMember* members, size_t count);
// True if that is so on each GPU on which the group lacks memory; then the group needs no turn.
bool GroupFits(const ShareMember* members, size_t count, uint64_t group);
// Returns the group that holds the GPU from now on, or 0 if all run. It is the present holder
// unless its turn ends.
uint64_t NextHolder(const ShareTurn& turn, const ShareMember* members, size_t count);
// True if the member `self` must not submit work now, because memory of it is on the host or has to
// move there.
bool MustWait(const ShareTurn& turn, const ShareMember* members, size_t count, size_t self);
// Returns how many bytes the member `self` must move to the host now, so that the holder has what
// it lacks on this GPU. Paused members give first, then idle ones, then those with the most movable
// memory; interactive ones give last.
uint64_t BytesToMove(const ShareTurn& turn, const ShareMember* members, size_t count, size_t self);
// True if the group of `self` can get what it lacks on the GPU of `self`, once every other member
// there has moved what it can.
bool CanBeServed(const ShareMember* members, size_t count, size_t self);
// Returns how much memory of its GPU the member `self` can have in the turn of its group, with what
// it has already, without the reserve and what other members of its group need to return.
uint64_t ReachableBytes(const ShareMember* members, size_t count, size_t self);
// The least of the amounts of the last quarter to half of a second. While memory moves, the figures
// of the table count some memory twice for a moment.
class RecentMinimum {
 public:
  static constexpr uint64_t kSpanNs = 250'000'000;

  // Notes the amount at the time `now_ns`, and returns the least one.
  uint64_t Note(uint64_t amount, uint64_t now_ns);

 private:
  uint64_t before_ = ~uint64_t{0};  // of the span before this one
  uint64_t least_ = ~uint64_t{0};   // of the span that began at began_ns_
  uint64_t began_ns_ = 0;
};
// True if the member has used its GPU in the turn of another group, while members there lacked
// memory. That time counts as if the turn had been its own.
bool RanBeside(const ShareTurn& turn, const ShareMember* members, size_t count, size_t self);
// The time after which the turn of this group ends if another group waits.
uint64_t TurnLength(const ShareMember* members, size_t count, uint64_t group);

// Counts for how long the waiting requests of one process could not be served. The figures of the
// table are not all from the same time, so that a request may seem to be servable for a moment
// while memory moves: the count continues unless this lasts.
class UnservableTime {
 public:
  static constexpr uint64_t kLastingNs = 1'000'000'000;
  // A request that could not be served for so long is refused.
  static constexpr uint64_t kRefusalNs = 2'000'000'000;

  // Notes whether the requests can be served at the time `now_ns`, and returns the count. The time
  // since the last call counts if they can be served at neither of the two times.
  uint64_t Note(bool can_be_served, uint64_t now_ns);
  // Leaves the time until the next call of Note out of the count.
  void Skip() { noted_at_ns_ = 0; }
  void Reset() { *this = UnservableTime(); }

 private:
  uint64_t count_ns_ = 0;
  uint64_t noted_at_ns_ = 0;       // 0 before the first call
  uint64_t servable_from_ns_ = 0;  // 0 if the requests cannot be served
};

// Decides how much memory a member moves to the host at once for requests of the holder.
//
// Idea: a program that loads a model asks for memory in thousands of small requests, and each move
// has a fixed cost. So a member moves as much for a request as it has moved for earlier requests of
// this turn. It never moves more than twice the bytes that were requested.
class RoomForGrowth {
 public:
  static constexpr uint64_t kMaxBytes = uint64_t{512} << 20;

  // As the function BytesToMove, but more if the holder lacks memory only for requests.
  uint64_t BytesToMove(const ShareTurn& turn, const ShareMember* members, size_t count,
                       size_t self);
  // Notes that this member has freed so many bytes.
  void Note(uint64_t freed_bytes) {
    if (grows_) freed_bytes_ += freed_bytes;
  }

 private:
  uint64_t holder_ = 0;
  uint64_t freed_bytes_ = 0;  // for requests of the turn of `holder_`
  bool grows_ = false;        // that was so at the last call of BytesToMove
};

}  // namespace vramstow

#endif  // VRAMSTOW_BASE_SHARE_TURNS_H_
