#include "interpose/core/share/sharer.h"

#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "base/detached_thread.h"
#include "base/keep_errno.h"
#include "base/monotonic_clock.h"
#include "interpose/core/pools/pools.h"
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
constexpr size_t kStackBytes = 256 * 1024;

// Returns a number for the run that this process belongs to, never 0. Without an id of a run each
// process is a group of its own.
uint64_t GroupOf(const char* run_id) {
  uint64_t hash = 0xcbf29ce484222325;  // FNV-1a
  if (run_id == nullptr || *run_id == 0)
    return (static_cast<uint64_t>(getpid()) << 32 | MonotonicTime()) | 1;
  for (const char* at = run_id; *at != 0; ++at) {
    hash = (hash ^ static_cast<unsigned char>(*at)) * 0x100000001b3;
  }
  return hash | 1;
}

}  // namespace

void Sharer::Start() {
  ShareSetting setting;
  if (!ParseShare(links_.process.options().share, &setting) || !setting.on) return;
  if (state_.load(std::memory_order_seq_cst) == State::kStopped) return;
  const KeepErrno keep_errno;
  State expected = State::kNone;
  const bool is_first = state_.compare_exchange_strong(expected, State::kRunning);
  if (is_first && links_.driver.CudaVersion() > kKnownCudaVersion) {
    Log("--share: this process does not share its GPUs, because the driver is newer than this "
        "version of vramstow, which may not know all calls that submit work.");
    state_.store(State::kStopped, std::memory_order_seq_cst);
    return;
  }
  if (is_first) links_.gate.CountFromNowOn();
  OpenDevices(setting);
  if (is_first) StartThread();
  // The program may have asked for the free memory, of which it will take a part.
  constexpr int kMaxWaitMs = 2000;
  WaitUpTo(kMaxWaitMs, [this] {
    return !AnyOpen([](const DeviceTurns& device) { return !device.has_told(); });
  });
}

void Sharer::StartThread() {
  busy_.store(true, std::memory_order_seq_cst);
  if (StartDetachedThread(Run, this, kStackBytes)) return;
  Log("--share: this process does not share its GPUs, because no thread can be started.");
  busy_.store(false, std::memory_order_release);
  state_.store(State::kStopped, std::memory_order_seq_cst);
  CloseDevices(/*has_ended=*/true);
}

bool Sharer::ServeContext(int device, const ContextRequest::Creation& creation) {
  ShareSetting setting;
  if (!ParseShare(links_.process.options().share, &setting) || !setting.on) return false;
  if (links_.driver.CudaVersion() > kKnownCudaVersion) return false;
  return context_request_.Serve(setting, Group(), device, creation);
}

// Returns the number of this process's group, which never changes.
uint64_t Sharer::Group() {
  uint64_t none = 0;
  group_.compare_exchange_strong(none, GroupOf(std::getenv(kRunIdVariable)));
  return group_.load(std::memory_order_relaxed);
}

// Opens each GPU that has a pool and is not open yet.
void Sharer::OpenDevices(const ShareSetting& setting) {
  const uint64_t group = Group();
  for (int i = 0; i < links_.pools.count(); ++i) {
    const Pools::Use use = links_.pools.At(i);
    const int number = use ? use.device() : kMaxDevices;
    if (number >= kMaxDevices) continue;
    devices_[number].Open(setting, group);
    // Another thread may have failed to start the thread that would follow the rules.
    if (state_.load(std::memory_order_seq_cst) == State::kStopped) devices_[number].Close(true);
  }
}

void Sharer::CloseDevices(bool has_ended) {
  for (DeviceTurns& device : devices_) device.Close(has_ended);
}

// True if `is` returns true for any GPU that is shared.
template <typename Is>
bool Sharer::AnyOpen(Is is) const {
  return std::any_of(devices_.begin(), devices_.end(),
                     [&](const DeviceTurns& device) { return device.is_open() && is(device); });
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
    ShareTable* table = nullptr;
    uint32_t seen = 0;
    bool has_changed = false;
    bool is_contended = false;
    for (DeviceTurns& device : devices_) {
      if (!device.is_open()) continue;
      if (table == nullptr) {
        table = &device.table();
        seen = table->sequence();
      }
      const DeviceTurns::Progress progress = device.Follow();
      has_changed = has_changed || progress.has_changed;
      is_contended = is_contended || progress.is_contended;
    }
    if (table == nullptr) {
      SleepFor(kTickNs);
    } else if (has_changed) {
      table->Wake();
    } else {
      table->Wait(seen, is_contended ? kShortTickNs : kTickNs);
    }
  }
}

