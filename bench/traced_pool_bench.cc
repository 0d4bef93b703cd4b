// Measures what the tracer adds to an allocation: the same pair of a hit and its free by a pool
// without an event sink, and by one whose events go into a trace. Only differences within one run
// are meaningful; recorder_bench measures the recorder without the pool.
#include <benchmark/benchmark.h>

#include <memory>

#include "allocator/pool/pool.h"
#include "base/units.h"
#include "bench/bench_trace.h"
#include "bench/idle_device.h"

namespace vramstow {
namespace {

// The arguments are: whether there is a trace; the bytes of the block.
void TracedPair(benchmark::State& state) {
  const bool traced = state.range(0) == 1;
  IdleDevice device;
  BenchTrace trace;
  PoolConfig config;
  if (traced) {
    trace.Open(/*background=*/true);
    config.sink.take = [](void* context, Event* event) {
      return static_cast<Recorder*>(context)->Record(*event);
    };
    config.sink.context = trace.recorder;
  }
  const auto pool = std::make_unique<Pool>();
  if (pool->Open(device.table(), config) != PoolError::kOk) std::abort();
  const BlockRequest request{static_cast<uint64_t>(state.range(1)), 1, 0, Layer::kFramework};
  for ([[maybe_unused]] auto _ : state) {
    Block block{};
    if (pool->Allocate(request, &block) != PoolError::kOk) std::abort();
    benchmark::DoNotOptimize(block);
    if (pool->Free(block.address) != PoolError::kOk) std::abort();
  }
  state.SetItemsProcessed(2 * state.iterations());
  pool->Close(PoolEnd::kAlive);
  if (!traced) return;
  trace.recorder->Close();
  trace.Remove();
}
BENCHMARK(TracedPair)
    ->ArgsProduct({{0, 1}, {512, 1000, 1 << 20}})
    ->Iterations(1'000'000)
    ->Repetitions(9);

}  // namespace
}  // namespace vramstow

BENCHMARK_MAIN();
