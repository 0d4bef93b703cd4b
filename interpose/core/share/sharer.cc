#include "interpose/core/share/sharer.h"

#include <pthread.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "base/host_mapping.h"
#include "base/keep_errno.h"
#include "interpose/core/pools/pool_trace.h"
#include "interpose/core/pools/pools.h"
#include "interpose/core/pools/room_request.h"
#include "interpose/core/pools/turn_gate.h"
#include "interpose/core/record/trace.h"
#include "interpose/core/runtime/driver.h"
#include "interpose/core/runtime/log.h"
#include "interpose/core/runtime/process.h"
#include "interpose/core/runtime/reentrancy_guard.h"
#include "interpose/core/runtime/relaxed_capture_mode.h"
#include "interpose/core/runtime/settings.h"

namespace vramstow {
namespace {

constexpr uint64_t kMillisecond = 1'000'000;
// How often the table is read while all memory fits, and while some process lacks memory.
constexpr uint64_t kTickNs = 200 * kMillisecond;
constexpr uint64_t kShortTickNs = 5 * kMillisecond;
constexpr uint64_t kLockWaitNs = 1000 * kMillisecond;
// How long memory is reserved for a granted request.
constexpr uint64_t kGrantNs = 200 * kMillisecond;
// How long a request must be impossible to serve before it is refused.
constexpr uint64_t kRefusalNs = 2000 * kMillisecond;
// How long the gate stays open after work did not end.
constexpr uint64_t kLeastPauseNs = 50 * kMillisecond;
constexpr uint64_t kMaxPauseNs = 5000 * kMillisecond;
constexpr size_t kStackBytes = 256 * 1024;

uint64_t Now() {
  timespec time = {};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<uint64_t>(time.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(time.tv_nsec);
}

// Returns a number for the run that this process belongs to, never 0. Without an id of a run each
// process is a group of its own.
uint64_t GroupOf(const char* run_id) {
  uint64_t hash = 0xcbf29ce484222325;  // FNV-1a
  if (run_id == nullptr || *run_id == 0) return (static_cast<uint64_t>(getpid()) << 32 | Now()) | 1;
  for (const char* at = run_id; *at != 0; ++at) {
    hash = (hash ^ static_cast<unsigned char>(*at)) * 0x100000001b3;
  }
  return hash | 1;
}

}  // namespace

// --- The thread ---------------------------------------------------------------------------------

void Sharer::Start() {
  const Options& options = links_.process.options();
  if (!ParseShare(options.share, &setting_) || !setting_.on) return;
  State expected = State::kNone;
  if (!state_.compare_exchange_strong(expected, State::kStarting)) return;
  const KeepErrno keep_errno;
  if (!OpenTable()) {
    table_.Close();
    state_.store(State::kStopped, std::memory_order_relaxed);
    return;
  }
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  pthread_attr_setstacksize(&attributes, kStackBytes);
  // The program's signals must reach its own threads only. The new thread inherits this mask.
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  pthread_t thread;
  busy_.store(true, std::memory_order_seq_cst);
  links_.gate.CountFromNowOn();
  links_.requests.StartAnswering([](void* table) { static_cast<ShareTable*>(table)->Wake(); },
                                 &table_);
  state_.store(State::kRunning, std::memory_order_seq_cst);
  if (pthread_create(&thread, &attributes, Run, this) != 0) {
    state_.store(State::kStopped, std::memory_order_seq_cst);
    links_.requests.StopAnswering();
    busy_.store(false, std::memory_order_release);
    table_.Leave();
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  pthread_attr_destroy(&attributes);
}

bool Sharer::OpenTable() {
  if (links_.driver.CudaVersion() > kKnownCudaVersion) {
    Log("--share: this process does not share its GPU, because the driver is newer than this "
        "version "
        "of vramstow, which may not know all calls that submit work.");
    return false;
  }
  const Pools::Use use = links_.pools.At(0);
  if (!use || use.offloader() == nullptr) {
    Log("--share: this process does not share its GPU, because the memory of its pool cannot "
        "move.");
    return false;
  }
  device_ = use.device();

  CUuuid uuid = {};
  const auto ask = links_.driver.cuDeviceGetUuid_v2();
  if (ask != nullptr) ask(&uuid, device_);
  char card[kDeviceUuidBytes];
  WriteDeviceUuid(uuid.bytes, card);
  char folder[200];
  char why[300] = "the path of the folder is too long";
  const bool is_open = ShareTable::Directory(setting_.folder, std::getenv("XDG_RUNTIME_DIR"),
                                             geteuid(), folder, sizeof folder) &&
                       table_.Open(folder, card, why, sizeof why);
  if (!is_open || !table_.Join()) {
    Log("--share: this process does not share its GPU, because %s.",
        is_open ? "the table has no free place" : why);
    return false;
  }
  group_ = GroupOf(std::getenv(kRunIdVariable));
  return true;
}

void* Sharer::Run(void* self) {
  pthread_setname_np(pthread_self(), "vramstow-share");
  auto* const sharer = static_cast<Sharer*>(self);
  // Calls that the driver makes in this thread pass through the hooks unchanged.
  const ReentrancyGuard guard;
  if (sharer->state_.load(std::memory_order_seq_cst) == State::kRunning) {
    RelaxCaptureMode(sharer->links_.driver);
  }
  sharer->Loop();
  sharer->busy_.store(false, std::memory_order_release);
  return nullptr;
}

void Sharer::Loop() {
  while (state_.load(std::memory_order_seq_cst) == State::kRunning) {
    const uint32_t seen = table_.sequence();
    measured_at_ns_ = Now();
    const Figures figures = Measure();
    if (figures.total_bytes == 0) {
      // The context has ended, or the driver reports an error, which the program must get.
      if (links_.requests.wanted_bytes() != 0) links_.requests.Answer(/*is_granted=*/false);
      if (figures.away_bytes == 0) links_.gate.Open();
    }
    if (links_.requests.wanted_bytes() == 0) {
      requested_at_ns_ = 0;
      unservable_since_ns_ = 0;
    } else if (requested_at_ns_ == 0) {
      requested_at_ns_ = Now();
      table_.Wake();  // the others publish their figures anew
    }
    Publish(figures);
    const Duty duty = Decide(figures);
    if (Act(duty)) {
      table_.Wake();
      continue;
    }
    table_.Wait(seen, duty.is_contended ? kShortTickNs : kTickNs);
  }
}

void Sharer::Stop() {
  // Exit handlers may still use memory that is on the host, so it returns first, in a turn.
  constexpr int kMaxWaitsForTurn = 60'000;
  is_ending_.store(true, std::memory_order_seq_cst);
  for (int i = 0; i < kMaxWaitsForTurn && is_away_.load(std::memory_order_seq_cst); ++i) {
    if (state_.load(std::memory_order_relaxed) != State::kRunning) break;
    const timespec wait = {0, 1'000'000};
    nanosleep(&wait, nullptr);
  }
  State expected = State::kRunning;
  if (!state_.compare_exchange_strong(expected, State::kStopped, std::memory_order_seq_cst)) return;
  links_.requests.StopAnswering();
  table_.Wake();
  constexpr int kMaxWaits = 2000;
  for (int i = 0; i < kMaxWaits && busy_.load(std::memory_order_seq_cst); ++i) {
    const timespec wait = {0, 1'000'000};
    nanosleep(&wait, nullptr);
  }
  DescribeTurns();
  links_.gate.Open();
  table_.Leave();
}

// Writes what sharing did to this process into the trace.
void Sharer::DescribeTurns() {
  if (!table_.is_open() || !table_.Lock(kLockWaitNs)) return;
  const ShareSlot slot = table_.own();
  table_.Unlock();
  const struct {
    const char* key;
    uint64_t value;
  } facts[] = {{"share.turns", slot.turns},
               {"share.waited_ns", slot.waited_ns},
               {"share.out_bytes", slot.out_bytes},
               {"share.in_bytes", slot.in_bytes}};
  for (const auto& [key, value] : facts) {
    char text[24];
    std::snprintf(text, sizeof text, "%llu", static_cast<unsigned long long>(value));
    links_.trace.Describe(key, text);
  }
}

void Sharer::AbandonAfterFork() {
  table_.Abandon();
  links_.gate.Reset();
  links_.requests.Reset();
  state_.store(State::kNone, std::memory_order_relaxed);
  busy_.store(false, std::memory_order_relaxed);
  is_ending_.store(false, std::memory_order_relaxed);
  is_away_.store(false, std::memory_order_relaxed);
  turn_began_ns_ = 0;
  in_ns_ = 0;
  stuck_bytes_ = 0;
  granted_bytes_ = 0;
  submissions_ = 0;
  requested_at_ns_ = 0;
  unservable_since_ns_ = 0;
  ticked_at_ns_ = 0;
  open_until_ns_ = 0;
}

// --- What this process holds --------------------------------------------------------------------

template <typename Visit>
void Sharer::VisitPools(Visit visit) const {
  const ScopedCallContext call;
  for (int i = 0; i < links_.pools.count(); ++i) {
    const Pools::Use use = links_.pools.At(i);
    if (use && use.offloader() != nullptr && use.device() == device_) visit(use);
  }
}

Sharer::Figures Sharer::Measure() const {
  Figures figures;
  VisitPools([&](const Pools::Use& use) {
    figures.resident_bytes += use->Stats().reserved_bytes;
    figures.away_bytes += use.offloader()->Stats().paused_bytes;
    const DriverTable* const driver = use->pages()->driver();
    if (figures.total_bytes != 0) return;
    driver->memory_info(driver->self, &figures.free_bytes, &figures.total_bytes);
  });
  return figures;
}

// True if nothing was submitted for a while and all submitted work has ended.
bool Sharer::IsIdle() {
  const uint64_t count = links_.gate.submissions();
  const uint64_t now = Now();
  if (count != submissions_) {
    submissions_ = count;
    submitted_at_ns_ = now;
  }
  if (links_.gate.waiting() != 0 || now - submitted_at_ns_ < kShareIdleNs) return false;
  bool has_ended = true;
  VisitPools([&](const Pools::Use& use) { has_ended = has_ended && use->pages()->HasWorkEnded(); });
  return has_ended;
}

uint64_t Sharer::CardTime() const {
  uint64_t now = 0;
  VisitPools([&](const Pools::Use& use) { now = use->pages()->Now(); });
  return now;
}

// Notes how long the present turn has taken, by the clock of the GPU.
void Sharer::NoteTurn() {
  if (turn_began_ns_ == 0) return;
  const uint64_t now = CardTime();
  table_.own().turn_ns = now > turn_began_ns_ ? now - turn_began_ns_ : 0;
}

// Returns the least used time of all other processes, so that a new process does not have the GPU
// alone until it has used as much time as they; the table is locked.
uint64_t Sharer::LeastUsedTime() const {
  uint64_t least = ~uint64_t{0};
  for (size_t i = 0; i < kMaxSharers; ++i) {
    const ShareMember& member = table_.At(i).member;
    if (i == table_.own_number() || member.group == 0 || !table_.IsLive(i)) continue;
    least = std::min(least, member.used_ns);
  }
  return least == ~uint64_t{0} ? 0 : least;
}

// Writes the figures of this process into its slot.
void Sharer::Publish(const Figures& figures) {
  const bool is_idle = IsIdle();
  const uint64_t now = Now();
  is_away_.store(figures.away_bytes != 0, std::memory_order_release);
  if (figures.resident_bytes >= granted_from_bytes_ + granted_bytes_ || now > granted_until_ns_) {
    granted_bytes_ = 0;
  }
  if (!table_.Lock(kLockWaitNs)) return;
  ShareSlot& slot = table_.own();
  ShareMember& member = slot.member;
  const bool is_new = member.group == 0;
  member.group = group_;
  member.resident_bytes = figures.resident_bytes;
  if (now > stuck_until_ns_) stuck_bytes_ = 0;
  member.stuck_bytes = std::min(stuck_bytes_, figures.resident_bytes);
  member.away_bytes = figures.away_bytes;
  const uint64_t served =
      figures.resident_bytes - std::min(figures.resident_bytes, granted_from_bytes_);
  const uint64_t granted = granted_bytes_ - std::min(granted_bytes_, served);
  // While memory is on the host, a request may ask for memory that returns with it.
  const uint64_t wanted = links_.requests.wanted_bytes();
  member.wanted_bytes = std::max(figures.away_bytes != 0 ? 0 : wanted, granted);
  // Once the request is served, the reserve is still free.
  if (member.wanted_bytes != 0) member.wanted_bytes += figures.total_bytes / kShareReservedPart;
  member.is_waiting = links_.gate.waiting() != 0 || wanted != 0 || member.wanted_bytes != 0 ||
                      is_ending_.load(std::memory_order_relaxed);
  slot.published_at_ns = measured_at_ns_;
  slot.free_bytes = figures.free_bytes;
  member.is_idle = is_idle;
  // A process that ends only waits for its memory, and is next soon.
  member.is_interactive = setting_.interactive || is_ending_.load(std::memory_order_relaxed);
  member.weight = setting_.weight;
  if (is_new) {
    member.used_ns = LeastUsedTime();
    slot.process = getpid();
    std::snprintf(slot.name, sizeof slot.name, "%s", program_invocation_short_name);
  }
  if (member.is_waiting && ticked_at_ns_ != 0) slot.waited_ns += now - ticked_at_ns_;
  ticked_at_ns_ = now;
  NoteTurn();
  table_.Unlock();
}

// --- Following the rules ------------------------------------------------------------------------

// Gives the turn to the group `next`, or lets all run if it is 0; the table is locked. The time for
// which the holder was stalled counts as used, so that it is not next again at once.
void Sharer::HandOver(uint64_t next, uint64_t stalled_ns) {
  ShareHeader& header = table_.header();
  for (size_t i = 0; i < kMaxSharers; ++i) {
    if (!table_.IsLive(i)) continue;
    ShareSlot& slot = table_.SlotToSettle(i);
    if (slot.member.group == header.holder) {
      slot.member.used_ns += (slot.turn_ns + stalled_ns) / std::max(1u, slot.member.weight);
    }
    slot.turn_ns = 0;
    if (slot.member.group == next) ++slot.turns;
  }
  header.holder = next;
  header.out_ns = 0;
  header.changed_at_ns = Now();
}

// Lets the pools of this process grow only into free memory that is not reserved for the driver.
void Sharer::LimitPools(const Figures& figures) {
  const uint64_t reserved = figures.total_bytes / kShareReservedPart;
  const uint64_t room = figures.free_bytes - std::min(figures.free_bytes, reserved);
  const uint64_t most = std::max<uint64_t>(figures.resident_bytes + figures.away_bytes + room, 1);
  VisitPools([most](const Pools::Use& use) { use->SetRoom(most); });
}

// Returns for how long the holder has lacked memory without any change; the table is locked.
uint64_t Sharer::StalledTime(const ShareCard& card, uint64_t lacking) {
  ShareHeader& header = table_.header();
  const uint64_t now = Now();
  if (lacking == 0 || lacking != header.lacking_bytes || card.free_bytes != header.free_bytes) {
    header.lacking_bytes = lacking;
    header.free_bytes = card.free_bytes;
    header.changed_at_ns = now;
  }
  return now > header.changed_at_ns ? now - header.changed_at_ns : 0;
}

// Returns the answer to the waiting requests. A request is refused at once if it is larger than the
// GPU. Otherwise it is refused only if it cannot be served for some time, because the memory of a
// process that has just ended becomes free a little later.
Sharer::Duty::Answer Sharer::AnswerTo(const ShareCard& card, const ShareMember* members,
                                      size_t count, const Figures& figures) {
  const uint64_t wanted = links_.requests.wanted_bytes();
  if (wanted == 0 || figures.away_bytes != 0) return Duty::Answer::kNone;
  const uint64_t reserved = figures.total_bytes / kShareReservedPart;
  const bool is_ours = card.holder == group_ || card.holder == 0;
  if (is_ours && figures.away_bytes == 0 &&
      LackingBytes(members, count, group_) <= card.free_bytes) {
    unservable_since_ns_ = 0;
    return Duty::Answer::kGrant;
  }
  // A thread that waits during a capture would delay the capture, and memory of this process cannot
  // move until it ends.
  if (links_.pools.AnyCapture()) return Duty::Answer::kRefuse;
  const uint64_t own = figures.resident_bytes + figures.away_bytes;
  if (wanted + own + reserved > figures.total_bytes) return Duty::Answer::kRefuse;
  if (CanBeServed(card, members, count, group_)) {
    unservable_since_ns_ = 0;
    return Duty::Answer::kNone;
  }
  if (unservable_since_ns_ == 0) unservable_since_ns_ = Now();
  const bool is_long = Now() - unservable_since_ns_ >= kRefusalNs;
  return is_long ? Duty::Answer::kRefuse : Duty::Answer::kNone;
}

Sharer::Duty Sharer::Decide(const Figures& figures) {
  Duty duty;
  if (figures.total_bytes == 0 || !table_.Lock(kLockWaitNs)) return duty;
  ShareMember members[kMaxSharers];
  size_t count = 0;
  size_t self = 0;
  bool is_listed = false;
  uint64_t heard_at_ns = 0;  // when the holder published last
  bool is_fresh = true;      // all figures are newer than the oldest waiting request
  ShareCard card = {figures.free_bytes, table_.header().holder, 0, 0};
  for (size_t i = 0; i < kMaxSharers; ++i) {
    if (!table_.IsLive(i)) continue;
    const ShareSlot& slot = table_.At(i);
    is_fresh = is_fresh && slot.published_at_ns >= requested_at_ns_;
    if (slot.member.group == card.holder) heard_at_ns = std::max(heard_at_ns, slot.published_at_ns);
    if (slot.member.group == 0) continue;  // it has joined, but published nothing yet
    if (i == table_.own_number()) {
      self = count;
      is_listed = true;
    }
    if (slot.member.group == card.holder) card.turn_ns = std::max(card.turn_ns, slot.turn_ns);
    members[count++] = slot.member;
  }
  if (is_listed) {
    card.stalled_ns = StalledTime(card, LackingBytes(members, count, card.holder));
    // A holder that lacks nothing and says nothing is stopped.
    if (card.holder != 0 && LackingBytes(members, count, card.holder) == 0) {
      card.stalled_ns = measured_at_ns_ - std::min(measured_at_ns_, heard_at_ns);
    }
    const uint64_t next = NextHolder(card, members, count);
    if (next != card.holder) {
      HandOver(next, card.stalled_ns);
      card.holder = next;
      card.turn_ns = 0;
      card.stalled_ns = 0;
    }
  }
  table_.Unlock();
  if (!is_listed) return duty;
  LimitPools(figures);
  duty.is_known = true;
  for (size_t i = 0; i < count; ++i) duty.is_contended |= LackingBytes(members[i]) != 0;
  duty.must_wait = figures.away_bytes != 0 || MustWait(card, members, count, self);
  duty.move_bytes = BytesToMove(card, members, count, self);
  duty.is_holder = card.holder == group_;
  const bool is_ours = duty.is_holder || card.holder == 0;
  duty.must_return =
      is_ours && figures.away_bytes != 0 && LackingBytes(members, count, group_) <= card.free_bytes;
  duty.answer = AnswerTo(card, members, count, figures);
  const bool is_old = requested_at_ns_ != 0 && measured_at_ns_ > requested_at_ns_ &&
                      measured_at_ns_ - requested_at_ns_ >= kShareLongestStallNs;
  if (duty.answer == Duty::Answer::kRefuse && !is_fresh && !is_old) {
    duty.answer = Duty::Answer::kNone;
  }
  return duty;
}

// Does what Decide found. Returns true if something has changed, so that the table should be
// read again at once.
bool Sharer::Act(const Duty& duty) {
  if (!duty.is_known) return false;
  bool has_changed = false;
  if (duty.answer != Duty::Answer::kNone) {
    const bool is_granted = duty.answer == Duty::Answer::kGrant;
    granted_bytes_ = is_granted ? links_.requests.wanted_bytes() : 0;
    granted_from_bytes_ = Measure().resident_bytes;
    granted_until_ns_ = Now() + kGrantNs;
    unservable_since_ns_ = 0;
    links_.requests.Answer(is_granted);
    has_changed = true;
  }
  if (duty.must_return) {
    if (MoveBack()) {
      has_changed = true;
      if (links_.requests.wanted_bytes() != 0) links_.requests.Answer(/*is_granted=*/true);
    }
    if (is_away_.load(std::memory_order_relaxed)) return has_changed;
  } else if (duty.must_wait) {
    return GiveUp(duty) || has_changed;
  }
  BeginTurn(duty.is_holder);
  return has_changed;
}

// Closes the gate and moves memory out. If work does not end, for example because it waits for work
// that would be submitted later, the gate opens for a while, unless memory is on the host already.
bool Sharer::GiveUp(const Duty& duty) {
  const bool is_away = is_away_.load(std::memory_order_relaxed);
  if (!is_away && Now() < open_until_ns_) return false;
  // Stop must know of memory that is about to leave. A process that ends gives nothing more.
  is_away_.store(true, std::memory_order_seq_cst);
  if (!is_away && is_ending_.load(std::memory_order_seq_cst)) {
    is_away_.store(false, std::memory_order_seq_cst);
    links_.gate.Open();
    return false;
  }
  links_.gate.Close();
  turn_began_ns_ = 0;
  if (duty.move_bytes == 0) {
    is_away_.store(is_away, std::memory_order_seq_cst);
    return false;
  }
  std::atomic_thread_fence(std::memory_order_seq_cst);
  // A capture that has begun must be able to end.
  if (!links_.pools.AnyCapture() && MoveOut(duty.move_bytes)) {
    pause_ns_ = 0;
    return true;
  }
  if (!is_away) {
    is_away_.store(false, std::memory_order_seq_cst);
    KeepOpen();
  }
  return false;
}

void Sharer::KeepOpen() {
  pause_ns_ = std::clamp(pause_ns_ * 2, kLeastPauseNs, kMaxPauseNs);
  open_until_ns_ = Now() + pause_ns_;
  links_.gate.Open();
}

// Opens the gate, because no memory of this process is on the host for other processes.
void Sharer::BeginTurn(bool is_holder) {
  if (!is_holder) turn_began_ns_ = 0;
  if (is_holder && turn_began_ns_ == 0) {
    JoinCardTime();
    if (table_.Lock(kLockWaitNs)) {
      table_.own().member.exchange_ns = table_.header().out_ns + in_ns_;
      table_.Unlock();
    }
    in_ns_ = 0;
    stuck_bytes_ = 0;
    turn_began_ns_ = CardTime();
  }
  links_.gate.Open();
}

// Moves this many bytes of cached or live memory off the GPU. Returns true if some bytes moved.
bool Sharer::MoveOut(uint64_t bytes) {
  uint64_t moved = 0;
  uint64_t all_paused = 0;
  const uint64_t began = CardTime();
  bool is_stuck = false;
  VisitPools([&](const Pools::Use& use) {
    if (moved >= bytes) return;
    moved += use->Trim({.bytes = bytes - moved}).released_bytes;
    if (moved >= bytes) return;
    uint64_t paused = 0;
    const PauseOptions options = {.keep = true, .graphs = true, .most_bytes = bytes - moved};
    const OffloadResult result = use.offloader()->Pause(Offloader::kAnyTag, options, &paused);
    const bool is_temporary = result == OffloadResult::kBusy || result == OffloadResult::kCapturing;
    is_stuck = is_stuck || (!is_temporary && paused < bytes - moved);
    moved += paused;
    all_paused += paused;
  });
  if (is_stuck) {
    stuck_bytes_ = Measure().resident_bytes;
    stuck_until_ns_ = Now() + kMaxPauseNs;
  }
  if (all_paused != 0) is_away_.store(true, std::memory_order_release);
  if (moved != 0 && table_.Lock(kLockWaitNs)) {
    table_.own().out_bytes += all_paused;
    const uint64_t now = CardTime();
    ShareHeader& header = table_.header();
    header.out_ns += now > began ? now - began : 0;
    header.card_time_ns = std::max(header.card_time_ns, now);
    table_.Unlock();
  }
  return moved != 0;
}

// Lets a simulated GPU continue at the time at which the turn before ended.
void Sharer::JoinCardTime() {
  if (!table_.Lock(kLockWaitNs)) return;
  const uint64_t time = table_.header().card_time_ns;
  table_.Unlock();
  links_.driver.JoinModelTime(time);
}

// Brings all memory back. Returns true if all of it is back.
bool Sharer::MoveBack() {
  uint64_t moved = 0;
  uint64_t away = 0;
  JoinCardTime();
  const uint64_t began = CardTime();
  VisitPools([&](const Pools::Use& use) {
    if (use.offloader()->Stats().paused_bytes == 0) return;
    uint64_t back = 0;
    use.offloader()->Resume(Offloader::kAnyTag, ~uint64_t{0}, &back);
    moved += back;
    away += use.offloader()->Stats().paused_bytes;
  });
  if (away == 0) stuck_bytes_ = 0;
  is_away_.store(away != 0, std::memory_order_release);
  const uint64_t now = CardTime();
  in_ns_ += now > began ? now - began : 0;
  if (table_.Lock(kLockWaitNs)) {
    table_.own().in_bytes += moved;
    table_.own().member.away_bytes = away;
    table_.Unlock();
  }
  return away == 0;
}

}  // namespace vramstow
