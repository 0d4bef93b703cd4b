#include "adapters/values/computation.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/record_function.h>
#include <c10/cuda/CUDAFunctions.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "adapters/values/known_sizes.h"
#include "adapters/values/work_line.h"

namespace vramstow::values {
namespace {

// A computation may run in any thread, in the middle of any other work. So it runs without the
// program's modes, without gradients, and without observers of operators.
c10::DispatchKeySet OwnKeys() { return c10::DispatchKeySet(c10::DispatchKey::BackendSelect); }

c10::DispatchKeySet ForeignKeys() {
  return c10::autograd_dispatch_keyset_with_ADInplaceOrView | c10::default_excluded_set |
         c10::DispatchKeySet({c10::DispatchKey::Python, c10::DispatchKey::PythonTLSSnapshot,
                              c10::DispatchKey::FuncTorchBatched,
                              c10::DispatchKey::FuncTorchVmapMode,
                              c10::DispatchKey::FuncTorchDynamicLayerFrontMode,
                              c10::DispatchKey::FuncTorchDynamicLayerBackMode,
                              c10::DispatchKey::PreDispatch, c10::DispatchKey::Functionalize});
}

class QuietScope {
 public:
  QuietScope() : keys_(OwnKeys(), ForeignKeys()) {}

 private:
  c10::impl::ForceDispatchKeyGuard keys_;
  at::DisableRecordFunctionGuard records_;
};

void Compute(const Plan& plan, Stack* stack) {
  if (plan.rule != nullptr) {
    plan.rule(OperatorCall(plan.op.schema(), stack));
  } else {
    plan.op.redispatchBoxed(c10::DispatchKeySet(c10::DispatchKey::CPU), stack);
  }
}

// True for the errors of PyTorch's CPU kernels that correspond to a failed assertion on a GPU.
bool IsAssertion(const std::string& what) {
  for (const std::string_view sign :
       {"out of bounds", "out of range", "Expected Tensor with single",
        "probability tensor contains", "Assertion"}) {
    if (what.find(sign) != std::string::npos) return true;
  }
  return false;
}

int OutcomeOf(const std::exception& error) {
  return IsAssertion(error.what()) ? kVramstowSimulatorAssertion : kVramstowSimulatorNotComputed;
}

// Copies a value and replaces its tensors by shadows (host tensors over the device's bytes).
// Returns false if a tensor has no shadow.
bool ShadowValue(const c10::IValue& value, c10::IValue* shadow) {
  if (value.isTensor()) {
    const at::Tensor& tensor = value.toTensor();
    at::Tensor made = ShadowOf(tensor);
    if (tensor.defined() && !made.defined()) return false;
    *shadow = std::move(made);
    return true;
  }
  if (value.isTensorList()) {
    c10::List<at::Tensor> list;
    for (const at::Tensor& tensor : value.toTensorVector()) {
      at::Tensor made = ShadowOf(tensor);
      if (tensor.defined() && !made.defined()) return false;
      list.push_back(std::move(made));
    }
    *shadow = std::move(list);
    return true;
  }
  if (value.isList()) {
    c10::List<c10::IValue> items = value.toList();
    c10::impl::GenericList list(items.elementType());
    for (const c10::IValue& item : value.toListRef()) {
      c10::IValue made;
      if (!ShadowValue(item, &made)) return false;
      list.push_back(std::move(made));
    }
    *shadow = std::move(list);
    return true;
  }
  if (value.isDevice()) {
    *shadow = c10::Device(c10::DeviceType::CPU);
    return true;
  }
  *shadow = value;
  return true;
}

// Returns a generator of the host whose seed is derived from the state of the device's generator.
c10::IValue HostGenerator(const RandomState& random) {
  return at::detail::createCPUGenerator(random.seed ^ (random.offset * 0x9e3779b97f4a7c15U));
}

bool WantsGenerator(const c10::Argument& argument) {
  c10::TypePtr type = argument.type();
  if (auto maybe = type->cast<c10::OptionalType>()) type = maybe->getElementType();
  return type->kind() == c10::TypeKind::GeneratorType;
}

int UseOf(const Plan& plan, size_t argument) {
  if (plan.zeroing) return kVramstowSimulatorFills | kVramstowSimulatorZeroes;
  if (plan.overwritten[argument]) return kVramstowSimulatorFills;
  return plan.written[argument] ? kVramstowSimulatorReads | kVramstowSimulatorWrites
                                : kVramstowSimulatorReads;
}

// Copies a result and adapts its shape: a GPU's kernel may store a result in another form than the
// CPU's, or in a larger tensor than necessary.
void CopyInto(const at::Tensor& output, const at::Tensor& result) {
  if (output.sizes() == result.sizes()) {
    output.copy_(result);
  } else if (output.numel() == result.numel()) {
    output.copy_(result.reshape(output.sizes()));
  } else if (output.dim() == result.dim() && output.numel() > 0) {
    at::Tensor to = output;
    at::Tensor from = result;
    for (int64_t i = 0; i < output.dim(); ++i) {
      const int64_t size = std::min(output.size(i), result.size(i));
      to = to.narrow(i, 0, size);
      from = from.narrow(i, 0, size);
    }
    to.copy_(from);
  }
}

// The task that the simulator runs when the stream reaches this call.
struct Computation {
  const Plan& plan;
  Stack arguments;
  std::vector<std::vector<at::Tensor>> outputs;  // by result; empty for a result that is not new

