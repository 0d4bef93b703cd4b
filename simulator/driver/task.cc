#include "simulator/driver/task.h"

#include <string.h>

#include <algorithm>
#include <atomic>

#include "simulator/driver/capture.h"
#include "simulator/driver/graph.h"
#include "simulator/driver/host_budget.h"
#include "simulator/driver/idle_launches.h"
#include "simulator/driver/stream.h"
#include "simulator/driver/use_watch.h"

namespace vramstow::simulator {

// What a thread wants to be told instead of what device memory holds.
struct ReadPatch {
  void (*patch)(void* user, void* bytes, size_t size) = nullptr;  // null: no longer
  void* user = nullptr;
  uint64_t references = 1;  // under the driver's lock
};

namespace {

constexpr uint64_t kSmallRead = 8;

// What large tasks have touched so far. Written under the driver's lock, read by anybody.
std::atomic<uint64_t> spent_allowance{0};

bool IsLarge(const Spec& spec, uint64_t bytes) { return bytes > spec.emulation_bytes; }

bool IsWithinAllowance(const Spec& spec, uint64_t bytes) {
  const uint64_t spent = spent_allowance.load(std::memory_order_relaxed);
  return bytes <= spec.allowance_bytes - std::min(spec.allowance_bytes, spent);
}

class Task : public Work {
 public:
  Task(State* state, Context* context, const vramstowSimulatorTask& task)
      : state_(state),
        context_(context),
        task_(task),
        ranges_(task.ranges, task.ranges + task.range_count),
        is_trial_(CurrentThread().trials > 0) {
    task_.ranges = nullptr;
  }
  ~Task() override {
    if (task_.drop != nullptr) task_.drop(task_.user);
  }
  Task(const Task&) = delete;
  Task& operator=(const Task&) = delete;

  void Run(uint64_t /*time_ns*/) override {
    if (context_->sticky != CUDA_SUCCESS || !IsThere()) return;
    if (OnlyZeroes()) return Clean();
    const char* origin = FindOrigin();
    const char* reason = Refuse(origin);
    if (reason == nullptr) {
      const int outcome = Compute();
      if (outcome == kVramstowSimulatorDone) return MarkWrites(origin);
      // An index that was never computed says nothing of the program.
      if (outcome == kVramstowSimulatorAssertion && origin == nullptr) {
        context_->sticky = CUDA_ERROR_ASSERT;
        return;
      }
      reason = origin == nullptr ? " (cannot be computed here)" : " (of what was left out)";
    }
    NoteIdleLaunch(*state_, task_.name, reason);
    MarkUncomputed(origin == nullptr ? task_.name : origin);
  }

  void AddUses(std::vector<vramstowSimulatorRange>* uses) const override {
    uses->insert(uses->end(), ranges_.begin(), ranges_.end());
  }

 private:
  // All memory that it touches is there. It was when the task was appended; a program that frees
  // memory which is in use gets what a card gives: something else.
  bool IsThere() const {
    Contents& contents = state_->machine->contents;
    return std::all_of(ranges_.begin(), ranges_.end(), [&](const vramstowSimulatorRange& range) {
      const bool write = (range.use & ~kVramstowSimulatorReads) != 0;
      return contents.IsDevice(range.address) &&
             contents.Check(range.address, range.bytes, context_->device, write, true) ==
                 Result::kSuccess &&
             contents.Translate(range.address, range.bytes, write) != nullptr;
    });
  }

  // Pages of zeros cost the host nothing, so that such a task is not measured by its size.
  bool OnlyZeroes() const {
    const auto zeroes = [](const vramstowSimulatorRange& range) {
      return (range.use & kVramstowSimulatorZeroes) != 0;
    };
    return !ranges_.empty() && std::all_of(ranges_.begin(), ranges_.end(), zeroes);
  }

  // What is filled reads as zeros, and as computed.
  void Clean() {
    for (const vramstowSimulatorRange& range : ranges_) {
      if ((range.use & kVramstowSimulatorFills) != 0) {
        state_->machine->contents.Fill(range.address, 0, 1, range.bytes);
      }
    }
  }

  // Who left out what is read; null: nobody did.
  const char* FindOrigin() const {
    const UncomputedRanges& uncomputed = state_->machine->contents.uncomputed();
    if (uncomputed.empty()) return nullptr;
    for (const vramstowSimulatorRange& range : ranges_) {
      if ((range.use & kVramstowSimulatorFills) != 0) continue;
      const char* by = uncomputed.Find(range.address, range.bytes);
      if (by != nullptr) return by;
    }
    return nullptr;
  }

