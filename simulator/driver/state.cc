#include "simulator/driver/state.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

namespace vramstow::simulator {
namespace {

void NoteFork() { GlobalState().forked = true; }

void NoteExit() { GlobalState().shut_down = true; }

}  // namespace

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
  state->machine = Machine::Start(spec, &error);
  if (state->machine == nullptr) {
    fprintf(stderr, "vramstow: %s\n", error.c_str());
    return CUDA_ERROR_OPERATING_SYSTEM;
  }
  state->devices.resize(spec.count);
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