  void PutInPlace(const Stack& results) const {
    for (size_t i = 0; i < outputs.size() && i < results.size(); ++i) {
      size_t next = 0;
      VisitTensors(results[i], [&](const at::Tensor& result) {
        if (next == outputs[i].size()) return;
        const at::Tensor& output = outputs[i][next++];
        if (output.defined() && result.defined()) CopyInto(output, result);
      });
    }
  }

  int Run() const {
    try {
      const QuietScope quiet;
      Stack stack = arguments;
      Compute(plan, &stack);
      PutInPlace(stack);
      return kVramstowSimulatorDone;
    } catch (const std::exception& error) {
      return OutcomeOf(error);
    }
  }
};

// Calls visit(i, tensor) for each new tensor of the results, where i is the number of the result.
template <typename Visit>
void VisitNewResults(const Plan& plan, const Stack& results, Visit visit) {
  for (size_t i = 0; i < plan.fresh.size() && i < results.size(); ++i) {
    if (!plan.fresh[i]) continue;
    VisitTensors(results[i], [&](const at::Tensor& tensor) { visit(i, tensor); });
  }
}

// Returns the shadows (host tensors over the device's bytes) of the new results. Results on the
// host have no shadows, because the operator itself has computed them.
std::vector<std::vector<at::Tensor>> ShadowOutputs(const Plan& plan, const Stack& results) {
  std::vector<std::vector<at::Tensor>> outputs(plan.fresh.size());
  VisitNewResults(plan, results, [&](size_t i, const at::Tensor& tensor) {
    outputs[i].push_back(IsOnDevice(tensor) ? ShadowOf(tensor) : at::Tensor());
  });
  return outputs;
}

Footprint FootprintOf(const Plan& plan, const Stack& given) {
  Footprint footprint;
  for (size_t i = 0; i < given.size(); ++i) {
    VisitTensors(given[i],
                 [&](const at::Tensor& tensor) { footprint.Add(tensor, UseOf(plan, i)); });
  }
  return footprint;
}

void AddNewResults(const Plan& plan, const Stack& results, Footprint* footprint) {
  VisitNewResults(plan, results, [&](size_t, const at::Tensor& tensor) {
    footprint->Add(tensor, kVramstowSimulatorFills);
  });
}

// True if the host's kernels do not accept the argument. They compute with its default: the driver
// of a decomposition, for example, names a function of cuSOLVER.
bool IsForCardsOnly(const Plan& plan, const c10::Argument& argument) {
  return argument.name() == "pin_memory" ||
         (argument.name() == "driver" && std::string_view(plan.name) == "_linalg_svd");
}

// Converts the arguments of an operator to the form with which the host computes. Returns false if
// an argument has no such form.
bool ShadowArguments(const Plan& plan, const Stack& given, const RandomState& random,
                     Stack* shadows) {
  const auto& declared = plan.op.schema().arguments();
  for (size_t i = 0; i < given.size(); ++i) {
    c10::IValue& shadow = shadows->emplace_back();
    if (IsForCardsOnly(plan, declared[i])) continue;
    if (plan.family == Family::kRandom && WantsGenerator(declared[i])) {
      shadow = HostGenerator(random);
    } else if (!ShadowValue(given[i], &shadow)) {
      return false;
    }
  }
  return true;
}

// Appends a task to the current stream of `card`. It selects that GPU first, because asking for the
// current GPU's stream would create a context on a GPU that the program does not use.
template <typename Work>
void Append(const Plan& plan, c10::DeviceIndex card, const Footprint& footprint,
            uint64_t operations, std::unique_ptr<Work> work, int (*run)(void*), int traits = 0,
            void (*reads_uncomputed)(void*, int) = nullptr) {
  vramstowSimulatorTask task = {};
  task.size = sizeof task;
  task.name = plan.name;
  task.traits = traits;
  task.ranges = footprint.ranges().data();
  task.range_count = footprint.ranges().size();
  task.bytes = footprint.bytes();
  task.operations = operations;
  task.run = run;
  task.reads_uncomputed = reads_uncomputed;
  task.user = work.release();
  task.drop = [](void* user) { delete static_cast<Work*>(user); };
  c10::cuda::OptionalCUDAGuard guard;
  if (card >= 0 && card != c10::cuda::current_device()) guard.set_index(card);
  FindSimulator()->append(c10::cuda::getCurrentCUDAStream(card).stream(), &task);
}

}  // namespace

c10::DeviceIndex CardOf(const Plan& plan, const Stack& values) {
  c10::DeviceIndex card = -1;
  const auto look = [&](const at::Tensor& tensor) {
    if (card < 0 && tensor.defined() && tensor.is_cuda()) card = tensor.device().index();
  };
  // A copy between two GPUs runs on the source GPU.
  if (std::string_view(plan.name) == "copy_" && values.size() > 1) VisitTensors(values[1], look);
  for (const c10::IValue& value : values) VisitTensors(value, look);
  for (const c10::IValue& value : values) {
    if (card < 0 && value.isDevice() && value.toDevice().is_cuda()) {
      card = value.toDevice().index();
    }
  }
  return card;
}

void AppendComputation(const Plan& plan, const Stack& given, const Stack& results,
                       const RandomState& random, bool is_inner) {
  const QuietScope quiet;
  Footprint footprint = FootprintOf(plan, given);
  AddNewResults(plan, results, &footprint);
  const uint64_t operations = CountOperations(plan, given, results);
  const c10::DeviceIndex named = CardOf(plan, given);
  const c10::DeviceIndex card = named >= 0 ? named : CardOf(plan, results);
  if (!is_inner && LogsWork()) {
    LogOperator(plan, given, results, operations, card, footprint.ranges());
  }
  auto work = std::make_unique<Computation>(Computation{plan, {}, {}});
  // A call needs no shadows (host tensors over the device's bytes) if it will not be computed, or
  // if it only writes zeros.
  const bool computed = !footprint.OnlyZeroes() &&
                        FindSimulator()->affords(footprint.bytes(), operations) != 0 &&
                        ShadowArguments(plan, given, random, &work->arguments);
  if (computed) work->outputs = ShadowOutputs(plan, results);
  Append(plan, card, footprint, operations, std::move(work),
         computed ? [](void* user) { return static_cast<Computation*>(user)->Run(); }
                  : static_cast<int (*)(void*)>(nullptr),
         plan.family == Family::kRandom ? kVramstowSimulatorIsRandom : 0);
}

void ReportUses(const Plan& plan, const Stack& given, const Stack& results, bool is_inner) {
  const QuietScope quiet;
  Footprint footprint = FootprintOf(plan, given);
  AddNewResults(plan, results, &footprint);
  if (!is_inner && LogsWork()) {
    const c10::DeviceIndex card = CardOf(plan, given);
    LogOperator(plan, given, results, CountOperations(plan, given, results),
                card >= 0 ? card : CardOf(plan, results), footprint.ranges());
  }
  FindSimulator()->report_uses(footprint.ranges().data(), footprint.ranges().size());
}

// The state that the two tasks of one call, and the reads between the tasks, share. The simulator's
// lock guards it.
struct EarlyComputation::Shared {
  explicit Shared(const Plan& which) : plan(which) {}

