// Installs the library: one exported function, which the loader of the library calls once.
//
// Ownership: wrappers are never destroyed. Threads: the first call counts; others wait for it.
// Errors: the reason, as the end of a sentence; then operators are unchanged. Units: none.
#include <ATen/core/dispatch/Dispatcher.h>
#include <c10/util/Exception.h>

#include <cstdlib>
#include <mutex>

#include "adapters/values/operators.h"
#include "adapters/values/wrapper.h"

namespace vramstow::values {
namespace {

// Gives access to an operator's kernels, which are private members of the dispatcher. An explicit
// instantiation may name private members (C++20, [temp.spec]); it is the only way that works in all
// releases.
const c10::impl::OperatorEntry& EntryOf(const c10::OperatorHandle& op);
template <auto Definition>
struct EntryOpener {
  friend const c10::impl::OperatorEntry& EntryOf(const c10::OperatorHandle& op) {
    return (op.*Definition)->op;
  }
};
template struct EntryOpener<&c10::OperatorHandle::operatorDef_>;

// Copies and convolutions have one kernel for all devices, which chooses the implementation of a
// device. That kernel is replaced, because it belongs to the operator that the program called.
constexpr const char* kForAllDevices[] = {"aten::copy_", "aten::convolution"};

// Suppresses warnings about replaced kernels, because the replacement is intended.
class Silence : public c10::WarningHandler {
 public:
  void process(const c10::Warning& /*warning*/) override {}
};

bool IsForAllDevices(const c10::OperatorName& name) {
  for (const char* known : kForAllDevices) {
    if (name.name == known && name.overload_name.empty()) return true;
  }
  return false;
}

void Wrap(const c10::OperatorHandle& op, bool only_sizes) {
  constexpr auto kKey = c10::DispatchKey::CUDA;
  const bool own = op.hasKernelForDispatchKey(kKey);
  if (!own && !IsForAllDevices(op.operator_name())) return;
  auto plan = MakePlan(op);
  if (plan == nullptr || (only_sizes && plan->family != Family::kSizedByData)) return;
  const c10::KernelFunction kernel = EntryOf(op).lookup(c10::DispatchKeySet(kKey));
  if (!kernel.isValid() || kernel.isFallthrough()) return;
  auto wrapped =
      c10::KernelFunction::makeFromBoxedFunctor(std::make_unique<Wrapper>(std::move(plan), kernel));
  // The registration is never undone, so this object is leaked on purpose.
  new c10::RegistrationHandleRAII(
      c10::Dispatcher::singleton().registerImpl(op.operator_name(), kKey, std::move(wrapped),
                                                std::nullopt, nullptr, "values of a rehearsal"));
}

void WrapCoalesce() {
  constexpr auto kKey = c10::DispatchKey::SparseCUDA;
  const c10::OperatorName name("aten::_coalesce", "");
  const auto op = c10::Dispatcher::singleton().findOp(name);
  if (!op.has_value() || !op->hasKernelForDispatchKey(kKey)) return;
  const c10::KernelFunction kernel = EntryOf(*op).lookup(c10::DispatchKeySet(kKey));
  if (!kernel.isValid() || kernel.isFallthrough()) return;
  auto wrapped =
      c10::KernelFunction::makeFromBoxedFunctor(std::make_unique<CoalesceWrapper>(kernel));
  new c10::RegistrationHandleRAII(c10::Dispatcher::singleton().registerImpl(
      name, kKey, std::move(wrapped), std::nullopt, nullptr, "sizes of a rehearsal"));
}

void WrapAll(bool only_sizes) {
  Silence silence;
  const c10::WarningUtils::WarningHandlerGuard guard(&silence);
  for (const c10::OperatorName& name : c10::Dispatcher::singleton().getAllOpNames()) {
    const auto op = c10::Dispatcher::singleton().findOp(name);
    if (op.has_value()) Wrap(*op, only_sizes);
  }
  WrapCoalesce();
}

}  // namespace
}  // namespace vramstow::values

// Returns null if operators are computed from now on; otherwise the reason why they are not, as the
// end of a sentence. If `only_sizes` is true, nothing is computed, but results whose size depends
// on values are empty.
extern "C" __attribute__((visibility("default"))) const char* vramstow_values_install(
    int only_sizes) {
  static std::once_flag once;
  static const char* why = nullptr;
  std::call_once(once, [&] {
    try {
      vramstow::values::WrapAll(only_sizes != 0);
    } catch (const std::exception&) {
      why = "PyTorch refused";
    }
  });
  return why;
}
