#include "adapters/values/rules.h"

namespace vramstow::values {
namespace {

void LogSigmoidBackward(const OperatorCall& call) {
  const at::Tensor self = call.Tensor("self");
  call.Return({call.Tensor("grad_output") * at::sigmoid(at::neg(self))});
}

// Computes all results. The CPU's operator omits some results, because the CPU's backward pass does
// not need them, but the GPU's backward pass does.
void EmbeddingBag(const OperatorCall& call) {
  const at::Tensor indices = call.Tensor("indices");
  at::Tensor offsets = call.Tensor("offsets");
  const int64_t mode = call.Count("mode", 0);
  const auto results = at::_embedding_bag(
      call.Tensor("weight"), indices, offsets, call.Flag("scale_grad_by_freq", false), mode, false,
      call.MaybeTensor("per_sample_weights"), call.Flag("include_last_offset", false),
      call.Count("padding_idx", -1));
  if (call.Flag("include_last_offset", false)) offsets = offsets.slice(0, 0, offsets.size(0) - 1);
  const at::Tensor places = at::arange(indices.numel(), offsets.options());
  const at::Tensor bags =
      at::searchsorted(offsets, places, /*out_int32=*/false, /*right=*/true) - 1;
  const at::Tensor ends =
      at::cat({offsets.slice(0, 1), at::full({1}, indices.numel(), offsets.options())});
  call.Return({std::get<0>(results), bags, ends - offsets, std::get<3>(results)});
}

void ConvolutionRelu(const OperatorCall& call) {
  const auto convolved =
      at::convolution(call.Tensor("self"), call.Tensor("weight"), call.MaybeTensor("bias"),
                      call.Get("stride").toIntVector(), call.Get("padding").toIntVector(),
                      call.Get("dilation").toIntVector(), false, {0}, call.Count("groups", 1));
  const at::Tensor more = call.MaybeTensor("z");
  const c10::IValue* alpha = call.Find("alpha");
  const at::Scalar factor = alpha == nullptr ? at::Scalar(1) : alpha->toScalar();
  call.Return({at::relu(more.defined() ? convolved.add(more, factor) : convolved)});
}

struct NamedRule {
  std::string_view name;
  Rule rule;
};
constexpr NamedRule kRules[] = {
    {"aten::log_sigmoid_backward", LogSigmoidBackward},
    {"aten::_embedding_bag", EmbeddingBag},
    {"aten::_embedding_bag_forward_only", EmbeddingBag},
    {"aten::cudnn_convolution_relu", ConvolutionRelu},
    {"aten::cudnn_convolution_add_relu", ConvolutionRelu},
};

}  // namespace

Rule FindRule(std::string_view name) {
  for (const NamedRule& known : kRules) {
    if (known.name == name) return known.rule;
  }
  for (const auto find : {FindAttentionRule, FindNormRule, FindRecurrentRule}) {
    if (const Rule rule = find(name)) return rule;
  }
  return nullptr;
}

}  // namespace vramstow::values