  const Plan& plan;
  Stack arguments;
  Stack results;
  bool computed = false;
  std::vector<std::vector<at::Tensor>> outputs;
  Reads reads = Reads::kComputed;
  const uint64_t place = CurrentPlace();
  std::optional<Source> source;  // the tensor that decides the size

  int64_t ReportedValue() const {
    if (plan.sizes_result) return SizeToReport();
    return computed && !results.empty() && results[0].isBool() && results[0].toBool() ? 1 : 0;
  }

  int64_t SizeToReport() const {
    const bool has_size = computed && !results.empty() && results[0].isTensor();
    const int64_t size = has_size ? results[0].toTensor().size(0) : -1;
    if (!source.has_value()) return std::max<int64_t>(size, 0);
    return KnownSizes::Global().SizeForProgram(place, reads, *source, size);
  }

  int Run() {
    try {
      const QuietScope quiet;
      results = arguments;
      Compute(plan, &results);
      computed = true;
      return kVramstowSimulatorDone;
    } catch (const std::exception& error) {
      return OutcomeOf(error);
    }
  }

  int PutInPlace() const {
    if (!computed) return kVramstowSimulatorNotComputed;
    try {
      const QuietScope quiet;
      // If the values that determine the size were not computed, the rows of the result are not
      // correct either and are replaced by zeros.
      for (const auto& of_result : outputs) {
        for (const at::Tensor& output : of_result) {
          if (reads != Reads::kComputed && output.defined()) output.zero_();
        }
      }
      Computation{plan, {}, outputs}.PutInPlace(results);
      return kVramstowSimulatorDone;
    } catch (const std::exception&) {
      return kVramstowSimulatorNotComputed;
    }
  }
};

std::unique_ptr<EarlyComputation> EarlyComputation::Begin(const Plan& plan, const Stack& given) {
  const QuietScope quiet;
  Stack shadows;
  if (!ShadowArguments(plan, given, {}, &shadows)) return nullptr;
  // The program's own tensor identifies the source of the size. The shadow (the host tensor over
  // the same bytes) does not, because each call makes a new one.
  std::optional<Source> source;
  if (plan.sizes_result && given[0].isTensor()) source.emplace(given[0].toTensor());
  return std::unique_ptr<EarlyComputation>(new EarlyComputation(
      plan, CardOf(plan, given), std::move(shadows), FootprintOf(plan, given), std::move(source)));
}

EarlyComputation::EarlyComputation(const Plan& plan, c10::DeviceIndex card, Stack shadows,
                                   const Footprint& footprint, std::optional<Source> source)
    : plan_(plan),
      card_(card),
      shared_(std::make_shared<Shared>(plan)),
      reads_(footprint.AsReads()) {
  shared_->arguments = std::move(shadows);
  shared_->source = std::move(source);
  Append(
      plan, card_, reads_, 0, std::make_unique<std::shared_ptr<Shared>>(shared_),
      [](void* user) { return (*static_cast<std::shared_ptr<Shared>*>(user))->Run(); },
      plan.sizes_result ? kVramstowSimulatorDecidesSize : kVramstowSimulatorIsRead,
      [](void* user, int lost) {
        const Reads reads = lost != 0 ? Reads::kLost : Reads::kOld;
        (*static_cast<std::shared_ptr<Shared>*>(user))->reads = reads;
      });
  FindSimulator()->patch_reads(
      [](void* user, void* bytes, size_t size) {
        const int64_t count = static_cast<Shared*>(user)->ReportedValue();
        std::memcpy(bytes, &count, std::min(size, sizeof count));  // little-endian: the low part
      },
      shared_.get());
}

EarlyComputation::~EarlyComputation() { FindSimulator()->patch_reads(nullptr, nullptr); }

void EarlyComputation::Finish(const Stack& results) {
  FindSimulator()->patch_reads(nullptr, nullptr);
  const QuietScope quiet;
  Footprint footprint = reads_;
  AddNewResults(plan_, results, &footprint);
  shared_->outputs = ShadowOutputs(plan_, results);
  Append(
      plan_, card_, footprint, 0, std::make_unique<std::shared_ptr<Shared>>(shared_),
      [](void* user) { return (*static_cast<std::shared_ptr<Shared>*>(user))->PutInPlace(); },
      plan_.sizes_result ? kVramstowSimulatorHasSize : 0);
}

ReportedSize::ReportedSize(int64_t size) : size_(size) {
  FindSimulator()->patch_reads(
      [](void* reported, void* bytes, size_t count) {
        std::memset(bytes, 0, count);
        std::memcpy(bytes, reported,
                    std::min(count, sizeof(int64_t)));  // little-endian: the low part
      },
      &size_);
}

ReportedSize::~ReportedSize() { FindSimulator()->patch_reads(nullptr, nullptr); }

}  // namespace vramstow::values
