// Rules for norms that cuDNN or a fused kernel computes on a GPU.
#include <array>

#include "adapters/values/rules.h"

namespace vramstow::values {
namespace {

// Returns which gradients are wanted; the others are undefined.
std::array<bool, 3> OutputMask(const OperatorCall& call) {
  std::array<bool, 3> mask = {true, true, true};
  const c10::IValue* given = call.Find("output_mask");
  if (given == nullptr) return mask;
  const auto list = given->toBoolList();
  for (size_t i = 0; i < mask.size() && i < list.size(); ++i) mask[i] = list.get(i);
  return mask;
}

void BatchNorm(const OperatorCall& call) {
  const auto [output, mean, deviation] =
      at::native_batch_norm(call.Tensor("input"), call.MaybeTensor("weight"),
                            call.MaybeTensor("bias"), call.MaybeTensor("running_mean"),
                            call.MaybeTensor("running_var"), call.Flag("training", true),
                            call.Number("exponential_average_factor", call.Number("momentum", 0.1)),
                            call.Number("epsilon", call.Number("eps", 1e-5)));
  call.Return({output, mean, deviation});
}

void BatchNormBackward(const OperatorCall& call) {
  const at::Tensor first = call.MaybeTensor("grad_output");
  const at::Tensor gradient = first.defined() ? first : call.Tensor("grad_out");
  const auto [input, weight, bias] = at::native_batch_norm_backward(
      gradient, call.Tensor("input"), call.MaybeTensor("weight"), call.MaybeTensor("running_mean"),
      call.MaybeTensor("running_var"), call.MaybeTensor("save_mean"), call.MaybeTensor("save_var"),
      call.Flag("update", true), call.Number("epsilon", call.Number("eps", 1e-5)),
      OutputMask(call));
  call.Return({input, weight, bias});
}

// Converts to float, because a GPU stores the statistics of narrow types in float.
at::Tensor InFloat(const at::Tensor& tensor) {
  return tensor.defined() ? tensor.to(at::kFloat) : tensor;
}

bool IsNarrow(const at::Tensor& tensor) {
  return tensor.scalar_type() == at::kHalf || tensor.scalar_type() == at::kBFloat16;
}

void LayerNorm(const OperatorCall& call) {
  const at::Tensor input = call.Tensor("input");
  const at::Tensor weight = call.MaybeTensor("weight");
  const at::Tensor bias = call.MaybeTensor("bias");
  const bool narrow = IsNarrow(input);
  const auto [output, mean, scale] = at::native_layer_norm(
      narrow ? InFloat(input) : input, call.Get("normalized_shape").toIntVector(),
      narrow ? InFloat(weight) : weight, narrow ? InFloat(bias) : bias, call.Number("eps", 1e-5));
  call.Return({output.to(input.scalar_type()), mean, scale});
}

void LayerNormBackward(const OperatorCall& call) {
  const at::Tensor input = call.Tensor("input");
  const at::Tensor weight = call.MaybeTensor("weight");
  const at::Tensor bias = call.MaybeTensor("bias");
  const at::Tensor gradient = call.Tensor("grad_out");
  const bool narrow = IsNarrow(input);
  const auto [of_input, of_weight, of_bias] = at::native_layer_norm_backward(
      narrow ? InFloat(gradient) : gradient, narrow ? InFloat(input) : input,
      call.Get("normalized_shape").toIntVector(), call.Tensor("mean"), call.Tensor("rstd"),
      narrow ? InFloat(weight) : weight, narrow ? InFloat(bias) : bias, OutputMask(call));
  call.Return({of_input, of_weight, of_bias});
}

// Returns the last `count` dimensions, which are those that are normalized.
std::vector<int64_t> LastDimensions(int64_t count) {
  std::vector<int64_t> dimensions(static_cast<size_t>(count));
  for (int64_t i = 0; i < count; ++i) dimensions[static_cast<size_t>(i)] = i - count;
  return dimensions;
}

void RmsNorm(const OperatorCall& call) {
  const at::Tensor given = call.Tensor("input");
  const at::Tensor input = given.to(at::kFloat);
  const auto over =
      LastDimensions(static_cast<int64_t>(call.Get("normalized_shape").toIntVector().size()));
  const at::Tensor scale =
      at::rsqrt(input.square().mean(over, true) + call.Number("eps", 1.1920928955078125e-07));
  at::Tensor output = input * scale;
  const at::Tensor weight = call.MaybeTensor("weight");
  if (weight.defined()) output = output * weight;
  call.Return({output.to(given.scalar_type()), scale});
}

void RmsNormBackward(const OperatorCall& call) {
  const at::Tensor input = call.Tensor("input").to(at::kFloat);
  const at::Tensor scale = call.Tensor("rstd").to(at::kFloat);
  const at::Tensor gradient = call.Tensor("grad_out").to(at::kFloat);
  const at::Tensor weight = call.MaybeTensor("weight");
  const auto count = static_cast<int64_t>(call.Get("normalized_shape").toIntVector().size());
  const at::Tensor normal = input * scale;
  const at::Tensor inner = weight.defined() ? gradient * weight : gradient;
  const at::Tensor of_input =
      scale * (inner - normal * (inner * normal).mean(LastDimensions(count), true));
  at::Tensor of_weight;
  if (weight.defined()) {
    of_weight = (gradient * normal).flatten(0, input.dim() - count - 1).sum(0);
  }
  call.Return({of_input, of_weight});
}

}  // namespace

Rule FindNormRule(std::string_view name) {
  if (name == "aten::cudnn_batch_norm" || name == "aten::_batch_norm_with_update") return BatchNorm;
  if (name == "aten::cudnn_batch_norm_backward" || name == "aten::batch_norm_backward") {
    return BatchNormBackward;
  }
  if (name == "aten::native_layer_norm") return LayerNorm;
  if (name == "aten::native_layer_norm_backward") return LayerNormBackward;
  if (name == "aten::_fused_rms_norm") return RmsNorm;
  if (name == "aten::_fused_rms_norm_backward") return RmsNormBackward;
  return nullptr;
}

}  // namespace vramstow::values
