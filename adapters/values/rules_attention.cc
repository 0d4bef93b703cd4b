// Rules for scaled dot product attention: flash, memory-efficient and cuDNN's, which save different
// tensors for the backward pass. The backward rule here computes the scores again.
#include <cmath>
#include <limits>

#include "adapters/values/rules.h"

namespace vramstow::values {
namespace {

struct Scores {
  at::Tensor query;  // [batch, heads, length, depth], in float
  at::Tensor key;    // has as many heads as the query
  at::Tensor value;
  at::Tensor weights;  // the result of the softmax
  at::Tensor logsumexp;
  double scale = 1;
};

// Repeats the heads of the keys, because several heads of the query may share one head of the keys.
at::Tensor AsManyHeads(const at::Tensor& tensor, int64_t heads) {
  const int64_t own = tensor.size(1);
  return own == heads ? tensor : tensor.repeat_interleave(heads / own, 1);
}

at::Tensor SumOfShared(const at::Tensor& gradient, int64_t heads) {
  const int64_t all = gradient.size(1);
  if (all == heads) return gradient;
  return gradient.unflatten(1, {heads, all / heads}).sum(2);
}

Scores ScoresOf(const OperatorCall& call) {
  Scores scores;
  scores.query = call.Tensor("query").to(at::kFloat);
  const int64_t heads = scores.query.size(1);
  scores.key = AsManyHeads(call.Tensor("key").to(at::kFloat), heads);
  scores.value = AsManyHeads(call.Tensor("value").to(at::kFloat), heads);
  const double depth = static_cast<double>(scores.query.size(-1));
  scores.scale = call.Number("scale", 1 / std::sqrt(depth));
  at::Tensor products = at::matmul(scores.query, scores.key.transpose(-2, -1)) * scores.scale;
  const at::Tensor bias = call.MaybeTensor("attn_bias");
  if (bias.defined()) products = products + bias.to(at::kFloat);
  if (call.Flag("is_causal", false)) {
    const at::Tensor later =
        at::ones({products.size(-2), products.size(-1)}, at::TensorOptions(at::kBool))
            .tril()
            .logical_not();
    products = products.masked_fill(later, -std::numeric_limits<double>::infinity());
  }
  scores.logsumexp = at::logsumexp(products, -1);
  scores.weights = at::exp(products - scores.logsumexp.unsqueeze(-1)).nan_to_num(0);
  return scores;
}

void Forward(const OperatorCall& call) {
  const Scores scores = ScoresOf(call);
  call.Return({at::matmul(scores.weights, scores.value), scores.logsumexp});
}

void Backward(const OperatorCall& call) {
  const Scores scores = ScoresOf(call);
  at::Tensor gradient = call.MaybeTensor("grad_out");
  if (!gradient.defined()) gradient = call.Tensor("grad_out_");
  gradient = gradient.to(at::kFloat);
  const at::Tensor output = at::matmul(scores.weights, scores.value);
  const at::Tensor of_value = at::matmul(scores.weights.transpose(-2, -1), gradient);
  const at::Tensor of_weights = at::matmul(gradient, scores.value.transpose(-2, -1));
  const at::Tensor rows = (gradient * output).sum(-1, /*keepdim=*/true);
  const at::Tensor of_products = scores.weights * (of_weights - rows);
  const at::Tensor of_query = at::matmul(of_products, scores.key) * scores.scale;
  const at::Tensor of_key = at::matmul(of_products.transpose(-2, -1), scores.query) * scores.scale;
  const int64_t heads = call.Tensor("key").size(1);
  call.Return({of_query, SumOfShared(of_key, heads), SumOfShared(of_value, heads), of_products});
}

}  // namespace

Rule FindAttentionRule(std::string_view name) {
  constexpr std::string_view kStart = "aten::_scaled_dot_product_";
  if (name.substr(0, kStart.size()) != kStart) return nullptr;
  const std::string_view kind = name.substr(kStart.size());
  if (kind == "flash_attention" || kind == "efficient_attention" || kind == "cudnn_attention") {
    return Forward;
  }
  if (kind == "flash_attention_backward" || kind == "efficient_attention_backward" ||
      kind == "cudnn_attention_backward") {
    return Backward;
  }
  return nullptr;
}

}  // namespace vramstow::values
