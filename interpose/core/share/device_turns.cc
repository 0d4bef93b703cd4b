#include "interpose/core/share/device_turns.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>

#include "base/monotonic_clock.h"
#include "base/typed_event.h"
#include "interpose/core/pools/pools.h"
#include "interpose/core/pools/room_request.h"
#include "interpose/core/pools/turn_gate.h"
#include "interpose/core/record/trace.h"
#include "interpose/core/runtime/driver.h"
#include "interpose/core/runtime/log.h"

namespace vramstow {
namespace {

constexpr uint64_t kMillisecond = 1'000'000;
constexpr uint64_t kLockWaitNs = 1000 * kMillisecond;
// How long the gate stays open after work did not end.
constexpr uint64_t kLeastPauseNs = 50 * kMillisecond;
constexpr uint64_t kMaxPauseNs = 5000 * kMillisecond;
// When memory that could not move is tried again, for the first time. It is sooner than a request
// of another process is refused, so that one error of the driver does no harm there.
constexpr uint64_t kLeastStuckNs = 250 * kMillisecond;
// For how long the driver may fail to bring memory back although the GPU has room for it.
constexpr uint64_t kMaxFailingNs = 10'000 * kMillisecond;

}  // namespace

// --- Its part in the table ----------------------------------------------------------------------

void DeviceTurns::Open(const ShareSetting& setting, uint64_t group) {
  State expected = State::kNone;
  if (!state_.compare_exchange_strong(expected, State::kOpening)) return;
  setting_ = setting;
  group_ = group;
  opened_at_ns_ = MonotonicTime();
  if (!OpenTable()) {
    table_.Close();
    state_.store(State::kClosed, std::memory_order_seq_cst);
    return;
  }
  links_.requests.OrNull(number_)->StartAnswering(
      [](void* table) { static_cast<ShareTable*>(table)->Wake(); }, &table_);
  state_.store(State::kOpen, std::memory_order_seq_cst);
  table_.Wake();
}

bool DeviceTurns::OpenTable() {
  if (!memory_.CanMove()) {
    Log("--share: this process does not share GPU %d, because the memory of its pool cannot move.",
        number_);
    return false;
  }
  char why[600] = "the driver does not report its UUID";
  const bool is_known = IdentifyCard(links_.driver, number_, &card_);
  clock_.Open(card_.number);
  if (is_known && JoinTable(setting_, &table_, why, sizeof why)) {
    links_.trace.Describe("sharing.table", table_.path());
    return true;
  }
  Log("--share: this process does not share GPU %d, because %s.", number_, why);
  return false;
}

DeviceTurns::Progress DeviceTurns::Follow() {
  measured_at_ns_ = MonotonicTime();
  if (!HasTable()) return {.has_changed = true};
  const Figures figures = memory_.Measure();
  if (figures.total_bytes == 0) {
    clock_.EndTurn();
    // The context has ended, or the driver reports an error, which the program must get.
    if (requests_.any()) requests_.Give(WaitingRequests::Answer::kRefuse, 0);
    if (figures.away_bytes == 0) links_.gate.Open(number_);
    if (figures.away_bytes != 0 && HasFailedForLong()) {
      Withdraw();
      return {.has_changed = true};
    }
  }
  if (requests_.Look()) table_.Wake();  // the others publish their figures anew
  Publish(figures);
  if (!is_lost_ && table_.IsRemoved()) {
    is_lost_ = true;
    Log("--share: the file by which processes share GPU %d was removed, perhaps because you logged "
        "out. Processes that start from now on do not find this one.",
        number_);
  }
  const Duty duty = Decide(figures);
  const bool has_changed = Act(duty);
  const bool has_failed =
      !has_changed && duty.return_bytes != 0 && is_away_.load(std::memory_order_relaxed);
  if (has_failed && HasFailedForLong()) Withdraw();
  return {has_changed, duty.is_contended};
}

// True if this process is still in the table. A program may have closed the descriptor; then this
// process takes another place in the table, or it ends sharing.
bool DeviceTurns::HasTable() {
  if (!table_.IsClosedByProgram()) return true;
  char why[600];
  if (table_.Rejoin(why, sizeof why)) return true;
  if (!Close(/*has_ended=*/true)) return false;
  Log("--share: this process does not share GPU %d any more, because the program closed the file "
      "by which processes share it, and %s.",
      number_, why);
  return false;
}

// Notes that the driver has just failed to bring memory back. Returns true if it has failed for
// too long.
bool DeviceTurns::HasFailedForLong() {
  // Failures that are further apart have other causes, such as a program that took the memory.
  constexpr uint64_t kMaxGapNs = 1000 * kMillisecond;
  const uint64_t now = MonotonicTime();
  if (failed_at_ns_ != 0 && now - failed_at_ns_ < kMaxGapNs) failed_ns_ += now - failed_at_ns_;
  failed_at_ns_ = now;
  return failed_ns_ >= kMaxFailingNs;
}

// Ends sharing because memory cannot come back. The driver refuses work that uses this memory, so
// the program gets an error, which it would never get if it waited.
void DeviceTurns::Withdraw() {
  if (!Close(/*has_ended=*/true)) return;
  Log("--share: this process does not share GPU %d any more, because the driver failed for 10 "
      "seconds to bring its memory back. Work that uses this memory gets an error.",
      number_);
}

bool DeviceTurns::Close(bool has_ended) {
  State expected = State::kOpen;
  if (!state_.compare_exchange_strong(expected, State::kClosed, std::memory_order_seq_cst)) {
    return false;
  }
  links_.requests.OrNull(number_)->StopAnswering();
  if (has_ended) memory_.RemoveLimit();
  if (table_.Lock(kLockWaitNs)) {
    clock_.NoteCardTime();
    account_.slot = table_.own();
    table_.Unlock();
  }
  account_.sums = clock_.ReadSums();
  links_.gate.Open(number_);
  figures_.Reset();
  table_.Leave();
  return true;
}

void DeviceTurns::AbandonAfterFork() {
  table_.Abandon();
  requests_.Reset();
  figures_.Reset();
  room_for_growth_ = RoomForGrowth();
  reachable_ = RecentMinimum();
  account_ = {};
  state_.store(State::kNone, std::memory_order_relaxed);
  is_away_.store(false, std::memory_order_relaxed);
  has_told_.store(false, std::memory_order_relaxed);
  recorded_state_ = ShareState::kRuns;
  clock_.Reset();
  stuck_bytes_ = 0;
  stuck_ns_ = 0;
  failed_at_ns_ = 0;
  failed_ns_ = 0;
  submissions_ = 0;
  is_lost_ = false;
  ticked_at_ns_ = 0;
}

// --- What this process reports ------------------------------------------------------------------

// True if nothing was submitted for a while and all submitted work has ended. While a thread waits,
// nothing can be submitted, so the while begins only when no thread waits any more.
bool DeviceTurns::IsIdle() {
  const uint64_t count = links_.gate.submissions();
  const bool is_waiting = links_.gate.waiting() != 0 || requests_.any();
  const uint64_t now = MonotonicTime();
  if (is_waiting || count != submissions_) {
    submissions_ = count;
    active_at_ns_ = now;
  }
  if (is_waiting || now - active_at_ns_ < clock_.IdleTime()) return false;
  return memory_.HasWorkEnded();
}

// A process that ends needs its memory back, so it does not stay paused.
bool DeviceTurns::IsPaused() const {
  return links_.intent.is_paused.load(std::memory_order_seq_cst) &&
         !links_.intent.is_ending.load(std::memory_order_seq_cst);
}

// Writes the figures of this process into its slot.
void DeviceTurns::Publish(const Figures& figures) {
  const bool is_idle = IsIdle();
  const uint64_t now = MonotonicTime();
  is_away_.store(figures.away_bytes != 0, std::memory_order_release);
  if (!table_.Lock(kLockWaitNs)) return;
  ShareSlot& slot = table_.own();
  ShareMember& member = slot.member;
  const bool is_new = member.group == 0;
  member.group = group_;
  member.card = card_.number;
  // If the driver does not report the memory, none of it can move.
  const bool is_known = figures.total_bytes != 0;
  member.free_bytes = is_known ? figures.free_bytes : kUnknownFree;
  member.measured_at_ns = measured_at_ns_;
  member.resident_bytes = figures.resident_bytes;
  if (now > stuck_until_ns_) stuck_bytes_ = 0;
  member.stuck_bytes =
      is_known ? std::min(stuck_bytes_, figures.resident_bytes) : figures.resident_bytes;
  // Memory that is idle in the pool need not become free on the GPU before it can be used.
  member.away_bytes = figures.away_bytes - std::min(figures.away_bytes, figures.idle_bytes);
  member.wanted_bytes = requests_.LackingBytes(figures);
  // Once the requests are served, the reserve is still free.
  member.reserve_bytes = ReservedBytes(figures.total_bytes);
  const bool is_ending = links_.intent.is_ending.load(std::memory_order_relaxed);
  member.is_paused = IsPaused();
  const bool was_waiting = member.is_waiting;
  member.is_waiting = !member.is_paused && (links_.gate.waiting() != 0 || requests_.any() ||
                                            member.wanted_bytes != 0 || is_ending);
  // A process that had nothing to do does not get all that time later.
  if (member.is_waiting && !was_waiting) {
    const uint64_t least = LeastUsedTime(table_, group_);
    member.used_ns = std::max(member.used_ns, least - std::min(least, kShareHeadStartNs));
  }
  member.is_idle = is_idle || member.is_paused;
  // A process that ends only waits for its memory, and is next soon.
  member.is_interactive = setting_.interactive || is_ending;
  member.weight = setting_.weight;
  if (is_new) {
    member.used_ns = LeastUsedTime(table_, group_);
    slot.process = getpid();
    std::snprintf(slot.name, sizeof slot.name, "%s", program_invocation_short_name);
    std::snprintf(slot.card_name, sizeof slot.card_name, "%s", card_.name);
  }
  if (member.is_waiting && ticked_at_ns_ != 0) slot.waited_ns += now - ticked_at_ns_;
  ticked_at_ns_ = now;
  clock_.NoteTurn();
  const ShareState state = ShareStateOf(member, table_.header().holder);
  figures_.Note(number_, slot, state);
  table_.Unlock();
  RecordState(state);
}

// Records a change of the state as a mark (docs/trace-format.md). While nobody waits, a process
// that runs and one that is idle have the same state.
void DeviceTurns::RecordState(ShareState state) {
  if (state == ShareState::kIdle) state = ShareState::kRuns;
  if (state == recorded_state_) return;
  recorded_state_ = state;
  char text[48];
  std::snprintf(text, sizeof text, "vramstow.share %s %d", NameOf(state), number_);
  links_.trace.Mark(MarkKind::kMoment, text, 0);
}

// --- Following the rules ------------------------------------------------------------------------

// Gives the turn to the group `next`, or lets all run if it is 0; the table is locked. The time for
// which the holder was stalled counts as used, so that it is not next again at once.
void DeviceTurns::HandOver(const View& view, uint64_t next) {
  ShareHeader& header = table_.header();
  for (size_t i = 0; i < view.count; ++i) {
    ShareSlot& slot = table_.SlotToSettle(view.slots[i]);
    uint64_t used_ns = 0;
    if (slot.member.group == header.holder) used_ns = slot.turn_ns + view.turn.stalled_ns;
    if (RanBeside(view.turn, view.members, view.count, i)) used_ns = view.turn.turn_ns;
    slot.member.used_ns += used_ns / std::max(1u, slot.member.weight);
    slot.turn_ns = 0;
    if (slot.member.group == next) ++slot.turns;
  }
  header.holder = next;
  header.out_ns = 0;
  header.shortfall_bytes = kNoShortfall;
  header.changed_at_ns = MonotonicTime();
}

// Lets the pools of this process grow only into free memory that is neither reserved for the driver
// nor lacking elsewhere, and by the bytes that return now. Otherwise this process could take what
// it has just freed for the holder, or what another process of its group needs to return.
void DeviceTurns::LimitPools(const Figures& figures, const View& view, uint64_t return_bytes) {
  uint64_t reserved = ReservedBytes(figures.total_bytes);
  for (size_t i = 0; i < view.count; ++i) {
    const ShareMember& member = view.members[i];
    if (i == view.self || member.card != card_.number) continue;
    const bool comes_first = view.turn.holder == 0 || member.group == view.turn.holder;
    if (member.group == group_) {
      reserved += member.away_bytes + member.wanted_bytes;
    } else if (comes_first) {
      reserved += LackingBytes(member);
    }
  }
  const uint64_t room = figures.free_bytes - std::min(figures.free_bytes, reserved);
  memory_.LimitGrowth(figures.resident_bytes, room + return_bytes);
  if (setting_.tells_card) {
    const uint64_t reachable = ReachableBytes(view.members, view.count, view.self);
    memory_.TellReachable(reachable_.Note(reachable, measured_at_ns_));
  }
}

// Returns for how long the holder has lacked memory without any progress; the table is locked.
uint64_t DeviceTurns::StalledTime(uint64_t shortfall) {
  ShareHeader& header = table_.header();
  const uint64_t now = MonotonicTime();
  if (shortfall == 0 || shortfall < header.shortfall_bytes) {
    header.shortfall_bytes = shortfall == 0 ? kNoShortfall : shortfall;
    header.changed_at_ns = now;
  }
  return now > header.changed_at_ns ? now - header.changed_at_ns : 0;
}

// Reads the slots of all living processes, which have a bit in `live`; the table is locked.
DeviceTurns::View DeviceTurns::ReadTable(uint64_t live) {
  View view;
  view.turn = {table_.header().holder, 0, 0, measured_at_ns_};
  for (size_t i = 0; i < kMaxSharers; ++i) {
    if ((live >> i & 1) == 0) continue;
    const ShareSlot& slot = table_.At(i);
    const ShareMember& member = slot.member;
    const bool is_new = member.measured_at_ns >= requests_.since_ns();
    view.is_fresh = view.is_fresh && (is_new || (member.group != 0 && member.card != card_.number));
    if (member.group == 0) continue;  // it has joined, but published nothing yet
    if (i == table_.own_number()) {
      view.self = view.count;
      view.is_listed = true;
    }
    if (member.group == view.turn.holder) {
      view.turn.turn_ns = std::max(view.turn.turn_ns, slot.turn_ns);
      view.heard_at_ns = std::max(view.heard_at_ns, member.measured_at_ns);
      if (LackingBytes(member) != 0) {
        view.lacking_heard_at_ns = std::min(view.lacking_heard_at_ns, member.measured_at_ns);
      }
    }
    view.slots[view.count] = i;
    view.members[view.count++] = member;
  }
  return view;
}

// Gives the turn to another group if it is time; the table is locked.
void DeviceTurns::UpdateHolder(View* view) {
  ShareTurn& turn = view->turn;
  const uint64_t lacking = LackingBytes(view->members, view->count, turn.holder);
  const uint64_t shortfall = ShortfallOf(view->members, view->count, turn.holder);
  turn.stalled_ns = StalledTime(shortfall);
  turn.now_ns = measured_at_ns_;
  // A holder that could have all that it lacks, and says nothing, is stopped.
  if (turn.holder != 0 && shortfall == 0) {
    const uint64_t heard = lacking == 0 ? view->heard_at_ns : view->lacking_heard_at_ns;
    turn.stalled_ns = measured_at_ns_ - std::min(measured_at_ns_, heard);
  }
  const uint64_t next = NextHolder(turn, view->members, view->count);
  if (next == turn.holder) return;
  HandOver(*view, next);
  turn = {next, 0, 0, measured_at_ns_};
}

DeviceTurns::Duty DeviceTurns::Decide(const Figures& figures) {
  Duty duty;
  if (figures.total_bytes == 0) return duty;
  const uint64_t live = table_.LiveSlots();
  if (!table_.Lock(kLockWaitNs)) return duty;
  View view = ReadTable(live);
  if (view.is_listed) UpdateHolder(&view);
  table_.Unlock();
  if (!view.is_listed) return duty;
  const ShareTurn& turn = view.turn;
  const ShareMember* const members = view.members;
  const size_t count = view.count;
  duty.is_known = true;
  duty.is_contended = std::any_of(members, members + count, [](const ShareMember& member) {
    return LackingBytes(member) != 0;
  });
  // While memory moves, one figure alone may count some of it twice.
  const bool is_sure =
      !duty.is_contended || measured_at_ns_ >= opened_at_ns_ + RecentMinimum::kSpanNs;
  if (is_sure) has_told_.store(true, std::memory_order_release);
  const bool is_away = figures.away_bytes != 0;
  duty.must_wait = is_away || MustWait(turn, members, count, view.self);
  duty.move_bytes = room_for_growth_.BytesToMove(turn, members, count, view.self);
  duty.is_holder = turn.holder == group_;
  const bool is_paused = members[view.self].is_paused;
  duty.has_room =
      !is_paused && (GroupFits(members, count, group_) ||
                     (duty.is_holder &&
                      LackingBytes(members, count, group_, card_.number) <= figures.free_bytes));
  // In its turn, memory returns as soon as there is room for a slice of it.
  const uint64_t slice = std::min(figures.away_bytes, MovableMemory::kSliceBytes);
  const bool has_slice = !is_paused && duty.is_holder && slice <= figures.free_bytes;
  // If the driver did not release the memory, nobody gains from a wait.
  const bool lacks_nothing =
      !is_paused && LackingBytes(members[view.self]) == 0 && duty.move_bytes == 0;
  if (is_away && (duty.has_room || has_slice || lacks_nothing)) duty.return_bytes = slice;
  LimitPools(figures, view, duty.return_bytes);
  duty.answer = requests_.Decide(
      figures, {.has_room = duty.has_room,
                .can_be_served = is_paused || CanBeServed(members, count, view.self),
                .is_fresh = view.is_fresh});
  // Requests of a paused process wait until it continues.
  if (is_paused) duty.answer = WaitingRequests::Answer::kNone;
  return duty;
}

// Does what Decide found. Returns true if something has changed, so that the table should be
// read again at once.
bool DeviceTurns::Act(const Duty& duty) {
  if (!duty.is_known) return false;
  const bool answers = duty.answer != WaitingRequests::Answer::kNone;
  if (answers) {
    // A request that was not served at once waited for another process, which may have ended.
    const bool has_waited = measured_at_ns_ > requests_.since_ns();
    if (duty.answer == WaitingRequests::Answer::kGrant && has_waited) clock_.JoinCardTime();
    requests_.Give(duty.answer, memory_.Measure().resident_bytes);
  }
  if (duty.return_bytes != 0) {
    const bool has_moved = MoveBack(duty.return_bytes);
    if (is_away_.load(std::memory_order_relaxed)) return has_moved || answers;
    if (duty.has_room) stuck_bytes_ = 0;
    requests_.TryAgain();
    BeginTurn(duty.is_holder);
    return true;
  }
  if (duty.must_wait) return GiveUp(duty.move_bytes) || answers;
  BeginTurn(duty.is_holder);
  return answers;
}

// Closes the gate and moves memory out. If work does not end, for example because it waits for work
// that would be submitted later, the gate opens for a while, unless memory is on the host already.
bool DeviceTurns::GiveUp(uint64_t bytes) {
  clock_.EndTurn();
  const bool was_away = is_away_.load(std::memory_order_relaxed);
  const bool is_paused = IsPaused();
  if (!was_away && !is_paused &&
      MonotonicTime() < links_.intent.open_until_ns.load(std::memory_order_relaxed)) {
    return false;
  }
  // A capture must end before memory can move, so a pause begins after it.
  if (!was_away && is_paused && links_.pools.AnyCapture()) {
    links_.gate.Open(number_);
    return false;
  }
  links_.gate.Close(number_);
  if (bytes == 0) return false;
  // Stop must know of memory that is about to leave, and a process that ends gives nothing more.
  is_away_.store(true, std::memory_order_seq_cst);
  const bool is_ending = links_.intent.is_ending.load(std::memory_order_seq_cst);
  // A capture that has begun must be able to end.
  const bool may_move = !links_.pools.AnyCapture() && (was_away || !is_ending);
  if (may_move && MoveOut(bytes)) {
    pause_ns_ = 0;
    return true;
  }
  if (was_away) return false;
  is_away_.store(false, std::memory_order_seq_cst);
  // Work of a paused process may not end before the process continues. Then its memory stays.
  if (!is_paused) KeepOpen();
  return false;
}

void DeviceTurns::KeepOpen() {
  pause_ns_ = std::clamp(pause_ns_ * 2, kLeastPauseNs, kMaxPauseNs);
  links_.intent.open_until_ns.store(MonotonicTime() + pause_ns_, std::memory_order_relaxed);
  links_.gate.Open(number_);
}

// Opens the gate, because no memory of this process is on the host for other processes.
void DeviceTurns::BeginTurn(bool is_holder) {
  if (!is_holder) clock_.EndTurn();
  const bool begins = is_holder && !clock_.is_in_turn();
  if (begins || links_.gate.is_closed_by(number_)) {
    clock_.JoinCardTime();
    active_at_ns_ = MonotonicTime();
  }
  if (begins) {
    clock_.BeginTurn();
    stuck_bytes_ = 0;
  }
  links_.gate.Open(number_);
}

// Moves this many bytes off the GPU. Returns true if some bytes moved.
bool DeviceTurns::MoveOut(uint64_t bytes) {
  // Others see freed memory at once, so they must already know that this process lacks it, and has
  // it no more. Publish corrects the figures.
  if (table_.Lock(kLockWaitNs)) {
    ShareMember& member = table_.own().member;
    const uint64_t slice = std::min(bytes, MovableMemory::kSliceBytes);
    member.away_bytes += slice;
    member.resident_bytes -= std::min(slice, member.resident_bytes);
    table_.Unlock();
  }
  const uint64_t began = clock_.Now();
  const MovableMemory::MovedOut moved = memory_.MoveOut(bytes);
  room_for_growth_.Note(moved.freed_bytes);
  if (moved.is_stuck) {
    stuck_bytes_ = memory_.Measure().resident_bytes;
    stuck_ns_ = std::clamp(stuck_ns_ * 2, kLeastStuckNs, kMaxPauseNs);
    stuck_until_ns_ = MonotonicTime() + stuck_ns_;
  } else if (moved.freed_bytes != 0) {
    stuck_ns_ = 0;
  }
  // Memory may have moved although the pool has as much as before: another thread may have grown it
  // meanwhile, or the driver did not release it.
  const bool has_moved = moved.freed_bytes != 0 || moved.paused_bytes != 0;
  if (!table_.Lock(kLockWaitNs)) return has_moved;
  if (!has_moved) {
    ShareMember& member = table_.own().member;
    member.away_bytes -= std::min({bytes, MovableMemory::kSliceBytes, member.away_bytes});
    table_.Unlock();
    return false;
  }
  clock_.NoteMovedOut(began, moved.paused_bytes);
  table_.own().out_bytes += moved.paused_bytes;
  table_.Unlock();
  return true;
}

// Brings this much memory back. Returns true if some bytes moved.
bool DeviceTurns::MoveBack(uint64_t bytes) {
  clock_.JoinCardTime();
  const uint64_t began = clock_.Now();
  const MovableMemory::MovedBack moved = memory_.MoveBack(bytes);
  clock_.NoteMovedBack(began, moved.bytes);
  const bool is_away = moved.away_bytes != 0;
  if (!is_away || moved.bytes != 0) {
    failed_at_ns_ = 0;
    failed_ns_ = 0;
  }
  is_away_.store(is_away, std::memory_order_release);
  if (table_.Lock(kLockWaitNs)) {
    table_.own().in_bytes += moved.bytes;
    table_.own().member.away_bytes = moved.away_bytes;
    table_.Unlock();
  }
  return moved.bytes != 0;
}

}  // namespace vramstow
