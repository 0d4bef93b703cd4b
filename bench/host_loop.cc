// Two loops of malloc and free for host_tracers_cost.py, which measures tracers of host memory. One
// loop does nothing else; the other one records each call by vramstow's recorder.
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

// Frees or allocates one of 97 blocks, chosen at random, `events` times. Returns the nanoseconds
// for each of these calls.
template <bool kIsRecorded>
double Loop(int events) {
  constexpr int kLive = 97;
  void* volatile live[kLive] = {};
  uint64_t random = 1;
  const double begin = ThreadSeconds();
  for (int i = 0; i < events; ++i) {
    random = random * 6364136223846793005u + 1442695040888963407u;
    void* volatile& block = live[(random >> 33) % kLive];
    if (block != nullptr) {
      if (kIsRecorded) Emit(EventKind::kFree, block, 0);
      std::free(block);
      block = nullptr;
    } else {
      const size_t size = size_t{16} << ((random >> 45) % 8);
      block = std::malloc(size);
      if (kIsRecorded) Emit(EventKind::kAllocate, block, size);
    }
  }
  const double took = ThreadSeconds() - begin;
  for (void* volatile& block : live) std::free(block);
  return took / events * 1e9;
}

}  // namespace
}  // namespace vramstow

extern "C" {

// Returns this thread's processor time in nanoseconds for each malloc or free.
__attribute__((visibility("default"))) double host_loop(int events) {
  return vramstow::Loop<false>(events);
}

// Runs the loop of host_loop and records each call in a trace in the folder; `stacks` is a
// StackMode. Returns a thread's processor time in nanoseconds for each malloc or free, or a
// negative number if the recorder cannot be opened.
__attribute__((visibility("default"))) double host_loop_recorded(const char* folder, int stacks,
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
