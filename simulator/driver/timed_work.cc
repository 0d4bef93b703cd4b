// Implements the functions by which libraries report the size of work, for the work log and for the
// time that work takes with clock=model.
#include <string.h>

#include <algorithm>
#include <string_view>

#include "simulator/driver/capture.h"
#include "simulator/driver/graph.h"
#include "simulator/driver/stream.h"

namespace vramstow::simulator {
namespace {

// Work that takes the time of a whole operator. It runs after the operator's kernels, which take no
// time of their own.
class TimedWork : public Work {
 public:
  TimedWork(uint64_t duration_ns, int engine, uint64_t link_bytes, LinkTraffic* traffic)
      : duration_ns_(duration_ns), engine_(engine), link_bytes_(link_bytes), traffic_(traffic) {}

  void Run(uint64_t /*time_ns*/) override {
    traffic_->in_place_bytes.fetch_add(link_bytes_, std::memory_order_relaxed);
  }
  uint64_t DurationNs() const override { return duration_ns_; }
  int Engine() const override { return engine_; }

 private:
  uint64_t duration_ns_;
  int engine_;
  uint64_t link_bytes_;
  LinkTraffic* traffic_;
};

// Returns the bytes that work moves over PCIe in one direction. PCIe moves both directions at the
// same time, so the direction with more bytes counts.
uint64_t LinkBytes(const Machine& machine, const vramstowSimulatorRange* ranges, size_t count) {
  uint64_t read = 0;
  uint64_t written = 0;
  for (size_t i = 0; i < count; ++i) {
    const uint64_t bytes = machine.virtual_memory.BytesOnHost(ranges[i].address, ranges[i].bytes);
    if ((ranges[i].use & kVramstowSimulatorReads) != 0) read += bytes;
    if ((ranges[i].use & ~kVramstowSimulatorReads) != 0) written += bytes;
  }
  return std::max(read, written);
}

void AddUp(uint64_t least_ns, uint64_t work_ns, WorkSums* sums) {
  sums->work_ns.fetch_add(least_ns, std::memory_order_relaxed);
  sums->operators.fetch_add(1, std::memory_order_relaxed);
  sums->link_ns.fetch_add(work_ns - least_ns, std::memory_order_relaxed);
}

void AddTime(State* state, CUstream handle, const vramstowSimulatorWorkLine& line,
             const vramstowSimulatorRange* ranges, size_t count) {
  const ThreadState& thread = CurrentThread();
  if (thread.depth == 0) return;
  Context* context = thread.stack[thread.depth - 1];
  Stream* stream = FindExistingStream(state, context, handle);
  if (stream == nullptr || !context->alive) return;
  Machine& machine = *state->machine;
  const uint64_t link_bytes = LinkBytes(machine, ranges, count);
  const bool is_collective = std::string_view(line.kind) == "collective";
  const auto part = is_collective ? Work::Part::kCollectives : Work::Part::kKernels;
  const uint64_t work_ns = machine.model.WorkNs(line, link_bytes);
  if (!is_collective) AddUp(machine.model.WorkNs(line, 0), work_ns, &machine.work_sums);
  auto work = std::make_shared<TimedWork>(work_ns, Work::EngineOf(stream->context->device, part),
                                          link_bytes, &machine.traffic);
  machine.timeline.Advance(machine.model.OperatorCallNs());
  if (stream->capture == nullptr) {
    const uint64_t duration = work->DurationNs();
    machine.timeline.Enqueue(stream->queue, std::move(work), {}, duration);
  } else if (GraphNode* node = FindLastNode(*stream)) {
    node->appended.push_back(std::move(work));
  }
}

}  // namespace
}  // namespace vramstow::simulator

using namespace vramstow::simulator;  // NOLINT(google-build-using-namespace): the C ABI is global

extern "C" {

int vramstowSimulatorLogsWork(void) {
  DriverGlobals& globals = Globals();
  if (!globals.initialized.load(std::memory_order_acquire) || globals.forked) return 0;
  const Machine& machine = *HeldState().machine;
  return machine.work_log.is_open() || machine.model.is_on() ? 1 : 0;
}

void vramstowSimulatorLogWork(CUstream stream, const vramstowSimulatorWorkLine* line,
                              const vramstowSimulatorRange* ranges, size_t count) {
  if (vramstowSimulatorLogsWork() == 0) return;
  vramstowSimulatorWorkLine known = {};
  memcpy(&known, line, std::min(line->size, sizeof known));
  Machine& machine = *HeldState().machine;
  if (machine.work_log.is_open()) machine.work_log.Write(known);
  if (!machine.model.is_on() || CurrentThread().inside_callback || Globals().shut_down) return;
  const MutexLock lock(&Globals().mutex);
  try {
    AddTime(&Globals().state(), stream, known, ranges, count);
    PublishTime(machine);
  } catch (const std::bad_alloc&) {
    return;  // the work takes no time
  }
}

void vramstowSimulatorPass(uint64_t nanoseconds) {
  DriverGlobals& globals = Globals();
  if (!globals.initialized.load(std::memory_order_acquire) || globals.forked) return;
  if (CurrentThread().inside_callback) return;
  const MutexLock lock(&globals.mutex);
  Machine& machine = *globals.state().machine;
  if (machine.model.is_on()) machine.timeline.Advance(nanoseconds);
  PublishTime(machine);
}

uint64_t vramstowSimulatorJoinTime(uint64_t time_ns) {
  DriverGlobals& globals = Globals();
  if (!globals.initialized.load(std::memory_order_acquire) || globals.forked) return 0;
  if (CurrentThread().inside_callback) return HeldState().machine->timeline.now_ns();
  const MutexLock lock(&globals.mutex);
  Machine& machine = *globals.state().machine;
  if (machine.model.is_on()) machine.timeline.JoinTime(time_ns);
  PublishTime(machine);
  return machine.timeline.now_ns();
}

uint64_t vramstowSimulatorLatestTime(void) {
  if (Globals().forked) return 0;
  Tenancy* tenancy = Globals().tenancy;
  return std::max(vramstowSimulatorTime(), tenancy == nullptr ? 0 : tenancy->LatestTime());
}

int vramstowSimulatorReadModelClock(vramstowSimulatorModelClock* clock, size_t size) {
  DriverGlobals& globals = Globals();
  if (!globals.initialized.load(std::memory_order_acquire) || globals.forked) return -1;
  const Machine& machine = *HeldState().machine;
  if (!machine.model.is_on()) return -1;
  vramstowSimulatorModelClock now = {};
  now.now_ns = machine.timeline.now_ns();
  now.link_read_bytes = machine.traffic.in_place_bytes.load(std::memory_order_relaxed);
  now.to_host_bytes = machine.traffic.to_host_bytes.load(std::memory_order_relaxed);
  now.to_device_bytes = machine.traffic.to_device_bytes.load(std::memory_order_relaxed);
  now.wait_ns = machine.traffic.waited_ns.load(std::memory_order_relaxed);
  now.work_ns = machine.work_sums.work_ns.load(std::memory_order_relaxed);
  now.operators = machine.work_sums.operators.load(std::memory_order_relaxed);
  now.link_work_ns = machine.work_sums.link_ns.load(std::memory_order_relaxed);
  now.due_ns = machine.timeline.due_ns();
  memcpy(clock, &now, std::min(size, sizeof now));
  return 0;
}

}  // extern "C"