  // Why it is not to be computed; null: it is.
  const char* Refuse(const char* origin) const {
    const Spec& spec = state_->machine->spec();
    if (task_.run == nullptr || task_.operations > spec.gemm_operations) return " (too large)";
    if (IsLarge(spec, task_.bytes)) {
      if (is_trial_) return " (only timed)";
      if (origin != nullptr) return " (of what was left out)";
      if (!IsWithinAllowance(spec, task_.bytes)) return " (too large)";
      if (!HasRoom()) return " (beyond contents=)";
    }
    if (!HostBudget::Global().Allows(*state_, task_.bytes)) return " (memory of this machine)";
    return nullptr;
  }

  // Whether what it writes may be held.
  bool HasRoom() const {
    std::vector<Contents::Piece> pieces;
    for (const vramstowSimulatorRange& range : ranges_) {
      if ((range.use & (kVramstowSimulatorWrites | kVramstowSimulatorFills)) == 0) continue;
      pieces.push_back({range.address, range.bytes});
    }
    return state_->machine->contents.HasRoom(pieces);
  }

  int Compute() {
    if (IsLarge(state_->machine->spec(), task_.bytes)) {
      spent_allowance.fetch_add(task_.bytes, std::memory_order_relaxed);
    }
    ThreadState& thread = CurrentThread();
    const bool before = thread.inside_callback;
    thread.inside_callback = true;
    const int outcome = task_.run(task_.user);
    thread.inside_callback = before;
    return outcome;
  }

  void MarkWrites(const char* by) {
    UncomputedRanges& uncomputed = state_->machine->contents.uncomputed();
    if (by == nullptr && uncomputed.empty()) return;
    for (const vramstowSimulatorRange& range : ranges_) {
      if ((range.use & (kVramstowSimulatorWrites | kVramstowSimulatorFills)) == 0) continue;
      if (by != nullptr) {
        uncomputed.Mark(range.address, range.bytes, by);
      } else if ((range.use & kVramstowSimulatorFills) != 0) {
        uncomputed.Clear(range.address, range.bytes);
      }
    }
  }

  // What lay there before must not be taken for a result.
  void MarkUncomputed(const char* by) {
    Clean();
    MarkWrites(by);
  }

  State* state_;
  Context* context_;
  vramstowSimulatorTask task_;
  std::vector<vramstowSimulatorRange> ranges_;
  bool is_trial_;
};

class PatchWork : public Work {
 public:
  PatchWork(ReadPatch* patch, uint64_t to, uint64_t bytes) : patch_(patch), to_(to), bytes_(bytes) {
    ++patch_->references;
  }
  ~PatchWork() override {
    if (--patch_->references == 0) delete patch_;
  }
  PatchWork(const PatchWork&) = delete;
  PatchWork& operator=(const PatchWork&) = delete;

  void Run(uint64_t /*time_ns*/) override {
    if (patch_->patch == nullptr) return;
    patch_->patch(patch_->user, reinterpret_cast<void*>(static_cast<uintptr_t>(to_)), bytes_);
  }

 private:
  ReadPatch* patch_;
  uint64_t to_;
  uint64_t bytes_;
};

// The stream's last node that does something on the device; null: there is none.
GraphNode* FindLastNode(const Stream& stream) {
  for (auto node = stream.capture_fronts.rbegin(); node != stream.capture_fronts.rend(); ++node) {
    const CUgraphNodeType type = (*node)->Type();
    if (type == CU_GRAPH_NODE_TYPE_KERNEL || type == CU_GRAPH_NODE_TYPE_MEMCPY ||
        type == CU_GRAPH_NODE_TYPE_MEMSET) {
      return *node;
    }
  }
  return nullptr;
}

// `*taken`: the task is dropped by whoever has it now.
CUresult AppendTask(State* state, CUstream handle, const vramstowSimulatorTask& given,
                    bool* taken) {
  const ThreadState& thread = CurrentThread();
  if (thread.depth == 0) return CUDA_ERROR_INVALID_CONTEXT;
  Context* context = thread.stack[thread.depth - 1];
  Stream* stream = FindExistingStream(state, context, handle);
  if (stream == nullptr || !context->alive) return CUDA_ERROR_INVALID_HANDLE;
  vramstowSimulatorTask known = {};
  memcpy(&known, &given, std::min(given.size, sizeof known));
  auto task = std::make_shared<Task>(state, stream->context, known);
  *taken = true;
  if (stream->capture == nullptr) {
    state->machine->timeline.Append(stream->queue, std::move(task));
  } else if (GraphNode* node = FindLastNode(*stream)) {
    node->appended.push_back(std::move(task));
  }
  return CUDA_SUCCESS;
}

// The machine of a driver that was started: what its SPEC says, and where its memory lies, stays as
// it is from then on and is read without the lock.
const Machine& StartedMachine() { return *HeldState().machine; }

}  // namespace

void PatchRead(Call& call, Stream* stream, const CopyBox& box) {
  ReadPatch* patch = CurrentThread().read_patch;
  if (patch == nullptr || box.Bytes() > kSmallRead || box.height != 1 || box.depth != 1) return;
  call.machine().timeline.Append(stream->queue,
                                 std::make_shared<PatchWork>(patch, box.to.address, box.Bytes()));
}

}  // namespace vramstow::simulator

