// Measures what a walk of the calling thread's native stack costs, by vramstow's own unwinder and
// by libunwind, on the same stacks in one run. The argument is how many frames the benchmark adds
// below its own.
#include <benchmark/benchmark.h>
#include <dlfcn.h>
#include <sys/mman.h>

#include <cstdlib>

#include "tracer/capture/native_stack.h"
#include "tracer/capture/stack_capture.h"
#include "tracer/capture/unwind_library.h"

namespace vramstow {
namespace {

template <typename T>
T* Zeroed() {
  return static_cast<T*>(mmap(nullptr, sizeof(T), PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
}

UnwindTable* g_rules = Zeroed<UnwindTable>();
NativeStack* g_stack = Zeroed<NativeStack>();
uintptr_t g_addresses[kMaxStackFrames];

// Walks the stack as the product does: with the results of the last walk cached.
__attribute__((noinline)) size_t Ours() {
  FramePlace here = {};
  VRAMSTOW_HERE(here);
  g_stack->Walk(g_rules, here, 1);
  asm volatile("");
  return g_stack->count();
}

// Walks with a new epoch each time, so that the cached unwind rules are used, but not the cached
// stack.
__attribute__((noinline)) size_t OursAnew() {
  static uint64_t epoch = 1;
  FramePlace here = {};
  VRAMSTOW_HERE(here);
  g_stack->Walk(g_rules, here, ++epoch);
  asm volatile("");
  return g_stack->count();
}

size_t LibunwindQuickly() {
  return UnwindLibrary::Opened()->WalkQuickly(g_addresses, kMaxStackFrames);
}

size_t LibunwindByStep() { return UnwindLibrary::Opened()->Walk(g_addresses, kMaxStackFrames); }

__attribute__((noinline)) void Below(int64_t frames, benchmark::State* state, size_t (*walk)()) {
  if (frames > 0) {
    Below(frames - 1, state, walk);
    asm volatile("");  // no tail call
    return;
  }
  size_t count = 0;
  for ([[maybe_unused]] auto _ : *state) count = walk();
  state->counters["frames"] = static_cast<double>(count);
  state->counters["per_frame"] =
      benchmark::Counter(static_cast<double>(count) * static_cast<double>(state->iterations()),
                         benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}

template <size_t (*walk)()>
void BM_Walk(benchmark::State& state) {
  if (!UnwindLibrary::Open(VRAMSTOW_UNWINDER, dlopen, dlsym)) std::abort();
  Below(state.range(0), &state, walk);
}
// Together with the frames of the benchmark itself the stacks have 30 and 100 frames.
BENCHMARK_TEMPLATE(BM_Walk, Ours)->Arg(20)->Arg(90);
BENCHMARK_TEMPLATE(BM_Walk, OursAnew)->Arg(20)->Arg(90);
BENCHMARK_TEMPLATE(BM_Walk, LibunwindQuickly)->Arg(20)->Arg(90);
BENCHMARK_TEMPLATE(BM_Walk, LibunwindByStep)->Arg(20)->Arg(90);

}  // namespace
}  // namespace vramstow

BENCHMARK_MAIN();
