#include "simulator/driver/state.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <chrono>
#include <mutex>

#include "base/options.h"
#include "simulator/driver/visible.h"

namespace vramstow::simulator {
namespace {

void NoteFork() { Globals().forked = true; }

// Sleeps as long as the teardown of a real driver may take, so that other threads may call the
// driver during it.
void LingerInExit() {
  const timespec a_while = {0, 200'000'000};
  nanosleep(&a_while, nullptr);
}

// A forked child runs this handler, too, but the driver and its memory belong to the parent.
void NoteExit() {
  if (Globals().forked) return;
  Globals().exiting = static_cast<uint64_t>(pthread_self());
  Globals().shut_down = true;
  if (Globals().exit_is_strict) LingerInExit();
  if (Tenancy* tenancy = Globals().tenancy) tenancy->Leave();
}

// Shares the GPUs with other processes of the run. If that fails, a sentence is printed. Then the
// process uses its GPUs alone, or does not start if the SPEC names the file that it cannot use.
bool ShareCards(State* state) {
  Tenancy* tenancy = FindTenancy(state->machine->spec());
  if (tenancy == nullptr) return true;
  std::string error;
  if (!tenancy->Enter(&error)) {
    fprintf(stderr,
            "vramstow: the simulated cards are not shared with the other processes%s: %s.\n",
            tenancy->is_named() ? "" : " of this run", error.c_str());
    return !tenancy->is_named();
  }
  state->machine->memory.Share(tenancy, state->machine->spec().cards);
  return true;
}

}  // namespace

Tenancy* FindTenancy(const Spec& spec) {
  DriverGlobals& globals = Globals();
  static std::once_flag once;
  std::call_once(once, [&] {
    const std::string group = TenancyGroup(spec, getenv(kRunIdVariable));
    if (!group.empty()) globals.tenancy = new Tenancy(spec, group);  // until the process ends
  });
  return globals.tenancy;
}

Event* AddEvent(State* state, std::shared_ptr<Event> event) {
  Event* made = event.get();
  state->events.Note(made);
  made->context->events.emplace(made, std::move(event));
  return made;
}

void RemoveEvent(State* state, Event* event) {
  state->events.Forget(event);
  event->shared.reset();  // other processes lose it, even if a graph holds the event
  event->context->events.erase(event);
}

void PublishTime(const Machine& machine) {
  // Only the clock of clock=model can join the time of another process.
  if (!machine.model.is_on()) return;
  if (Tenancy* tenancy = Globals().tenancy) tenancy->PublishTime(machine.timeline.now_ns());
}

DriverGlobals& Globals() {
  static auto* globals = new DriverGlobals;
  return *globals;
}

State& HeldState() {
  DriverGlobals& globals = Globals();
  globals.mutex.AssertHeld();
  return globals.state();
}

ThreadState& CurrentThread() {
  static thread_local constinit ThreadState thread = {};
  return thread;
}

bool IsTimedByOperator(const Machine& machine) {
  return CurrentThread().held_kernels > 0 && machine.model.is_on();
}

int SaidCudaVersion() {
  try {
    Spec spec;
    std::string error;
    return ParseSpec(SpecOfEnvironment(), &spec, &error) ? spec.cuda_version : kCudaVersion;
  } catch (...) {
    return kCudaVersion;
  }
}

bool PrimaryIsPrivate() {
  static const bool is_private = [] {
    try {
      Spec spec;
      std::string error;
      return ParseSpec(SpecOfEnvironment(), &spec, &error) && spec.private_primary;
    } catch (...) {
      return false;
    }
  }();
  return is_private;
}

CUresult StartMachine(State* state) {
  Spec spec;
  std::string error;
  if (!ParseSpec(SpecOfEnvironment(), &spec, &error)) {
    fprintf(stderr, "vramstow: %s\n", error.c_str());
    return CUDA_ERROR_INVALID_VALUE;
  }
  ChooseVisible(getenv("CUDA_VISIBLE_DEVICES"), &spec);
  if (spec.cards.empty()) return CUDA_ERROR_NO_DEVICE;
  state->machine = Machine::Start(spec, &error);
  if (state->machine == nullptr) {
    fprintf(stderr, "vramstow: %s\n", error.c_str());
    return CUDA_ERROR_OPERATING_SYSTEM;
  }
  state->devices.resize(spec.cards.size());
  if (!ShareCards(state)) {
    state->machine = nullptr;
    return CUDA_ERROR_OPERATING_SYSTEM;
  }
  Globals().exit_is_strict = state->machine->spec().strict_exit;
  pthread_atfork(nullptr, nullptr, NoteFork);
  atexit(NoteExit);
  return CUDA_SUCCESS;
}

uint64_t RealNanoseconds() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return static_cast<uint64_t>(std::chrono::nanoseconds(now).count());
}

void WaitFor(State* state, const Mark& mark) {
  DriverGlobals& globals = Globals();
  globals.mutex.AssertHeld();
  Timeline& timeline = state->machine->timeline;
  if (mark.Reached()) return;
  const uint64_t since = timeline.now_ns();
  while (!mark.Reached()) {
    if (timeline.StepTowards(mark)) continue;
    // No work of the device can make progress now, so this thread waits until host work or a call
    // of another thread makes progress.
    globals.changed.NotifyAll();
    globals.changed.Wait(&globals.mutex);
  }
  timeline.Advance(state->machine->model.WakeNs());
  state->machine->traffic.waited_ns.fetch_add(timeline.now_ns() - since, std::memory_order_relaxed);
}

std::vector<Mark> MarksOf(const Context& context) {
  std::vector<Mark> marks;
  const auto add = [&marks](const Stream& stream) {
    if (!stream.queue->idle()) marks.push_back({stream.queue, stream.queue->enqueued()});
  };
  add(*context.legacy);
  for (const auto& [thread, stream] : context.per_thread) add(*stream);
  for (const Stream* stream : context.streams) add(*stream);
  for (const LeftBehind& left : context.left_behind) {
    if (!left.mark.Reached()) marks.push_back(left.mark);
  }
  return marks;
}

CUresult WaitForContext(State* state, const Context& context) {
  for (const Mark& mark : MarksOf(context)) WaitFor(state, mark);
  return context.sticky;
}

}  // namespace vramstow::simulator
