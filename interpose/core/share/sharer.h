// Sharer lets this process share its GPUs with other processes of vramstow, by turns (--share).
//
// Idea: one thread follows the rules for each GPU on which this process has a pool (DeviceTurns).
// All GPUs of a process belong to one group, so it gets its turn on all of them at once. While
// memory of any GPU is on the host, the whole process waits.
//
// Ownership: static storage; the thread is never joined. Threads: Start, SetPaused and ReadFigures
// from any, Stop at the end of the process, AbandonAfterFork in a forked child. Errors: a GPU that
// cannot be shared is used as without --share. Units: bytes, nanoseconds.
#ifndef VRAMSTOW_INTERPOSE_CORE_SHARE_SHARER_H_
#define VRAMSTOW_INTERPOSE_CORE_SHARE_SHARER_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "base/options.h"
#include "interpose/core/pools/room_request.h"
#include "interpose/core/runtime/core.h"
#include "interpose/core/share/context_request.h"
#include "interpose/core/share/device_turns.h"
#include "interpose/core/share/turn_figures.h"

namespace vramstow {

// A DeviceTurns for each GPU that can be shared. It is a class of its own because clang cannot
// evaluate a constructor with these numbers inside of the class that calls it.
class DeviceList {
 public:
  template <int... kNumbers>
  constexpr DeviceList(const DeviceTurns::Links& links, std::integer_sequence<int, kNumbers...>)
      : all_{{links, kNumbers}...} {}

  DeviceTurns* begin() { return all_; }
  DeviceTurns* end() { return all_ + RoomRequests::kMaxDevices; }
  const DeviceTurns* begin() const { return all_; }
  const DeviceTurns* end() const { return all_ + RoomRequests::kMaxDevices; }
  DeviceTurns& operator[](int number) { return all_[number]; }
  const DeviceTurns& operator[](int number) const { return all_[number]; }

 private:
  DeviceTurns all_[RoomRequests::kMaxDevices];
};

class Sharer {
 public:
  // GPUs with the numbers below this one can be shared.
  static constexpr int kMaxDevices = RoomRequests::kMaxDevices;

  struct Links {
    const Process& process;
    const Driver& driver;
    Trace& trace;
    Pools& pools;
    TurnGate& gate;
    RoomRequests& requests;
  };

  constexpr explicit Sharer(const Links& links)
      : links_(links),
        devices_({links.driver, links.trace, links.pools, links.gate, links.requests, intent_},
                 std::make_integer_sequence<int, kMaxDevices>()),
        context_request_(links.driver) {}
  Sharer(const Sharer&) = delete;
  Sharer& operator=(const Sharer&) = delete;

  // Shares the GPUs of all pools that are open, if the user asked for sharing. Called whenever a
  // pool was opened.
  void Start();
  // Called after the driver lacked memory for a context on the GPU `device`: see ContextRequest.
  // Any thread may call it. Returns false at once if the user did not ask for sharing.
  bool ServeContext(int device, const ContextRequest::Creation& creation);
  // Called when the process ends: opens the gate and leaves the table. The thread has left the
  // driver when this returns, or does not return from it within a moment.
  void Stop();
  // Pauses the process, or ends that: work that it submits waits, and its memory moves when others
  // lack memory. A process that ends does not stay paused. Waits up to a second until the pause has
  // begun. Returns false if the process shares no GPU.
  bool SetPaused(bool paused);
  // Reads the figures of this process on the GPU `number` (0 <= number < kMaxDevices). Returns
  // false if it does not share that GPU.
  bool ReadFigures(int number, TurnFigures::Values* values) const {
    return devices_[number].figures().Read(values);
  }
  // Forgets the thread and the tables, which belong to the parent. Async-signal-safe.
  void AbandonAfterFork();

 private:
  enum class State : uint8_t { kNone, kRunning, kStopped };

  uint64_t Group();
  void OpenDevices(const ShareSetting& setting);
  void CloseDevices(bool has_ended);
  template <typename Is>
  bool AnyOpen(Is is) const;
  void StartThread();
  static void* Run(void* self);
  void Loop();
  void DescribeTurns();

  const Links links_;
  SharingIntent intent_;
  DeviceList devices_;
  ContextRequest context_request_;
  std::atomic<uint64_t> group_{0};
  std::atomic<State> state_{State::kNone};
  std::atomic<bool> busy_{false};
};

}  // namespace vramstow

#endif  // VRAMSTOW_INTERPOSE_CORE_SHARE_SHARER_H_