using namespace vramstow::simulator;  // NOLINT(google-build-using-namespace): the C ABI is global

extern "C" {

int vramstowSimulatorAppend(CUstream stream, const vramstowSimulatorTask* task) {
  DriverGlobals& globals = Globals();
  CUresult result = CUDA_ERROR_NOT_INITIALIZED;
  bool taken = false;
  if (!CurrentThread().inside_callback && globals.initialized && !globals.forked &&
      !globals.shut_down) {
    const MutexLock lock(&globals.mutex);
    try {
      State& state = globals.state();
      state.machine->timeline.BeginCall(RealNanoseconds());
      result = AppendTask(&state, stream, *task, &taken);
      state.machine->timeline.EndCall(RealNanoseconds());
    } catch (const std::bad_alloc&) {
      result = CUDA_ERROR_OUT_OF_MEMORY;
    }
  }
  if (!taken && task->drop != nullptr) task->drop(task->user);
  if (result == CUDA_SUCCESS) UseWatch::Global().Tell(task->ranges, task->range_count);
  return result;
}

void vramstowSimulatorWatchUses(vramstowSimulatorUseWatcher seen, void* user) {
  UseWatch::Global().Set(seen, user);
}

int vramstowSimulatorWatchesUses(void) { return UseWatch::Global().is_watched() ? 1 : 0; }

void vramstowSimulatorTellUses(const vramstowSimulatorRange* ranges, size_t count) {
  UseWatch::Global().Tell(ranges, count);
}

int vramstowSimulatorLogsWork(void) {
  DriverGlobals& globals = Globals();
  if (!globals.initialized.load(std::memory_order_acquire) || globals.forked) return 0;
  return HeldState().machine->work_log.is_open() ? 1 : 0;
}

void vramstowSimulatorLogWork(const vramstowSimulatorWorkLine* line) {
  if (vramstowSimulatorLogsWork() == 0) return;
  vramstowSimulatorWorkLine known = {};
  memcpy(&known, line, std::min(line->size, sizeof known));
  HeldState().machine->work_log.Write(known);
}

int vramstowSimulatorAffords(uint64_t bytes, uint64_t operations) {
  if (!Globals().initialized.load(std::memory_order_acquire)) return 0;
  const Spec& spec = StartedMachine().spec();
  return operations <= spec.gemm_operations &&
         (!IsLarge(spec, bytes) || IsWithinAllowance(spec, bytes));
}

int64_t vramstowSimulatorShadow(void) {
  DriverGlobals& globals = Globals();
  if (!globals.initialized.load(std::memory_order_acquire) || globals.forked) return 0;
  const Machine& machine = StartedMachine();
  const Spec& spec = machine.spec();
  if (!spec.keep_contents || spec.emulation_bytes == 0) return 0;
  return machine.space().shadow_distance();
}

void vramstowSimulatorHoldKernels(int change) { CurrentThread().held_kernels += change; }

int vramstowSimulatorHoldsKernels(void) { return CurrentThread().held_kernels > 0 ? 1 : 0; }

void vramstowSimulatorTry(int change) { CurrentThread().trials += change; }

void vramstowSimulatorPatchReads(void (*patch)(void* user, void* bytes, size_t size), void* user) {
  const MutexLock lock(&Globals().mutex);
  ReadPatch*& place = CurrentThread().read_patch;
  if (place != nullptr) {
    place->patch = nullptr;
    if (--place->references == 0) delete place;
    place = nullptr;
  }
  if (patch != nullptr) place = new ReadPatch{patch, user};
}

}  // extern "C"
