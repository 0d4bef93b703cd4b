// A library that a Python program loads with ctypes, to record events with stacks and to be called
// through.
#include <cstdint>

#include "base/event.h"
#include "tracer/recorder.h"

namespace vramstow {
namespace {

Recorder* g_recorder = nullptr;

void** ThreadSlotOfProbe() {
  thread_local void* slot = nullptr;
  return &slot;
}

}  // namespace
}  // namespace vramstow

extern "C" {

__attribute__((visibility("default"))) int probe_open(const char* folder) {
  using namespace vramstow;
  g_recorder = new Recorder;
  return static_cast<int>(
      g_recorder->Open({folder, "python", ThreadSlotOfProbe, OrderSource::kBest, StackMode::kAll}));
}

// Gives the event's sequence.
__attribute__((visibility("default"))) uint64_t probe_record(void) {
  vramstow::Event event;
  event.kind = vramstow::EventKind::kAllocate;
  event.address = event.size = event.requested = 0x1000;
  return vramstow::g_recorder->Record(event);
}

// Calls back, so that Python is called from C.
__attribute__((visibility("default"))) void probe_call(void (*callback)(void)) {
  callback();
  asm volatile("");
}

__attribute__((visibility("default"))) void probe_close(void) { vramstow::g_recorder->Close(); }

}  // extern "C"
