// Measures how long the pool's hits take: pairs, random replacement, several threads, and with up
// to a million live blocks. The memory comes from a device that does nothing, so that only the
// pool's own time is measured.
#include <benchmark/benchmark.h>

#include <cmath>
#include <memory>
#include <random>
#include <vector>

#include "allocator/core/host_memory.h"
#include "allocator/pool/pool.h"
#include "base/units.h"
#include "bench/idle_device.h"

namespace vramstow {
namespace {

// One device and one pool for a whole benchmark, shared by all of its threads.
struct BenchPool {
  IdleDevice device;
  std::unique_ptr<Pool> pool = std::make_unique<Pool>();

  BenchPool() {
    PoolConfig config;
    if (pool->Open(device.table(), config) != PoolError::kOk) std::abort();
  }
  ~BenchPool() { pool->Close(PoolEnd::kAlive); }

  uint64_t Take(uint64_t size, uint64_t stream) {
    Block block{};
    const BlockRequest request{size, stream, 0, Layer::kFramework};
    if (pool->Allocate(request, &block) != PoolError::kOk) std::abort();
    return block.address;
  }
  void Give(uint64_t address) {
    if (pool->Free(address) != PoolError::kOk) std::abort();
  }
};

std::unique_ptr<BenchPool> place;

void SetUp(const benchmark::State&) { place = std::make_unique<BenchPool>(); }
void TearDown(const benchmark::State&) { place.reset(); }

uint64_t StreamOf(const benchmark::State& state) {
  return static_cast<uint64_t>(state.thread_index()) + 1;
}

// Draws sizes from 512 B to 64 MiB; every power of two is equally likely.
std::vector<uint64_t> MixedSizes(uint64_t seed, double low, double high) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> exponent(low, high);
  std::vector<uint64_t> sizes(4096);
  for (uint64_t& size : sizes) size = static_cast<uint64_t>(std::exp2(exponent(random)));
  return sizes;
}

void HitPair(benchmark::State& state) {
  const auto size = static_cast<uint64_t>(state.range(0));
  const uint64_t stream = StreamOf(state);
  place->Give(place->Take(size, stream));
  while (state.KeepRunning()) {
    const uint64_t address = place->Take(size, stream);
    benchmark::DoNotOptimize(address);
    place->Give(address);
  }
}

void RandomReplacement(benchmark::State& state) {
  const uint64_t stream = StreamOf(state);
  const std::vector<uint64_t> sizes = MixedSizes(stream, 9, static_cast<double>(state.range(0)));
  std::mt19937_64 random(stream);
  std::vector<uint64_t> live(256);
  for (size_t i = 0; i < live.size(); ++i) live[i] = place->Take(sizes[i], stream);
  std::vector<uint32_t> victims(4096);
  for (uint32_t& victim : victims) victim = static_cast<uint32_t>(random() % live.size());
  // The pool must see the whole mix of sizes before time is measured.
  for (int i = 0; i < 100'000; ++i) {
    uint64_t& slot = live[random() % live.size()];
    place->Give(slot);
    slot = place->Take(sizes[random() % sizes.size()], stream);
  }
  const uint64_t misses = place->pool->Stats().misses;
  size_t step = 0;
  while (state.KeepRunning()) {
    uint64_t& slot = live[victims[step % victims.size()]];
    place->Give(slot);
    slot = place->Take(sizes[(step * 7) % sizes.size()], stream);
    ++step;
  }
  state.counters["misses"] =
      benchmark::Counter(static_cast<double>(place->pool->Stats().misses - misses));
  for (const uint64_t address : live) place->Give(address);
}

// Replaces random blocks of 512 B to 4 KiB among many live ones. The next blocks are chosen some
// steps ahead and prefetched, so that the benchmark's own list adds no cache misses.
void ManyLive(benchmark::State& state) {
  const auto count = static_cast<size_t>(state.range(0));
  const std::vector<uint64_t> sizes = MixedSizes(1, 9, 12);
  std::mt19937_64 random(1);
  // The list is in huge pages, so that the loop's own TLB misses are not attributed to the pool.
  auto* const live = static_cast<uint64_t*>(AllocateHostMemory(count * sizeof(uint64_t)));
  if (live == nullptr) std::abort();
  for (size_t i = 0; i < count; ++i) live[i] = place->Take(sizes[i % sizes.size()], 1);
  state.counters["host_bytes_per_block"] = benchmark::Counter(
      static_cast<double>(place->pool->Stats().host_bytes) / static_cast<double>(count));
  constexpr size_t kAhead = 16;
  uint64_t* victims[kAhead];
  for (uint64_t*& victim : victims) victim = &live[random() % count];
  size_t step = 0;
  while (state.KeepRunning()) {
    uint64_t* slot = victims[step % kAhead];
    victims[step % kAhead] = &live[random() % count];
    __builtin_prefetch(victims[step % kAhead]);
    place->Give(*slot);
    *slot = place->Take(sizes[step++ % sizes.size()], 1);
  }
  for (size_t i = 0; i < count; ++i) place->Give(live[i]);
  FreeHostMemory(live, count * sizeof(uint64_t));
}

// Allocates that many blocks and frees them in order, as a job does that builds a large state.
void FillAndEmpty(benchmark::State& state) {
  const auto count = static_cast<size_t>(state.range(0));
  const std::vector<uint64_t> sizes = MixedSizes(1, 9, 12);
  std::vector<uint64_t> live(count);
  while (state.KeepRunning()) {
    for (size_t i = 0; i < count; ++i) live[i] = place->Take(sizes[i % sizes.size()], 1);
    for (const uint64_t address : live) place->Give(address);
  }
  state.SetItemsProcessed(state.iterations() * static_cast<int64_t>(count));
}

BENCHMARK(HitPair)
    ->Arg(512)
    ->Arg(1 << 20)
    ->Arg(64 << 20)
    ->ThreadRange(1, 4)
    ->UseRealTime()
    ->Setup(SetUp)
    ->Teardown(TearDown);
BENCHMARK(RandomReplacement)
    ->Arg(20)
    ->Arg(26)
    ->ThreadRange(1, 4)
    ->UseRealTime()
    ->Setup(SetUp)
    ->Teardown(TearDown);
BENCHMARK(ManyLive)->Arg(1'000)->Arg(10'000)->Arg(100'000)->Arg(1'000'000)->Setup(SetUp)->Teardown(
    TearDown);
BENCHMARK(FillAndEmpty)->Arg(1'000)->Arg(1'000'000)->Setup(SetUp)->Teardown(TearDown);

}  // namespace
}  // namespace vramstow

BENCHMARK_MAIN();
