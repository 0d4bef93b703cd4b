#include "simulator/driver/task.h"

#include <malloc.h>
#include <string.h>

#include <algorithm>

#include "simulator/driver/capture.h"
#include "simulator/driver/computing_budget.h"
#include "simulator/driver/graph.h"
#include "simulator/driver/host_budget.h"
#include "simulator/driver/host_reads.h"
#include "simulator/driver/idle_launches.h"
#include "simulator/driver/stream.h"
#include "simulator/driver/use_watch.h"

namespace vramstow::simulator {

// A function that a thread has registered. It may replace the bytes that small copies by that
// thread read from device memory.
struct ReadPatch {
  void (*patch)(void* user, void* bytes, size_t size) = nullptr;  // null: no longer used
  void* user = nullptr;
  uint64_t references = 1;  // the driver's lock protects it
};

namespace {

constexpr uint64_t kSmallRead = 8;

// The factor by which computing random values takes longer than copying the same bytes.
constexpr uint64_t kRandomEffort = 16;
// If a result has a wrong size, all later sizes are wrong. So calls of up to this many bytes may
// use the time that is reserved for sizes, even if other results were left out.
constexpr uint64_t kSizedBytes = 64ull << 20;

Effort EffortOf(const vramstowSimulatorTask& task) {
  const bool is_random = (task.traits & kVramstowSimulatorIsRandom) != 0;
  return {.name = task.name,
          .bytes = task.bytes * (is_random ? kRandomEffort : 1),
          .operations = task.operations,
          .is_random = is_random};
}

// Returns free heap memory to the system from time to time. Results are made in the heap, and the
// heap does not return free memory between live blocks by itself. In a training step with 423
// million parameters, a GiB of such free memory was left.
void TrimHeap(uint64_t bytes) {
  constexpr uint64_t kOften = 128ull << 20;
  static uint64_t since = 0;  // the driver's lock protects it
  since += bytes;
  if (since < kOften) return;
  since = 0;
  malloc_trim(0);
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
    if (origin != nullptr) ReportUncomputed(origin);
    const bool is_lost = origin != nullptr && ReadsLost();
    const char* reason = Refuse(is_lost);
    if (reason == nullptr) {
      if (origin != nullptr && task_.reads_uncomputed != nullptr) {
        task_.reads_uncomputed(task_.user, is_lost ? 1 : 0);
      }
      const int outcome = Compute();
      if (outcome == kVramstowSimulatorDone) return MarkWrites(origin, !is_lost);
      // If an index was never computed, a failed assertion about it is not an error of the program.
      if (outcome == kVramstowSimulatorAssertion && origin == nullptr) {
        context_->sticky = CUDA_ERROR_ASSERT;
        return;
      }
      reason = origin == nullptr ? " (cannot be computed here)" : " (of what was left out)";
    }
    if (origin == nullptr) ReportUncomputed(task_.name);
    NoteIdleLaunch(*state_, task_.name, reason);
    // The output is cleared, so that old bytes are not mistaken for a result.
    Clean();
    MarkWrites(origin == nullptr ? task_.name : origin, false);
  }

  void AddUses(std::vector<vramstowSimulatorRange>* uses) const override {
    uses->insert(uses->end(), ranges_.begin(), ranges_.end());
  }

 private:
  // True if all memory that the task accesses still exists, as it did when the task was appended. A
  // program that frees memory in use gets undefined results on a GPU, too.
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

  // True if the task only writes zeros. Pages of zeros cost the host nothing, so its size does not
  // count.
  bool OnlyZeroes() const {
    const auto zeroes = [](const vramstowSimulatorRange& range) {
      return (range.use & kVramstowSimulatorZeroes) != 0;
    };
    return !ranges_.empty() && std::all_of(ranges_.begin(), ranges_.end(), zeroes);
  }

  // Fills the output with zeros and removes the marks of uncomputed bytes from it.
  void Clean() {
    for (const vramstowSimulatorRange& range : ranges_) {
      if ((range.use & kVramstowSimulatorFills) != 0) {
        state_->machine->contents.Fill(range.address, 0, 1, range.bytes);
      }
    }
  }

  // Returns the kernel that did not compute one of the task's inputs, or null if all are computed.
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

