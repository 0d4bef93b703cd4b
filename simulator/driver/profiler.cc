#include "simulator/driver/profiler.h"

#include <algorithm>
#include <string>
#include <unordered_set>
#include <variant>

#include "simulator/driver/graph.h"
#include "simulator/driver/host_memory.h"
#include "simulator/driver/pool.h"

namespace vramstow::simulator {
namespace {

constinit std::atomic<const vramstowSimulatorProfiler*> profiler = nullptr;

// Returns a copy of the name that is never freed, because a profiler's records name kernels long
// after their modules are unloaded.
const char* Interned(const std::string& name) {
  static auto* names = new std::unordered_set<std::string>;
  return names->insert(name).first->c_str();
}

class ObservedWork : public Work {
 public:
  ObservedWork(std::shared_ptr<Work> work, const WorkNote& note)
      : work_(std::move(work)), duration_ns_(work_->DurationNs()), note_(note) {}

  void Run(uint64_t time_ns) override {
    work_->Run(time_ns);
    const vramstowSimulatorProfiler* listener = Profiler();
    if (listener == nullptr) return;
    note_.end_ns = time_ns;
    note_.start_ns = time_ns - duration_ns_;
    listener->work(&note_);
  }
  uint64_t DurationNs() const override { return duration_ns_; }
  bool OnHost() const override { return work_->OnHost(); }
  Poll MakePoll() override { return work_->MakePoll(); }
  int Engine() const override { return work_->Engine(); }

 private:
  std::shared_ptr<Work> work_;
  uint64_t duration_ns_;
  WorkNote note_;
};

int PlaceOf(State& state, uint64_t address, int* device) {
  *device = -1;
  Machine& machine = *state.machine;
  const Block* block = machine.memory.FindAround(address);
  if (block != nullptr && block->kind == BlockKind::kManaged) return kVramstowSimulatorManaged;
  if (machine.contents.IsDevice(address)) {
    if (block != nullptr) {
      *device = block->device;
    } else if (const Mapping* mapping = machine.virtual_memory.FindMapping(address)) {
      const Physical* physical = machine.virtual_memory.Find(mapping->physical);
      if (physical != nullptr) *device = physical->device;
    }
    return kVramstowSimulatorOnDevice;
  }
  return IsPinned(block) ? kVramstowSimulatorPinned : kVramstowSimulatorPageable;
}

}  // namespace

const vramstowSimulatorProfiler* Profiler() { return profiler.load(std::memory_order_acquire); }

WorkNote DescribeLaunch(const Launch& launch) {
  WorkNote note = {};
  note.kind = kVramstowSimulatorKernelWork;
  note.kernel = Interned(launch.function->name);
  std::copy_n(launch.grid, 3, note.grid);
  std::copy_n(launch.block, 3, note.block);
  const int* attributes = launch.function->attributes;
  note.static_shared_bytes = static_cast<unsigned>(attributes[CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES]);
  note.dynamic_shared_bytes = launch.shared_bytes;
  note.registers = static_cast<unsigned>(attributes[CU_FUNC_ATTRIBUTE_NUM_REGS]);
  note.local_bytes = static_cast<unsigned>(attributes[CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES]);
  return note;
}

WorkNote DescribeCopy(State& state, const CopyBox& box, bool asynchronous) {
  WorkNote note = {};
  note.kind = kVramstowSimulatorCopyWork;
  note.bytes = box.Bytes();
  note.from = PlaceOf(state, box.from.address, &note.from_device);
  note.to = PlaceOf(state, box.to.address, &note.to_device);
  note.asynchronous = asynchronous ? 1 : 0;
  return note;
}

WorkNote DescribeFill(const FillBox& box, bool asynchronous) {
  WorkNote note = {};
  note.kind = kVramstowSimulatorFillWork;
  note.bytes = box.element * box.width * box.height;
  note.value = box.value;
  note.asynchronous = asynchronous ? 1 : 0;
  return note;
}

WorkNote DescribeNode(State& state, const GraphNode& node) {
  WorkNote note = {};
  if (const auto* kernel = std::get_if<KernelNode>(&node.parameters)) {
    note = DescribeLaunch(kernel->launch);
  } else if (const auto* copy = std::get_if<CopyNode>(&node.parameters)) {
    note = DescribeCopy(state, copy->box, true);
  } else if (const auto* fill = std::get_if<FillNode>(&node.parameters)) {
    note = DescribeFill(fill->box, true);
  }
  note.graph_node = node.id;
  return note;
}

std::shared_ptr<Work> WrapWork(Call& call, const Stream& stream, std::shared_ptr<Work> work,
                               const WorkNote& note) {
  const vramstowSimulatorProfiler* listener = Profiler();
  if (listener == nullptr || work == nullptr || note.kind == 0) return work;
  WorkNote record = note;
  record.device = stream.context->device;
  record.context_id = static_cast<uint32_t>(stream.context->id);
  record.stream = static_cast<uint32_t>(stream.id);
  record.priority = stream.priority;
  record.queued_ns = call.machine().timeline.now_ns();
  if (record.kernel != nullptr) call.profiler_record().symbol = record.kernel;
  listener->queue(&record);
  return std::make_shared<ObservedWork>(std::move(work), record);
}

void EmitPool(Call& call, const Pool& pool) {
  vramstowSimulatorCall& record = call.profiler_record();
  record.pool = reinterpret_cast<uintptr_t>(&pool);
  record.pool_threshold_bytes = pool.release_threshold;
  record.pool_reserved_bytes = pool.reserved;
  record.pool_used_bytes = pool.used;
  record.device = pool.place.device;
}

void EmitEvent(Call& call, const Event& event) {
  call.profiler_record().event = event.id;
  call.profiler_record().event_record = event.records;
}

}  // namespace vramstow::simulator

const vramstowSimulatorProfiler** vramstowSimulatorProfilerPlace(void) {
  return reinterpret_cast<const vramstowSimulatorProfiler**>(&vramstow::simulator::profiler);
}
