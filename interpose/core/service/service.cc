#include "interpose/core/service/service.h"

#include <pthread.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/descriptor.h"
#include "base/detached_thread.h"
#include "base/keep_errno.h"
#include "base/monotonic_clock.h"
#include "interpose/core/pools/exports.h"
#include "interpose/core/pools/offloading.h"
#include "interpose/core/pools/pool_trace.h"
#include "interpose/core/pools/pools.h"
#include "interpose/core/record/trace.h"
#include "interpose/core/runtime/driver.h"
#include "interpose/core/runtime/log.h"
#include "interpose/core/runtime/process.h"
#include "interpose/core/runtime/reentrancy_guard.h"
#include "interpose/core/runtime/relaxed_capture_mode.h"
#include "interpose/core/runtime/settings.h"
#include "interpose/core/service/control_socket.h"
#include "interpose/core/service/control_verbs.h"
#include "interpose/core/service/metrics_server.h"

namespace vramstow {
namespace {

constexpr int kTickMs = 1000;
// The period of the thread's work while live memory lies on the host, or may soon lie there.
constexpr int kShortTickMs = 50;
constexpr size_t kStackBytes = 256 * 1024;

}  // namespace

void Service::OpenSocket() {
  const Options& options = links_.process.options();
  char why[300];
  if (options.control && !links_.socket.Open(options.control_dir, why, sizeof why)) {
    Log("this process has no control socket (%s).", why);
  }
  if (!links_.socket.is_open()) return;
  links_.exports.set_reachable(true);
  links_.trace.Describe("control.path", links_.socket.path());
}

void Service::OpenMetrics() {
  const Options& options = links_.process.options();
  char why[300];
  if (!links_.metrics.Open(options.metrics, why, sizeof why)) {
    Log("this process serves no metrics (%s).", why);
  }
}

void Service::CloseSockets() {
  links_.metrics.Close();
  links_.socket.Close();
  links_.exports.set_reachable(false);
}

void Service::Start() {
  State expected = State::kNone;
  if (!state_.compare_exchange_strong(expected, State::kRunning)) return;
  KeepErrno keep_errno;
  OpenSocket();
  OpenMetrics();
  // If eventfd fails, Stop cannot wake up the thread, which then ends one period later.
  waker_.store(MoveDescriptorUp(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)), std::memory_order_relaxed);
  // The thread's first step is a call of the driver, so it counts as busy from the start and Stop
  // waits for it.
  busy_.store(true, std::memory_order_seq_cst);
  has_thread_.store(true, std::memory_order_relaxed);
  if (StartDetachedThread(Run, this, kStackBytes)) return;
  has_thread_.store(false, std::memory_order_relaxed);
  busy_.store(false, std::memory_order_release);
  CloseSockets();
  CloseWaker();
}

void* Service::Run(void* self) {
  // The thread's name is shown by `ps` and by debuggers.
  pthread_setname_np(pthread_self(), "vramstow");
  auto* const service = static_cast<Service*>(self);
  // Calls that the driver makes in this thread pass through the hooks unchanged.
  const ReentrancyGuard guard;
  // The capture mode is relaxed until the thread ends. It is not restored, because the driver may
  // be shutting down at the thread's end.
  if (service->state_.load(std::memory_order_seq_cst) == State::kRunning) {
    RelaxCaptureMode(service->links_.driver);
  }
  service->Loop();
  service->busy_.store(false, std::memory_order_release);
  service->has_thread_.store(false, std::memory_order_release);
  return nullptr;
}

bool Service::BecomeBusy() {
  busy_.store(true, std::memory_order_seq_cst);
  return state_.load(std::memory_order_seq_cst) == State::kRunning;
}

// Runs the thread. The thread counts as busy except while it waits in poll. Stop closes the sockets
// once the thread neither uses them nor calls the driver.
void Service::Loop() {
  uint64_t maintained = MonotonicTime();
  int tick_ms = kTickMs;
  while (BecomeBusy()) {
    pollfd polls[1 + ControlSocket::kMaxClients + 1 + MetricsServer::kMaxClients + 1];
    const int count = links_.socket.Watch(polls);
    const int more = links_.metrics.Watch(polls + count);
    // poll ignores a negative descriptor.
    polls[count + more] = {waker_.load(std::memory_order_relaxed), POLLIN, 0};
    busy_.store(false, std::memory_order_release);
    const int ready =
        poll(polls, static_cast<nfds_t>(count) + static_cast<nfds_t>(more) + 1, tick_ms);
    if (!BecomeBusy()) return;
    // Only End writes to the waker, and the thread then stops. So the program has closed it, and
    // may use its number for something else.
    if (polls[count + more].revents != 0) waker_.store(-1, std::memory_order_relaxed);
    const uint64_t now = MonotonicTime();
    links_.socket.Serve(polls, ready > 0 ? count : 0, now, links_.verbs);
    links_.metrics.Serve(polls + count, ready > 0 ? more : 0, now);
    if (now - maintained >= uint64_t{kTickMs} * 1'000'000) {
      Maintain();
      maintained = now;
    }
    tick_ms = links_.offloading.Maintain() ? kShortTickMs : kTickMs;
  }
}

void Service::Maintain() {
  ScopedCallContext call;
  for (int i = 0; i < Pools::kMaxPools; ++i) {
    Pools::Use use = links_.pools.At(i);
    if (!use) continue;
    use->Maintain();
    use.DecayHost();
  }
}

void Service::Stop() {
  State expected = State::kRunning;
  if (!state_.compare_exchange_strong(expected, State::kStopped, std::memory_order_seq_cst)) return;
  links_.offloading.Stop();
  constexpr int kMaxWaitMs = 200;
  bool is_done = false;
  WaitUpTo(kMaxWaitMs, [&] {
    is_done = !busy_.load(std::memory_order_seq_cst);
    return is_done;
  });
  if (is_done) {
    // The thread does not use the sockets again, so they can be closed here.
    CloseSockets();
    return;
  }
  // The thread is still answering a client, for example by a census. The numbers of its descriptors
  // must not be used for anything else, so they stay open until End.
  links_.metrics.RemoveFiles();
  links_.socket.RemoveFile();
  links_.exports.set_reachable(false);
}

void Service::CloseWaker() {
  const int waker = waker_.exchange(-1, std::memory_order_relaxed);
  if (waker >= 0) close(waker);
}

void Service::End() {
  if (state_.load(std::memory_order_acquire) != State::kRunning) return;
  // Wakes up a polling thread. The value of the eventfd is not read, so it also wakes up a thread
  // that polls later.
  const uint64_t one = 1;
  Stop();
  const int waker = waker_.load(std::memory_order_relaxed);
  if (waker >= 0 && write(waker, &one, sizeof one) < 0) return;
  WaitUpTo(2 * kTickMs, [this] { return !has_thread_.load(std::memory_order_acquire); });
  if (has_thread_.load(std::memory_order_acquire)) return;  // it cannot be started again
  CloseSockets();
  CloseWaker();
  state_.store(State::kNone, std::memory_order_release);
}

void Service::AbandonAfterFork() {
  links_.socket.Abandon();
  links_.metrics.Abandon();
  links_.exports.set_reachable(false);
  CloseWaker();
  state_.store(State::kNone, std::memory_order_relaxed);
  busy_.store(false, std::memory_order_relaxed);
  has_thread_.store(false, std::memory_order_relaxed);
}

}  // namespace vramstow