  // True if one of the inputs is lost, that is, reads as zeros and does not even have old values.
  bool ReadsLost() const {
    const UncomputedRanges& uncomputed = state_->machine->contents.uncomputed();
    return std::any_of(ranges_.begin(), ranges_.end(), [&](const vramstowSimulatorRange& range) {
      return (range.use & kVramstowSimulatorFills) == 0 &&
             uncomputed.FindLost(range.address, range.bytes) != nullptr;
    });
  }

  // Returns the reason why the task is not computed, or null if the task is computed.
  const char* Refuse(bool is_lost) const {
    const Spec& spec = state_->machine->spec();
    if (task_.run == nullptr) return " (too large)";
    Effort effort = EffortOf(task_);
    if (ComputingBudget::IsLarge(spec, effort)) {
      effort.leads_to_size = LeadsToSize();
      if (is_trial_) return " (only timed)";
      if (is_lost) return " (of what was left out)";
      const bool is_wanted = IsOfSize() && task_.bytes <= kSizedBytes;
      if (!is_wanted && !ComputingBudget::Global().Allows(spec, effort)) return " (too large)";
      if (!HasRoom(spec)) return " (beyond contents=)";
    }
    if (!HostBudget::Global().Allows(*state_, Written(), task_.bytes)) {
      return " (memory of this machine)";
    }
    return nullptr;
  }

  // True if the task may affect a later size. All results of a training step affect the sizes of
  // the next step. Large random values are excluded: programs initialize whole models with them,
  // and some part of a model is left out anyway.
  bool LeadsToSize() const {
    return ComputingBudget::Global().makes_sizes() &&
           (task_.traits & kVramstowSimulatorIsRandom) == 0 &&
           (task_.bytes <= kSizedBytes || state_->machine->contents.uncomputed().empty());
  }

  bool IsOfSize() const {
    return (task_.traits & (kVramstowSimulatorDecidesSize | kVramstowSimulatorHasSize)) != 0;
  }
  bool DecidesSize() const { return (task_.traits & kVramstowSimulatorDecidesSize) != 0; }

  // Records that the program derives a size or a value from a result that kernel `by` did not
  // compute.
  void ReportUncomputed(const char* by) const {
    if (DecidesSize()) HostReads::Global().NoteSize(by);
    if ((task_.traits & kVramstowSimulatorIsRead) != 0) HostReads::Global().values().Note(by);
  }

  std::vector<Contents::Piece> Written() const {
    std::vector<Contents::Piece> pieces;
    for (const vramstowSimulatorRange& range : ranges_) {
      if ((range.use & (kVramstowSimulatorWrites | kVramstowSimulatorFills)) == 0) continue;
      pieces.push_back({range.address, range.bytes});
    }
    return pieces;
  }

  // True if the output may be stored within the limits.
  bool HasRoom(const Spec& spec) const {
    const std::vector<Contents::Piece> pieces = Written();
    Contents& contents = state_->machine->contents;
    if (contents.HasRoom(pieces)) return true;
    // The limit is raised for a program whose results were all computed so far, so that it
    // continues correctly. If a result was left out, more host memory would not make the program
    // correct again.
    const bool is_right = spec.budget_is_time && !spec.contents_are_given &&
                          (task_.traits & kVramstowSimulatorIsRandom) == 0 &&
                          contents.uncomputed().empty();
    HostBudget& host = HostBudget::Global();
    return is_right &&
           contents.HasRoom(pieces, ComputingBudget::Global().makes_sizes() ? host.ForSizes()
                                                                            : host.ForResults());
  }

  int Compute() {
    const Effort effort = EffortOf(task_);
    const bool is_large = ComputingBudget::IsLarge(state_->machine->spec(), effort);
    const uint64_t began_ns = is_large ? RealNanoseconds() : 0;
    ThreadState& thread = CurrentThread();
    const bool before = thread.inside_callback;
    thread.inside_callback = true;
    const int outcome = task_.run(task_.user);
    thread.inside_callback = before;
    if (is_large) {
      ComputingBudget::Global().Spend(effort, RealNanoseconds() - began_ns);
      TrimHeap(task_.bytes);
    }
    return outcome;
  }

