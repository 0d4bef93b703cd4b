#include "interpose/core/share/turn_clock.h"

#include <algorithm>

#include "base/monotonic_clock.h"
#include "base/share_turns.h"
#include "interpose/core/runtime/driver.h"

namespace vramstow {
namespace {

constexpr uint64_t kMaxIdleNs = 1'000'000'000;
constexpr uint64_t kLockWaitNs = 1'000'000'000;

uint64_t Since(uint64_t began_ns, uint64_t now_ns) {
  return now_ns > began_ns ? now_ns - began_ns : 0;
}

}  // namespace

uint64_t TurnClock::Now() const {
  Driver::ModelClock clock;
  return driver_.ReadModelClock(&clock) ? memory_.CardTime() : MonotonicTime();
}

uint64_t TurnClock::IdleTime() const {
  Driver::ModelClock clock;
  // The virtual time advances only with work, so it cannot tell that none comes.
  if (driver_.ReadModelClock(&clock)) return kShareIdleNs;
  return std::clamp(exchange_ns_, kShareIdleNs, kMaxIdleNs);
}

void TurnClock::BeginTurn() {
  before_ns_ = has_left_ ? in_ns_ : exchange_ns_ + in_ns_;
  has_left_ = false;
  in_ns_ = 0;
  turn_began_ns_ = Now();
  if (!table_.Lock(kLockWaitNs)) return;
  NoteExchange();
  table_.Unlock();
}

// Writes into the table what the exchange for the present turn has taken so far.
void TurnClock::NoteExchange() {
  // The time of the others belongs to the turn of the holder.
  ShareMember& member = table_.own().member;
  if (table_.header().holder != member.group) return;
  exchange_ns_ = before_ns_ + table_.header().out_ns;
  member.exchange_ns = exchange_ns_;
}

void TurnClock::NoteTurn() {
  if (!is_in_turn()) return;
  table_.own().turn_ns = Since(turn_began_ns_, Now());
  NoteExchange();
  NoteCardTime();
}

void TurnClock::NoteMovedOut(uint64_t began_ns, uint64_t bytes) {
  const uint64_t took = Since(began_ns, Now());
  if (bytes != 0) all_out_ns_ += took;
  has_left_ = true;
  table_.header().out_ns += took;
  NoteCardTime();
}

void TurnClock::NoteMovedBack(uint64_t began_ns, uint64_t bytes) {
  const uint64_t took = Since(began_ns, Now());
  in_ns_ += took;
  if (bytes != 0) all_in_ns_ += took;
}

void TurnClock::NoteCardTime() {
  Driver::ModelClock clock = {};
  if (!driver_.ReadModelClock(&clock)) return;
  table_.AdvanceClock(card_, std::max(clock.now_ns, clock.due_ns));
}

void TurnClock::JoinCardTime() {
  Driver::ModelClock clock = {};
  if (!driver_.ReadModelClock(&clock) || !table_.Lock(kLockWaitNs)) return;
  const uint64_t time = table_.ClockOf(card_);
  table_.Unlock();
  joined_ns_ += Since(clock.now_ns, time);
  driver_.JoinModelTime(time);
}

TurnClock::Sums TurnClock::ReadSums() const {
  Driver::ModelClock clock = {};
  const bool is_modelled = driver_.ReadModelClock(&clock);
  return {all_out_ns_, all_in_ns_, is_modelled, std::max(clock.now_ns, clock.due_ns), joined_ns_};
}

void TurnClock::Reset() {
  in_ns_ = 0;
  before_ns_ = 0;
  exchange_ns_ = 0;
  has_left_ = false;
  turn_began_ns_ = 0;
  all_out_ns_ = 0;
  all_in_ns_ = 0;
  joined_ns_ = 0;
}

}  // namespace vramstow