void Sharer::Stop() {
  // Exit handlers may still use memory that is on the host, so it returns first, in a turn.
  constexpr int kMaxTurnMs = 60'000;
  constexpr int kMaxWaitMs = 2000;
  intent_.is_ending.store(true, std::memory_order_seq_cst);
  WaitUpTo(kMaxTurnMs, [this] {
    return !AnyOpen([](const DeviceTurns& device) { return device.is_away(); }) ||
           state_.load(std::memory_order_relaxed) != State::kRunning;
  });
  State expected = State::kRunning;
  if (!state_.compare_exchange_strong(expected, State::kStopped, std::memory_order_seq_cst)) return;
  for (DeviceTurns& device : devices_) {
    if (!device.is_open()) continue;
    links_.requests.OrNull(device.number())->StopAnswering();
    device.table().Wake();
  }
  WaitUpTo(kMaxWaitMs, [this] { return !busy_.load(std::memory_order_seq_cst); });
  CloseDevices(/*has_ended=*/!busy_.load(std::memory_order_seq_cst));
  DescribeTurns();
}

bool Sharer::SetPaused(bool paused) {
  constexpr int kMaxWaitMs = 1000;
  if (!AnyOpen([](const DeviceTurns&) { return true; })) return false;
  intent_.is_paused.store(paused, std::memory_order_seq_cst);
  for (DeviceTurns& device : devices_) {
    if (device.is_open()) device.table().Wake();
  }
  if (!paused) return true;
  WaitUpTo(kMaxWaitMs, [this] {
    return links_.gate.is_closed() && !AnyOpen([](const DeviceTurns& device) {
             TurnFigures::Values values;
             return !device.figures().Read(&values) || values.state != ShareState::kPaused;
           });
  });
  return true;
}

// Writes what sharing did to this process into the trace: the sums of all GPUs. Turns and waits are
// those of the whole process, so they are not added.
void Sharer::DescribeTurns() {
  ShareSlot slot = {};
  TurnClock::Sums sums = {};
  bool is_shared = false;
  for (const DeviceTurns& device : devices_) {
    const DeviceTurns::Account& account = device.account();
    is_shared = is_shared || account.slot.member.group != 0;
    slot.turns = std::max(slot.turns, account.slot.turns);
    slot.waited_ns = std::max(slot.waited_ns, account.slot.waited_ns);
    slot.out_bytes += account.slot.out_bytes;
    slot.in_bytes += account.slot.in_bytes;
    sums.out_ns += account.sums.out_ns;
    sums.in_ns += account.sums.in_ns;
    sums.is_modelled = sums.is_modelled || account.sums.is_modelled;
    sums.end_ns = std::max(sums.end_ns, account.sums.end_ns);
    sums.waited_ns += account.sums.waited_ns;
  }
  if (!is_shared) return;
  slot.waited_ns += context_request_.waited_ns();
  const struct {
    const char* key;
    uint64_t value;
    bool is_known;
  } facts[] = {{"share.turns", slot.turns, true},
               {"share.waited_ns", slot.waited_ns, true},
               {"share.out_bytes", slot.out_bytes, true},
               {"share.in_bytes", slot.in_bytes, true},
               {"share.out_ns", sums.out_ns, true},
               {"share.in_ns", sums.in_ns, true},
               {"share.model_end_ns", sums.end_ns, sums.is_modelled},
               {"share.model_waited_ns", sums.waited_ns, sums.is_modelled}};
  for (const auto& [key, value, is_known] : facts) {
    if (!is_known) continue;
    char text[24];
    std::snprintf(text, sizeof text, "%llu", static_cast<unsigned long long>(value));
    links_.trace.Describe(key, text);
  }
}

void Sharer::AbandonAfterFork() {
  for (DeviceTurns& device : devices_) device.AbandonAfterFork();
  context_request_.AbandonAfterFork();
  links_.gate.Reset();
  intent_.is_ending.store(false, std::memory_order_relaxed);
  intent_.is_paused.store(false, std::memory_order_relaxed);
  intent_.open_until_ns.store(0, std::memory_order_relaxed);
  group_.store(0, std::memory_order_relaxed);
  state_.store(State::kNone, std::memory_order_relaxed);
  busy_.store(false, std::memory_order_relaxed);
}

}  // namespace vramstow
