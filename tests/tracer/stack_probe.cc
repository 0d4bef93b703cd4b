// A library that a Python program loads with ctypes, to record events with stacks, and to call
// Python through it.
#include <time.h>

#include <cstdint>

#include "base/event.h"
#include "tracer/recorder.h"

namespace vramstow {
namespace {

Recorder* g_recorder = nullptr;

// In the initial-exec model, like the slot of the preloaded library, so that the recorder finds it
// without a call.
__attribute__((tls_model("initial-exec"))) thread_local void* g_slot = nullptr;
void** ThreadSlotOfProbe() { return &g_slot; }

// Returns the processor time of this thread in seconds, because other processes may be busy, too.
double ThreadSeconds() {
  timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

// Measures the nanoseconds per event below this many additional native frames. Returns the least
// value of several rounds.
__attribute__((noinline)) double Measure(int frames, int events) {
  if (frames > 0) {
    const double result = Measure(frames - 1, events);
    asm volatile("");
    return result;
  }
  Event event;
  event.kind = EventKind::kAllocate;
  event.address = event.size = event.requested = 0x200000;
  double least = 1e9;
  for (int round = 0; round < 20; ++round) {
    const double begin = ThreadSeconds();
    for (int i = 0; i < events; ++i) g_recorder->Record(event);
    const double ns = (ThreadSeconds() - begin) / events * 1e9;
    if (ns < least) least = ns;
  }
  return least;
}

int Open(const char* folder, StackMode stacks) {
  g_recorder = new Recorder;
  RecorderConfig config = {folder, "python", ThreadSlotOfProbe, OrderSource::kBest, stacks};
  config.slot_is_static = true;
  return static_cast<int>(g_recorder->Open(config));
}

}  // namespace
}  // namespace vramstow

extern "C" {

// `stacks` is a StackMode: 0 off, 2 all.
__attribute__((visibility("default"))) int probe_open(const char* folder, int stacks) {
  return vramstow::Open(folder, static_cast<vramstow::StackMode>(stacks));
}

// Returns the event's sequence.
__attribute__((visibility("default"))) uint64_t probe_record(void) {
  vramstow::Event event;
  event.kind = vramstow::EventKind::kAllocate;
  event.address = event.size = event.requested = 0x1000;
  return vramstow::g_recorder->Record(event);
}

// Records the event as one of a framework's block, for which the dynamic linker is not called.
__attribute__((visibility("default"))) uint64_t probe_record_block(void) {
  vramstow::BlockEvent block;
  block.kind = vramstow::EventKind::kAllocate;
  block.address = block.size = block.requested = 0x1000;
  return vramstow::g_recorder->RecordBlock(block);
}

// Calls `callback`, a Python function, so that Python is called from C.
__attribute__((visibility("default"))) void probe_call(void (*callback)(void)) {
  callback();
  asm volatile("");
}

// Measures, for the benchmark, the cost of an event with its stack.
__attribute__((visibility("default"))) double probe_measure(int frames, int events) {
  return vramstow::Measure(frames, events);
}

__attribute__((visibility("default"))) void probe_close(void) { vramstow::g_recorder->Close(); }

}  // extern "C"
