// What the tracer adds to an allocation: the same pair of a hit and its free by a pool whose events
// nobody takes, and by one whose events go into a trace. Ratios and differences within one run
// count; BM_... of recorder_bench is the recorder without the pool.
#include <benchmark/benchmark.h>
#include <stdlib.h>

#include <filesystem>
#include <memory>
#include <string>

#include "allocator/pool.h"
#include "base/units.h"
#include "bench/idle_device.h"
#include "tracer/recorder.h"

namespace vramstow {
namespace {

void** ThreadSlotOfBench() {
  thread_local void* slot = nullptr;
  return &slot;
}

// A pool, and where its events go, for a whole benchmark.
struct Place {
  IdleDevice device;
  Recorder* recorder = nullptr;
  std::string folder;
  std::unique_ptr<Pool> pool = std::make_unique<Pool>();

  explicit Place(bool traced) {
    PoolConfig config;
    if (traced) {
      std::string name =
          (std::filesystem::temp_directory_path() / "vramstow-bench-XXXXXX").string();
      folder = mkdtemp(name.data());
      recorder = new Recorder;  // lives as long as the process
      RecorderConfig to = {folder.c_str(), "bench", ThreadSlotOfBench};
      to.background = true;
      if (recorder->Open(to) != RecorderError::kOk) std::abort();
      config.sink.take = [](void* context, Event* event) {
        return static_cast<Recorder*>(context)->Record(*event);
      };
      config.sink.context = recorder;
    }
    if (pool->Open(device.table(), config) != PoolError::kOk) std::abort();
  }
  ~Place() {
    pool->Close(PoolEnd::kAlive);
    if (recorder == nullptr) return;
    recorder->Close();
    std::filesystem::remove_all(folder);
  }
};

std::unique_ptr<Place> place;

// Arguments: whether there is a trace; bytes.
void TracedPair(benchmark::State& state) {
  if (state.thread_index() == 0) place = std::make_unique<Place>(state.range(0) == 1);
  const auto size = static_cast<uint64_t>(state.range(1));
  const uint64_t stream = static_cast<uint64_t>(state.thread_index()) + 1;
  for ([[maybe_unused]] auto _ : state) {
    Block block{};
    const BlockRequest request{size, stream, 0, Layer::kFramework};
    if (place->pool->Allocate(request, &block) != PoolError::kOk) std::abort();
    benchmark::DoNotOptimize(block);
    if (place->pool->Free(block.address) != PoolError::kOk) std::abort();
  }
  state.SetItemsProcessed(2 * state.iterations());
  if (state.thread_index() == 0) place.reset();
}
BENCHMARK(TracedPair)
    ->ArgsProduct({{0, 1}, {512, 1000, 1 << 20}})
    ->Iterations(1'000'000)
    ->Repetitions(9)
    ->ReportAggregatesOnly(false);

}  // namespace
}  // namespace vramstow

BENCHMARK_MAIN();
