// A loop of malloc and free, for tracers of the host's memory; and the same one told to vramstow's
// recorder. Loaded by host_tracers_cost.py.
#include <time.h>

#include <cstdint>
#include <cstdlib>

#include "tracer/recorder.h"

namespace vramstow {
namespace {

void** ThreadSlotOfLoop() {
  thread_local void* slot = nullptr;
  return &slot;
}

Recorder g_recorder;

double ThreadSeconds() {
  timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

void Emit(EventKind kind, void* block, size_t size) {
  Event event;
  event.kind = kind;
  event.memory = MemoryKind::kHostPinned;
  event.address = reinterpret_cast<uintptr_t>(block);
  event.size = event.requested = size;
  g_recorder.Record(event);
}

// Random replacement of 97 blocks.
template <bool kIsTold>
double Loop(int events) {
  constexpr int kLive = 97;
  void* volatile live[kLive] = {};
  uint64_t random = 1;
  const double begin = ThreadSeconds();
  for (int i = 0; i < events; ++i) {
    random = random * 6364136223846793005u + 1442695040888963407u;
    void* volatile& block = live[(random >> 33) % kLive];
    if (block != nullptr) {
      if (kIsTold) Emit(EventKind::kFree, block, 0);
      std::free(block);
      block = nullptr;
    } else {
      const size_t size = size_t{16} << ((random >> 45) % 8);
      block = std::malloc(size);
      if (kIsTold) Emit(EventKind::kAllocate, block, size);
    }
  }
  const double took = ThreadSeconds() - begin;
  for (void* volatile& block : live) std::free(block);
  return took / events * 1e9;
}

}  // namespace
}  // namespace vramstow

extern "C" {

// Nanoseconds of this thread's processor time for each malloc or free.
__attribute__((visibility("default"))) double host_loop(int events) {
  return vramstow::Loop<false>(events);
}

// The same, told to a recorder in that folder; stacks as StackMode has them. Negative: no recorder.
__attribute__((visibility("default"))) double host_loop_told(const char* folder, int stacks,
                                                             int events) {
  vramstow::RecorderConfig config = {folder, "loop", vramstow::ThreadSlotOfLoop};
  config.stacks = static_cast<vramstow::StackMode>(stacks);
  config.background = config.compress = true;
  if (vramstow::g_recorder.Open(config) != vramstow::RecorderError::kOk) return -1;
  const double ns = vramstow::Loop<true>(events);
  vramstow::g_recorder.Close();
  return ns;
}
}
