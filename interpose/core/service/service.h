// Service runs the only thread that vramstow has in a process.
//
// Idea: the thread starts when the first pool is opened. It waits for requests at the control
// socket. About once a second it makes every pool release memory that was not used for long.
//
// Ownership: static storage; the thread is never joined. Threads: Start from any, Stop at the end
// of the process, AbandonAfterFork in a forked child. Errors: without a thread or a socket
// everything else works; a socket that could not be made is reported on stderr once. Units: none.
//
// Locks: none of its own. The thread holds none while it waits.
#ifndef VRAMSTOW_INTERPOSE_CORE_SERVICE_SERVICE_H_
#define VRAMSTOW_INTERPOSE_CORE_SERVICE_SERVICE_H_

#include <atomic>
#include <cstdint>

#include "interpose/core/runtime/core.h"

namespace vramstow {

class Service {
 public:
  struct Links {
    const Process& process;
    const Driver& driver;
    Trace& trace;
    Pools& pools;
    Offloading& offloading;
    Exports& exports;
    ControlSocket& socket;
    const ControlVerbs& verbs;
    MetricsServer& metrics;
  };

  constexpr explicit Service(const Links& links) : links_(links) {}
  Service(const Service&) = delete;
  Service& operator=(const Service&) = delete;

  // Makes the thread, at the first call. Takes no lock that a caller could hold.
  void Start();
  // Called when the process ends. Waits briefly until the thread has left the driver and the
  // sockets; the thread does not use them again. If it has not left them by then, its descriptors
  // stay open.
  void Stop();
  // Stops the thread in a process that continues. When this returns, the thread has ended and its
  // descriptors are closed; Start then makes a new thread. Must not be called by several threads at
  // once.
  void End();
  // Forgets the thread and the sockets, which belong to the parent. Called in a forked child;
  // async-signal-safe.
  void AbandonAfterFork();

 private:
  enum class State : uint8_t { kNone, kRunning, kStopped };

  static void* Run(void* self);
  // Marks the thread as busy. Returns false if Stop was called; Stop then closes the sockets.
  bool BecomeBusy();
  void Loop();
  void OpenSocket();
  void OpenMetrics();
  void CloseSockets();
  void CloseWaker();
  void Maintain();

  const Links links_;
  std::atomic<State> state_{State::kNone};
  std::atomic<bool> busy_{false};
  std::atomic<bool> has_thread_{false};
  std::atomic<int> waker_{-1};  // a descriptor that wakes the thread up
};

}  // namespace vramstow

#endif  // VRAMSTOW_INTERPOSE_CORE_SERVICE_SERVICE_H_
