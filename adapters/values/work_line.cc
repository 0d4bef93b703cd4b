#include "adapters/values/work_line.h"

#include <ATen/Context.h>
#include <c10/cuda/CUDAFunctions.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#include <dlfcn.h>

#include <algorithm>
#include <string_view>

#include "adapters/values/shadow_tensor.h"

namespace vramstow::values {
namespace {

constexpr std::string_view kRecurrent = "_cudnn_rnn";  // the backward operator has this prefix, too

struct WorkLogLink {
  decltype(&vramstowSimulatorLogsWork) logs = nullptr;
  decltype(&vramstowSimulatorLogWork) log = nullptr;

  WorkLogLink() {
    void* library = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
    if (library == nullptr) return;
    logs = reinterpret_cast<decltype(logs)>(dlsym(library, "vramstowSimulatorLogsWork"));
    log = reinterpret_cast<decltype(log)>(dlsym(library, "vramstowSimulatorLogWork"));
  }
};

const WorkLogLink& Link() {
  static const auto* link = new WorkLogLink;
  return *link;
}

// Returns the precision of a product, which is the type of the first floating-point tensor.
const char* PrecisionOf(const Stack& given) {
  at::ScalarType type = at::ScalarType::Undefined;
  for (const c10::IValue& value : given) {
    VisitTensors(value, [&](const at::Tensor& tensor) {
      if (type == at::ScalarType::Undefined && tensor.defined() &&
          at::isFloatingType(tensor.scalar_type())) {
        type = tensor.scalar_type();
      }
    });
  }
  switch (type) {
    case at::ScalarType::Half:
      return "f16";
    case at::ScalarType::BFloat16:
      return "bf16";
    case at::ScalarType::Double:
      return "f64";
    case at::ScalarType::Float:
      return at::globalContext().allowTF32CuBLAS() ? "tf32" : "f32";
    default:
      return "-";
  }
}

// True if a row of a matrix of 16-bit numbers does not begin at a multiple of 4 bytes. Tensor cores
// are fed by copies of at least 4 bytes, so a library uses older kernels for such a matrix.
bool HasOddRows(const Stack& values) {
  bool odd = false;
  for (const c10::IValue& value : values) {
    VisitTensors(value, [&](const at::Tensor& tensor) {
      if (!tensor.defined() || tensor.dim() < 2 || tensor.element_size() != 2) return;
      const int64_t last = tensor.dim() - 1;
      const int64_t stride = std::max(tensor.stride(last), tensor.stride(last - 1));
      odd |= tensor.size(last) > 1 && tensor.size(last - 1) > 1 && stride % 2 != 0;
    });
  }
  return odd;
}

bool IsMatrixProduct(std::string_view name) {
  return name.find("mm") != std::string_view::npos;  // mm, addmm, bmm, baddbmm
}

uint64_t ElementsOfTensor(const c10::IValue& value) {
  if (!value.isTensor() || !value.toTensor().defined()) return 0;
  return static_cast<uint64_t>(value.toTensor().numel());
}

// Returns the number of tokens of an operator that gets one index or one label per token; else 0.
uint64_t TokensOf(std::string_view name, const Stack& given) {
  if (name == "nll_loss_forward" && given.size() > 1) return ElementsOfTensor(given[1]);
  // An embedding calls this operator to select rows of its table.
  if (name == "index_select" && given.size() > 2) return ElementsOfTensor(given[2]);
  return 0;
}

// Returns the operations of a recurrent network's layers: two for each token and weight, and four
// in the backward pass. The limit gemm= of the SPEC does not apply to them, because cuDNN's layers
// consist of many small products.
uint64_t OperationsOfRecurrent(std::string_view name, const Stack& given) {
  if (name.substr(0, kRecurrent.size()) != kRecurrent || given.size() < 2) return 0;
  if (!given[0].isTensor() || !given[1].isTensorList()) return 0;
  const at::Tensor& input = given[0].toTensor();
  if (input.dim() == 0 || input.size(-1) == 0) return 0;
  uint64_t weights = 0;
  for (const at::Tensor& weight : given[1].toTensorVector()) {
    if (weight.defined() && weight.dim() > 1) weights += static_cast<uint64_t>(weight.numel());
  }
  const auto tokens = static_cast<uint64_t>(input.numel() / input.size(-1));
  return (name == kRecurrent ? 2 : 4) * tokens * weights;
}

// Returns the bytes of a GPU tensor that a kernel touches: without gaps between elements, and with
// bytes shared by several elements counted once.
uint64_t BytesTouched(const at::Tensor& tensor) {
  if (!IsOnDevice(tensor) || tensor.numel() == 0) return 0;
  uint64_t span = 1;
  for (int64_t i = 0; i < tensor.dim(); ++i) {
    span += static_cast<uint64_t>(tensor.size(i) - 1) * static_cast<uint64_t>(tensor.stride(i));
  }
  return std::min(span, static_cast<uint64_t>(tensor.numel())) * tensor.element_size();
}

}  // namespace

bool LogsWork() { return Link().logs != nullptr && Link().log != nullptr && Link().logs() != 0; }

void LogOperator(const Plan& plan, const Stack& given, const Stack& results, uint64_t operations,
                 c10::DeviceIndex card, const std::vector<vramstowSimulatorRange>& ranges) {
  vramstowSimulatorWorkLine line = {};
  line.size = sizeof line;
  line.kind = "operator";
  line.name = plan.name;
  if (operations == 0) operations = OperationsOfRecurrent(plan.name, given);
  line.precision = operations == 0 ? "-" : PrecisionOf(given);
  if (operations != 0 && IsMatrixProduct(plan.name) && (HasOddRows(given) || HasOddRows(results))) {
    if (std::string_view(line.precision) == "bf16") line.precision = "bf16_odd";
    if (std::string_view(line.precision) == "f16") line.precision = "f16_odd";
  }
  line.operations = operations;
  for (size_t i = 0; i < given.size(); ++i) {
    VisitTensors(given[i], [&](const at::Tensor& tensor) {
      const uint64_t bytes = BytesTouched(tensor);
      if (!plan.overwritten[i]) line.read_bytes += bytes;
      if (plan.written[i]) line.written_bytes += bytes;
    });
  }
  for (size_t i = 0; i < plan.fresh.size() && i < results.size(); ++i) {
    if (!plan.fresh[i]) continue;
    VisitTensors(results[i],
                 [&](const at::Tensor& tensor) { line.written_bytes += BytesTouched(tensor); });
  }
  line.items = TokensOf(plan.name, given);
  c10::cuda::OptionalCUDAGuard guard;
  if (card >= 0 && card != c10::cuda::current_device()) guard.set_index(card);
  Link().log(c10::cuda::getCurrentCUDAStream(card).stream(), &line, ranges.data(), ranges.size());
}

}  // namespace vramstow::values