  // Marks the output as derived from a result that kernel `by` did not compute, or removes the
  // marks if `by` is null. With `is_old` the inputs had old values at least. Memory that is changed
  // in place keeps its old values, unless it was marked as lost (read as zeros) before.
  void MarkWrites(const char* by, bool is_old) {
    UncomputedRanges& uncomputed = state_->machine->contents.uncomputed();
    if (by == nullptr && uncomputed.empty()) return;
    for (const vramstowSimulatorRange& range : ranges_) {
      if ((range.use & (kVramstowSimulatorWrites | kVramstowSimulatorFills)) == 0) continue;
      if (by != nullptr) {
        const bool is_filled = (range.use & kVramstowSimulatorFills) != 0;
        const bool keeps = !is_filled && uncomputed.FindLost(range.address, range.bytes) == nullptr;
        uncomputed.Mark(range.address, range.bytes, by, is_old || keeps);
      } else if ((range.use & kVramstowSimulatorFills) != 0) {
        uncomputed.Clear(range.address, range.bytes);
      }
    }
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

// Sets *taken if another owner is now responsible for destroying the task.
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
  // The size is recorded before the task runs, because pending work may lead to the size.
  if ((known.traits & kVramstowSimulatorDecidesSize) != 0) ComputingBudget::Global().NoteSize();
  if (stream->capture == nullptr) {
    state->machine->timeline.Append(stream->queue, std::move(task));
  } else if (GraphNode* node = FindLastNode(*stream)) {
    node->appended.push_back(std::move(task));
  }
  return CUDA_SUCCESS;
}

struct AppendCall {
  CUstream stream;
  const vramstowSimulatorTask* task;
};

// Appends the task of an AppendCall. Returns a CUresult.
int Append(void* append_call) {
  const auto [stream, task] = *static_cast<const AppendCall*>(append_call);
  DriverGlobals& globals = Globals();
  CUresult result = CUDA_ERROR_NOT_INITIALIZED;
  bool taken = false;
  // A watcher that evicts memory may have to restore it before the work runs.
  UseWatch::Global().Report(task->ranges, task->range_count);
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
  return result;
}

// Returns the machine of a driver that was started. Its SPEC and the addresses of its memory do not
// change any more, so they are read without the lock.
const Machine& StartedMachine() { return *HeldState().machine; }

}  // namespace

bool PatchesRead(const CopyBox& box) {
  return CurrentThread().read_patch != nullptr && box.Bytes() <= kSmallRead && box.height == 1 &&
         box.depth == 1;
}

void PatchRead(Call& call, Stream* stream, const CopyBox& box) {
  ReadPatch* patch = CurrentThread().read_patch;
  call.machine().timeline.Append(stream->queue,
                                 std::make_shared<PatchWork>(patch, box.to.address, box.Bytes()));
}

}  // namespace vramstow::simulator

using namespace vramstow::simulator;  // NOLINT(google-build-using-namespace): the C ABI is global

extern "C" {

int vramstowSimulatorAppend(CUstream stream, const vramstowSimulatorTask* task) {
  AppendCall call = {stream, task};
  if (CurrentThread().inside_callback) return Append(&call);  // the driver's lock is held
  return UseWatch::Global().Wrap(Append, &call);
}

void vramstowSimulatorWrapTasks(vramstowSimulatorTaskWrapper wrap, void* user) {
  UseWatch::Global().SetWrapper(wrap, user);
}

void vramstowSimulatorWatchUses(vramstowSimulatorUseWatcher seen, void* user) {
  UseWatch::Global().Set(seen, user);
}

int vramstowSimulatorWatchesUses(void) { return UseWatch::Global().is_watched() ? 1 : 0; }

void vramstowSimulatorTellUses(const vramstowSimulatorRange* ranges, size_t count) {
  UseWatch::Global().Report(ranges, count);
}

int vramstowSimulatorAffords(uint64_t bytes, uint64_t operations) {
  if (!Globals().initialized.load(std::memory_order_acquire)) return 0;
  const Spec& spec = StartedMachine().spec();
  const ComputingBudget& budget = ComputingBudget::Global();
  const Effort effort = {.name = nullptr,
                         .bytes = bytes,
                         .operations = operations,
                         .leads_to_size = budget.makes_sizes()};
  return !ComputingBudget::IsLarge(spec, effort) || budget.IsOpen(spec, effort);
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
