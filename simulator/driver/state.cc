#include "simulator/driver/state.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/options.h"
#include "simulator/driver/visible.h"

namespace vramstow::simulator {
namespace {

void NoteFork() { GlobalState().forked = true; }

void NoteExit() {
  GlobalState().shut_down = true;
  if (Tenancy* tenancy = GlobalState().tenancy) tenancy->Leave();
}

// A failure leaves the process alone with its cards, and says so.
void ShareCards(State* state) {
  Tenancy* tenancy = FindTenancy(state, state->machine->spec());
  if (tenancy == nullptr) return;
  std::string error;
  if (!tenancy->Enter(&error)) {
    fprintf(stderr,
            "vramstow: the simulated cards are not shared with the other processes of this run: "
            "%s.\n",
            error.c_str());
    return;
  }
  state->machine->memory.Share(tenancy, state->machine->spec().cards);
}

}  // namespace

Tenancy* FindTenancy(State* state, const Spec& spec) {
  static std::once_flag once;
  std::call_once(once, [&] {
    const std::string group = TenancyGroup(spec, getenv(kRunIdVariable));
    if (!group.empty()) state->tenancy = new Tenancy(spec, group);  // until the process ends
  });
  return state->tenancy;
}

State& GlobalState() {
  static State* state = new State;
  return *state;
}

ThreadState& CurrentThread() {
  static thread_local constinit ThreadState thread = {};
  return thread;
}

CUresult StartMachine(State* state) {
  const char* text = getenv(kSpecVariable);
  if (text == nullptr || *text == '\0') text = kDefaultSpec;
  Spec spec;
  std::string error;
  if (!ParseSpec(text, &spec, &error)) {
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
  ShareCards(state);
  pthread_atfork(nullptr, nullptr, NoteFork);
  atexit(NoteExit);
  return CUDA_SUCCESS;
}

CUresult WaitFor(State* state, std::unique_lock<std::mutex>* lock, const Mark& mark) {
  Timeline& timeline = state->machine->timeline;
  while (!mark.Reached()) {
    if (timeline.StepTowards(mark)) continue;
    // Only work on the host, or another thread, can bring this further.
    state->changed.notify_all();
    state->changed.wait(*lock);
  }
  return CUDA_SUCCESS;
}

std::vector<Mark> MarksOf(const Context& context) {
  std::vector<Mark> marks;
  const auto add = [&marks](const Stream& stream) {
    if (!stream.queue->idle()) marks.push_back({stream.queue, stream.queue->enqueued()});
  };
  add(*context.legacy);
  for (const auto& [thread, stream] : context.per_thread) add(*stream);
  for (const Stream* stream : context.streams) add(*stream);
  return marks;
}

CUresult WaitForContext(State* state, std::unique_lock<std::mutex>* lock, const Context& context) {
  for (const Mark& mark : MarksOf(context)) {
    const CUresult result = WaitFor(state, lock, mark);
    if (result != CUDA_SUCCESS) return result;
  }
  return context.sticky;
}

}  // namespace vramstow::simulator
