// Writes a trace as a process that uses CUDA would. It is used by the tests of the program.
//
//   write_trace SCENARIO [EXIT]    writes into VRAMSTOW_TRACE_DIR, with run.id from VRAMSTOW_RUN_ID
//
// SCENARIO is one of: small; many (100,000 events); idle (the process allocates nothing); refused
// (a free that the driver refuses); turns (the process shares its GPU); killed (the process then
// kills itself). EXIT is the exit status.
#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "tracer/recorder.h"

namespace vramstow {
namespace {

constexpr uint64_t kMega = 1 << 20;
Recorder recorder;

void** Slot() {
  thread_local void* slot = nullptr;
  return &slot;
}

void DescribeFrom(const char* key, const char* variable) {
  const char* value = std::getenv(variable);
  if (value != nullptr) recorder.Describe(key, value);
}

// Records an event. If its kind is kRefused, `address` is the number of the event that the driver
// refused.
uint64_t Record(uint64_t address, uint64_t size, EventKind kind, int32_t result = 0) {
  const bool is_refused = kind == EventKind::kRefused;
  return recorder.Record(
      {.address = is_refused ? 0 : address,
       .size = size,
       .object = is_refused ? address : 0,
       .result = result,
       .device = 0,
       .call = recorder.InternCall(kind == EventKind::kFree ? "cuMemFree" : "cuMemAlloc"),
       .library = recorder.InternLibrary("/usr/lib/libjob.so", 0x1000, ""),
       .kind = kind,
       .memory = MemoryKind::kDevice});
}

void Mark(const char* text) {
  recorder.RecordMark(MarkKind::kMoment, recorder.InternAnnotation(text), 0);
}

int Main(int count, char** values) {
  const std::string scenario = count > 1 ? values[1] : "small";
  const char* directory = std::getenv("VRAMSTOW_TRACE_DIR");
  const std::string stem = "write_trace-" + std::to_string(getpid());
  if (recorder.Open({directory == nullptr ? "." : directory, stem.c_str(), Slot}) !=
      RecorderError::kOk) {
    std::perror("write_trace");
    return 99;
  }
  DescribeFrom("run.id", "VRAMSTOW_RUN_ID");
  DescribeFrom("process.rank", "RANK");
  DescribeFrom("run.requeue", "SLURM_RESTART_COUNT");
  DescribeFrom("run.restart", "TORCHELASTIC_RESTART_COUNT");
  DescribeFrom("process.start_time", "START_TIME");
  DescribeFrom("process.exit_status", "EXIT_STATUS");
  DescribeFrom("program.uncaught", "UNCAUGHT");
  DescribeFrom("simulated", "VRAMSTOW_SIMULATE");
  recorder.Describe("process.pid", std::to_string(getpid()));
  recorder.Describe("process.command", "write_trace " + scenario);
  recorder.Describe("process.program", "/usr/bin/write_trace");
  recorder.Describe("device.0.name", "Test card");
  if (scenario == "idle") {
    recorder.Close();
    return 0;
  }
  Record(0x10000, 3 * kMega, EventKind::kAllocate);
  Record(0x20000, 5 * kMega, EventKind::kAllocate);
  Record(0x10000, 0, EventKind::kFree);
  Record(0, 900 * kMega, EventKind::kAllocate, 2);
  if (scenario == "many") {
    for (uint64_t i = 0; i < 50000; ++i) {
      Record(0x100000 + i, 512, EventKind::kAllocate);
      Record(0x100000 + i, 0, EventKind::kFree);
    }
  }
  if (scenario == "refused") {
    const uint64_t announced = Record(0x20000, 0, EventKind::kFree);
    Record(announced, 0, EventKind::kRefused, 1);
  }
  if (scenario == "turns") {
    Mark("vramstow.share waits 0");
    Record(0x30000, kMega, EventKind::kAllocate);
    Mark("vramstow.share turn 0");
    Record(0x40000, kMega, EventKind::kAllocate);
    Mark("vramstow.share runs 0");
    Mark("vramstow.share sleeps 0");
  }
  if (scenario == "killed") kill(getpid(), SIGKILL);
  recorder.Close();
  return count > 2 ? std::atoi(values[2]) : 0;
}

}  // namespace
}  // namespace vramstow

int main(int count, char** values) { return vramstow::Main(count, values); }
