#include "adapters/values/plan.h"

#include <algorithm>
#include <set>
#include <string>
#include <string_view>

#include "adapters/values/operators.h"

namespace vramstow::values {
namespace {

// The namespaces whose operators only compute. Operators of other namespaces do more: for example
// those of c10d wait for other ranks.
constexpr std::string_view kComputing[] = {"aten::", "torchvision::"};
// Operators that allocate memory, make views of it, or return information about it, but compute no
// values.
constexpr std::string_view kWithoutValues[] = {
    "aten::empty",
    "aten::empty_strided",
    "aten::empty_like",
    "aten::empty_permuted",
    "aten::new_empty",
    "aten::new_empty_strided",
    "aten::set_",
    "aten::resize_",
    "aten::resize_as_",
    "aten::_resize_output_",
    "aten::record_stream",
    "aten::_local_scalar_dense",
    "aten::_pin_memory",
    "aten::is_pinned",
    "aten::_cudnn_init_dropout_state",
    "aten::cudnn_is_acceptable",
    "aten::_fused_sdp_choice",
    "aten::_copy_from",
    "aten::_copy_from_and_resize",
    "aten::is_set_to",
    "aten::_has_same_storage_numel",
    "aten::_use_cudnn_ctc_loss",
    "aten::_assert_scalar",
    "aten::lift",
    "aten::lift_fresh",
};
// Operators that consist of other operators, which are computed one by one.
constexpr std::string_view kMadeOfOthers[] = {
    "aten::multinomial",
    "aten::_cudnn_rnn_flatten_weight",
    "aten::allclose",
};
constexpr std::string_view kSizedByData[] = {
    "aten::nonzero",    "aten::_unique2",
    "aten::_unique",    "aten::unique_consecutive",
    "aten::unique_dim", "aten::unique_dim_consecutive",
    "aten::equal",  // some releases compute it without other operators
};
// Operators that write all of their first argument and do not read it.
constexpr std::string_view kOverwriting[] = {"aten::copy_", "aten::fill_"};
constexpr std::string_view kZeroing[] = {"aten::zero_", "aten::_foreach_zero_"};
// Operators that change arguments although their schema does not say so.
struct Unannotated {
  std::string_view name;
  size_t arguments[2];
};
constexpr Unannotated kUnannotated[] = {
    {"aten::native_batch_norm", {3, 4}},
    {"aten::cudnn_batch_norm", {3, 4}},
};

template <size_t N>
bool Contains(const std::string_view (&names)[N], std::string_view name) {
  return std::find(std::begin(names), std::end(names), name) != std::end(names);
}

bool HoldsTensors(const c10::TypePtr& type) {
  if (type->isSubtypeOf(*c10::TensorType::get())) return true;
  if (auto list = type->cast<c10::ListType>()) return HoldsTensors(list->getElementType());
  if (auto maybe = type->cast<c10::OptionalType>()) return HoldsTensors(maybe->getElementType());
  return false;
}

bool IsWritten(const c10::Argument& argument) {
  return argument.alias_info() != nullptr && argument.alias_info()->isWrite();
}

void ReadSchema(const c10::FunctionSchema& schema, Plan* plan) {
  for (const c10::Argument& argument : schema.arguments()) {
    plan->written.push_back(IsWritten(argument));
    plan->overwritten.push_back(IsWritten(argument) && argument.is_out());
  }
  plan->zeroing = Contains(kZeroing, schema.name());
  if (plan->zeroing || Contains(kOverwriting, schema.name())) plan->overwritten[0] = true;
  for (const Unannotated& known : kUnannotated) {
    if (schema.name() != known.name) continue;
    for (const size_t index : known.arguments) plan->written[index] = true;
  }
  for (const c10::Argument& result : schema.returns()) {
    plan->fresh.push_back(result.alias_info() == nullptr && HoldsTensors(result.type()));
  }
}

bool HasResults(const Plan& plan) {
  const auto is_set = [](bool value) { return value; };
  return std::any_of(plan.written.begin(), plan.written.end(), is_set) ||
         std::any_of(plan.fresh.begin(), plan.fresh.end(), is_set);
}

const char* KeepName(const std::string& name) {
  static auto* names = new std::set<std::string>;
  return names->insert(name.substr(0, 6) == "aten::" ? name.substr(6) : name).first->c_str();
}

uint64_t SizeOf(const c10::IValue& value, int64_t dimension) {
  if (!value.isTensor() || !value.toTensor().defined()) return 0;
  const at::Tensor& tensor = value.toTensor();
  if (dimension < 0) dimension += tensor.dim();
  if (dimension < 0 || dimension >= tensor.dim()) return 0;
  return static_cast<uint64_t>(tensor.size(dimension));
}

uint64_t ElementsOf(const c10::IValue& value) {
  if (!value.isTensor() || !value.toTensor().defined()) return 0;
  return static_cast<uint64_t>(value.toTensor().numel());
}

// True if the attention is causal, so that half of the scores are omitted.
bool IsCausal(const Plan& plan, const Stack& arguments) {
  const auto& declared = plan.op.schema().arguments();
  for (size_t i = 0; i < declared.size() && i < arguments.size(); ++i) {
    if (declared[i].name() == "is_causal" && arguments[i].isBool()) return arguments[i].toBool();
  }
  return false;
}

}  // namespace

std::unique_ptr<Plan> MakePlan(const c10::OperatorHandle& op) {
  if (!op.hasSchema()) return nullptr;
  const c10::FunctionSchema& schema = op.schema();
  const bool computes =
      std::any_of(std::begin(kComputing), std::end(kComputing), [&](std::string_view start) {
        return std::string_view(schema.name()).substr(0, start.size()) == start;
      });
  if (!computes) return nullptr;
  if (Contains(kWithoutValues, schema.name()) || Contains(kMadeOfOthers, schema.name())) {
    return nullptr;
  }
  auto plan = std::make_unique<Plan>(op);
  // A rule returns new results and cannot write to an out= argument. So there is no rule for an
  // operator with an out= argument.
  const bool has_places = std::any_of(schema.arguments().begin(), schema.arguments().end(),
                                      [](const auto& argument) { return argument.is_out(); });
  if (!has_places) plan->rule = FindRule(schema.name());
  if (plan->rule == nullptr && !op.hasComputedKernelForDispatchKey(c10::DispatchKey::CPU)) {
    return nullptr;
  }
  ReadSchema(schema, plan.get());
  plan->name = KeepName(schema.name());
  if (Contains(kSizedByData, schema.name())) plan->family = Family::kSizedByData;
  plan->sizes_result = plan->family == Family::kSizedByData && HasResults(*plan);
  if (plan->family != Family::kSizedByData && !HasResults(*plan)) return nullptr;
  if (plan->rule == nullptr && op.hasTag(at::Tag::nondeterministic_seeded)) {
    plan->family = Family::kRandom;
  }
  return plan;
}

uint64_t CountOperations(const Plan& plan, const Stack& arguments, const Stack& results) {
  const std::string_view name = plan.name;
  if (results.empty() || arguments.size() < 2) return 0;
  const uint64_t outputs = ElementsOf(results[0]);
  if (name == "mm" || name == "bmm" || name == "_int_mm" || name == "mv" || name == "dot") {
    return 2 * outputs * SizeOf(arguments[0], -1);
  }
  if (name.find("addmm") != std::string_view::npos ||
      name.find("addbmm") != std::string_view::npos ||
      name.find("baddbmm") != std::string_view::npos) {
    return 2 * outputs * SizeOf(arguments[1], -1);
  }
  if (name == "convolution" || name == "cudnn_convolution") {
    const uint64_t kernels = std::max<uint64_t>(SizeOf(arguments[1], 0), 1);
    return 2 * outputs * (ElementsOf(arguments[1]) / kernels);
  }
  if (name == "convolution_backward") {
    const uint64_t kernels = std::max<uint64_t>(SizeOf(arguments[2], 0), 1);
    return 4 * ElementsOf(arguments[0]) * (ElementsOf(arguments[2]) / kernels);
  }
  if (name.find("_attention") != std::string_view::npos) {
    // Counts the operations of two matrix products: the one that yields the attention scores, and
    // the one of the scores and the values.
    const size_t first = name.find("backward") == std::string_view::npos ? 0 : 1;
    if (arguments.size() < first + 2) return 0;
    const uint64_t factor = first == 0 ? 4 : 10;
    const uint64_t all = factor * ElementsOf(arguments[first]) * SizeOf(arguments[first + 1], -2);
    return IsCausal(plan, arguments) ? all / 2 : all;
  }
  return 0;
}

}  // namespace vramstow::values
