// Measures what recording costs: nanoseconds and bytes per event, with one thread and with two, and
// how fast a trace is read. The benchmark's own work is included in each value; BM_MakingEvents
// measures it, so that it can be subtracted.
#include <benchmark/benchmark.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "base/event.h"
#include "bench/bench_trace.h"
#include "tracer/format/reader.h"
#include "tracer/recorder.h"
#include "tracer/system_calls.h"

namespace vramstow {
namespace {

// Makes pairs of an allocation and a free as a framework makes them: 97 live blocks, twelve sizes,
// eight call sites.
std::vector<Event> MakeEvents() {
  std::vector<Event> events;
  uint64_t random = 1;
  std::vector<uint64_t> live(97, 0);
  for (int i = 0; i < 4096; ++i) {
    random = random * 6364136223846793005u + 1442695040888963407u;
    const uint64_t draw = random >> 33;
    uint64_t& address = live[draw % live.size()];
    Event event;
    event.device = 0;
    event.memory = MemoryKind::kDevice;
    event.library = static_cast<uint16_t>(1 + draw / 128 % 4);
    if (address != 0) {
      event.kind = EventKind::kFree;
      event.call = 2;
      event.address = address;
      address = 0;
    } else {
      event.kind = EventKind::kAllocate;
      event.call = 1;
      event.address = address = 0x7F0000000000 + (draw % (1 << 20)) * 512;
      event.size = event.requested = uint64_t{512} << (draw / 4096 % 12);
    }
    events.push_back(event);
  }
  return events;
}

BenchTrace g_bench;

void BM_MakingEvents(benchmark::State& state) {
  const std::vector<Event> events = MakeEvents();
  size_t i = 0;
  for ([[maybe_unused]] auto _ : state) {
    Event event = events[i++ % events.size()];
    benchmark::DoNotOptimize(event);
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(BM_MakingEvents);

// The argument says what writes full chunks: 0 the recording thread, 1 the recorder's own thread, 2
// the recorder's own thread with compression.
void BM_Record(benchmark::State& state) {
  if (state.thread_index() == 0) g_bench.Open(state.range(0) != 0, state.range(0) == 2);
  const std::vector<Event> events = MakeEvents();
  size_t i = 1000 * static_cast<size_t>(state.thread_index());
  for ([[maybe_unused]] auto _ : state) {
    Event event = events[i++ % events.size()];
    g_bench.recorder->Record(event);
  }
  state.SetItemsProcessed(state.iterations());
  if (state.thread_index() == 0) {
    g_bench.recorder->Close();
    const double bytes = static_cast<double>(std::filesystem::file_size(g_bench.File()));
    state.counters["bytes_per_event"] =
        bytes / static_cast<double>(state.iterations() * state.threads());
    g_bench.Remove();
  }
}
BENCHMARK(BM_Record)
    ->Arg(0)
    ->Arg(1)
    ->Arg(2)
    ->Iterations(3'000'000)
    ->Threads(1)
    ->Threads(2)
    ->UseRealTime();

// Measures the same as BM_Record while another thread records a little, so that the recorder has to
// read the processor's counter behind a fence.
void BM_RecordBesideAnother(benchmark::State& state) {
  g_bench.Open(true, state.range(0) == 2);
  const std::vector<Event> events = MakeEvents();
  std::atomic<bool> stops{false};
  std::thread other([&] {
    while (!stops.load(std::memory_order_relaxed)) {
      g_bench.recorder->Record(events[0]);
      std::this_thread::sleep_for(std::chrono::microseconds(100));
    }
  });
  size_t i = 0;
  for ([[maybe_unused]] auto _ : state) {
    Event event = events[i++ % events.size()];
    g_bench.recorder->Record(event);
  }
  stops.store(true, std::memory_order_relaxed);
  other.join();
  state.SetItemsProcessed(state.iterations());
  g_bench.recorder->Close();
  g_bench.Remove();
}
BENCHMARK(BM_RecordBesideAnother)->Arg(1)->Arg(2)->Iterations(3'000'000)->UseRealTime();

// Measures the bytes of an event in a trace whose recorder has the time to compress all of it; a
// job allocates at most some 100,000 times a second. The measured time is of no interest.
void BM_BytesOfAnEvent(benchmark::State& state) {
  const std::vector<Event> events = MakeEvents();
  constexpr size_t kEvents = 3'000'000;
  for ([[maybe_unused]] auto _ : state) {
    g_bench.Open(true, state.range(0) == 1);
    for (size_t i = 0; i < kEvents; ++i) {
      g_bench.recorder->Record(events[i % events.size()]);
      if (i % 10'000 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(3));
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    g_bench.recorder->Close();
    state.counters["bytes_per_event"] =
        static_cast<double>(std::filesystem::file_size(g_bench.File())) / kEvents;
    g_bench.Remove();
  }
}
BENCHMARK(BM_BytesOfAnEvent)->Arg(0)->Arg(1)->Iterations(1)->Unit(benchmark::kMillisecond);

int NoRoom(int, off_t, off_t) {
  errno = ENOSPC;
  return -1;
}
ssize_t CannotWrite(int, const iovec*, int, off_t) {
  errno = ENOSPC;
  return -1;
}

// The argument chooses the kind of thread: 0 is a thread that has recorded before, as nearly all
// have; 1 is a new thread.
void BM_RecordAfterTheDiskIsFull(benchmark::State& state) {
  SystemCalls full = RealSystemCalls();
  g_bench.Open();
  const std::vector<Event> events = MakeEvents();
  if (state.range(0) == 0) g_bench.recorder->Record(events[0]);
  full.allocate = NoRoom;
  full.write_at = CannotWrite;
  SetSystemCallsForTest(full);
  for (int k = 0; k < 100'000; ++k) g_bench.recorder->Record(events[0]);
  size_t i = 0;
  for ([[maybe_unused]] auto _ : state) {
    Event event = events[i++ % events.size()];
    g_bench.recorder->Record(event);
  }
  SetSystemCallsForTest(RealSystemCalls());
  g_bench.recorder->Close();
  g_bench.Remove();
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(BM_RecordAfterTheDiskIsFull)->Arg(0)->Arg(1);

void BM_Read(benchmark::State& state) {
  g_bench.Open();
  const std::vector<Event> events = MakeEvents();
  constexpr size_t kEvents = 2'000'000;
  for (size_t i = 0; i < kEvents; ++i) g_bench.recorder->Record(events[i % events.size()]);
  g_bench.recorder->Close();
  for ([[maybe_unused]] auto _ : state) {
    TraceReader reader;
    reader.Open(g_bench.File().c_str());
    Event event;
    uint64_t bytes = 0;
    while (reader.Next(&event)) bytes += event.size;
    benchmark::DoNotOptimize(bytes);
    if (reader.report().events != kEvents) state.SkipWithError("events are missing");
  }
  state.SetItemsProcessed(state.iterations() * static_cast<int64_t>(kEvents));
  g_bench.Remove();
}
BENCHMARK(BM_Read)->Unit(benchmark::kMillisecond);

// The argument is the size of the trace in MiB.
void BM_CloseATrace(benchmark::State& state) {
  const uint64_t size = static_cast<uint64_t>(state.range(0)) << 20;
  const std::vector<Event> events = MakeEvents();
  for ([[maybe_unused]] auto _ : state) {
    state.PauseTiming();
    g_bench.Open(true, false);
    for (size_t i = 0; std::filesystem::file_size(g_bench.File()) < size;) {
      for (int k = 0; k < 100'000; ++k) g_bench.recorder->Record(events[i++ % events.size()]);
    }
    state.ResumeTiming();
    g_bench.recorder->Close();
    state.PauseTiming();
    g_bench.Remove();
    state.ResumeTiming();
  }
}
BENCHMARK(BM_CloseATrace)->Arg(64)->Arg(1024)->Unit(benchmark::kMicrosecond)->Iterations(2);

}  // namespace
}  // namespace vramstow

BENCHMARK_MAIN();
