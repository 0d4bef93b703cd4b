#include "adapters/values/wrapper.h"

#include <ATen/Context.h>

#include <algorithm>
#include <atomic>

#include "adapters/values/computation.h"
#include "adapters/values/known_sizes.h"
#include "adapters/values/operators.h"
#include "adapters/values/work_line.h"

namespace vramstow::values {
namespace {

// A list of the operators that are running in this thread, the innermost first. Each entry has the
// storages that its operator changes in place.
struct Frame {
  Frame* outer = nullptr;
  std::vector<const void*> changed;  // the storages that change
};
thread_local Frame* t_innermost = nullptr;

bool IsChangedOutside(const void* storage) {
  for (const Frame* frame = t_innermost; frame != nullptr; frame = frame->outer) {
    if (std::find(frame->changed.begin(), frame->changed.end(), storage) != frame->changed.end()) {
      return true;
    }
  }
  return false;
}

// While the object exists, kernels that this thread launches have no effect.
class HeldKernels {
 public:
  HeldKernels() { FindSimulator()->hold_kernels(1); }
  ~HeldKernels() { FindSimulator()->hold_kernels(-1); }
  HeldKernels(const HeldKernels&) = delete;
  HeldKernels& operator=(const HeldKernels&) = delete;
};

class FrameScope {
 public:
  explicit FrameScope(Frame* frame) : frame_(frame) {
    frame->outer = t_innermost;
    t_innermost = frame;
  }
  ~FrameScope() { t_innermost = frame_->outer; }
  FrameScope(const FrameScope&) = delete;
  FrameScope& operator=(const FrameScope&) = delete;

 private:
  Frame* frame_;
};

void AddStorages(const c10::IValue& value, std::vector<const void*>* storages) {
  VisitTensors(value, [&](const at::Tensor& tensor) {
    if (tensor.defined() && tensor.has_storage()) {
      storages->push_back(tensor.storage().unsafeGetStorageImpl());
    }
  });
}

// Returns the state of the device's random generator. During a capture the state cannot be read.
// Then each call gets a state of its own, which advances at each replay of the graph.
RandomState AskGenerator(const Plan& plan, const Stack& given) {
  RandomState state;
  if (plan.family != Family::kRandom) return state;
  try {
    at::Generator generator;
    for (const c10::IValue& value : given) {
      if (value.isGenerator()) generator = value.toGenerator();
    }
    if (!generator.defined()) {
      generator = at::globalContext().defaultGenerator(
          c10::Device(c10::DeviceType::CUDA, CardOf(plan, given)));
    }
    const std::lock_guard<std::mutex> lock(generator.mutex());
    state.seed = generator.current_seed();
    state.offset = generator.get_offset();
  } catch (const std::exception&) {
    static std::atomic<uint64_t> captured{0};
    state = {0, ++captured};
  }
  return state;
}

// True for a copy between a device and the host. The simulator itself performs such a copy of
// bytes.
bool IsCopyOfBytes(const Plan& plan, const Stack& given) {
  if (std::string_view(plan.name) != "copy_" || given.size() < 2) return false;
  const at::Tensor& to = given[0].toTensor();
  const at::Tensor& from = given[1].toTensor();
  return !IsOnDevice(to) || !IsOnDevice(from);
}

}  // namespace

void Wrapper::CallWithoutValues(const c10::OperatorHandle& op, c10::DispatchKeySet keys,
                                Stack* stack) const {
  const SimulatorLink* simulator = FindSimulator();
  if (simulator == nullptr) return kernel_.callBoxed(op, keys, stack);
  if (simulator->watches_uses() == 0 && !LogsWork()) return CallWithSize(op, keys, stack);
  const size_t below = stack->size() - op.schema().arguments().size();
  const Stack given(stack->begin() + static_cast<ptrdiff_t>(below), stack->end());
  if (IsCopyOfBytes(*plan_, given)) return kernel_.callBoxed(op, keys, stack);
  Frame frame;
  {
    const HeldKernels held;
    const FrameScope scope(&frame);
    CallWithSize(op, keys, stack);
  }
  ReportUses(*plan_, given, Stack(stack->begin() + static_cast<ptrdiff_t>(below), stack->end()),
             t_innermost != nullptr);
}

// Calls the kernel if nothing is computed. If the size of its result depends on values, the result
// is empty.
void Wrapper::CallWithSize(const c10::OperatorHandle& op, c10::DispatchKeySet keys,
                           Stack* stack) const {
  if (plan_->family != Family::kSizedByData) return kernel_.callBoxed(op, keys, stack);
  if (plan_->sizes_result) FindSimulator()->note_unknown_size(plan_->name);
  const ReportedSize zero(0);
  kernel_.callBoxed(op, keys, stack);
}

void Wrapper::operator()(const c10::OperatorHandle& op, c10::DispatchKeySet keys, Stack* stack) {
  const size_t count = op.schema().arguments().size();
  const size_t below = stack->size() - count;
  if (ShadowDistance() == 0) return CallWithoutValues(op, keys, stack);
  NoteOperator(plan_->name);
  // The kernel removes its arguments from the stack, but some kernels refer to them until they
  // return.
  const Stack given(stack->begin() + static_cast<ptrdiff_t>(below), stack->end());
  if (IsCopyOfBytes(*plan_, given)) return kernel_.callBoxed(op, keys, stack);
  Frame frame;
  std::vector<const void*> written;
  for (size_t i = 0; i < count; ++i) {
    if (!plan_->written[i]) continue;
    AddStorages(given[i], &written);
    // Only the outer operator can write zeros cheaply. In older releases an inner operator fills
    // the tensor with them, so the tensor counts as changed by the outer one.
    if (!plan_->overwritten[i] || plan_->zeroing) AddStorages(given[i], &frame.changed);
  }
  const bool left_to_outer = std::any_of(written.begin(), written.end(), IsChangedOutside);
  const RandomState random = AskGenerator(*plan_, given);
  std::unique_ptr<EarlyComputation> early;
  if (plan_->family == Family::kSizedByData && !left_to_outer) {
    early = EarlyComputation::Begin(*plan_, given);
    if (early == nullptr && plan_->sizes_result) FindSimulator()->note_unknown_size(plan_->name);
  }
  {
    const HeldKernels held;
    const FrameScope scope(&frame);
    kernel_.callBoxed(op, keys, stack);
  }
  if (left_to_outer) return;
  const Stack results(stack->begin() + static_cast<ptrdiff_t>(below), stack->end());
  if (early != nullptr) return early->Finish(results);
  // The written arguments are examined after the call, because the kernel may have resized an out=
  // argument.
  AppendComputation(*plan_, given, results, random, t_innermost != nullptr);
}

void CoalesceWrapper::operator()(const c10::OperatorHandle& op, c10::DispatchKeySet keys,
                                 Stack* stack) {
  const bool is_sparse = !stack->empty() && stack->back().isTensor() &&
                         stack->back().toTensor().layout() == c10::kSparse;
  if (!is_sparse || FindSimulator() == nullptr) return kernel_.callBoxed(op, keys, stack);
  const ReportedSize entries(stack->back().toTensor()._nnz());
  kernel_.callBoxed(op, keys, stack);
}

}  // namespace vramstow::values
