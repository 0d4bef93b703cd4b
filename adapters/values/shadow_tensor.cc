#include "adapters/values/shadow_tensor.h"

#include <algorithm>

namespace vramstow::values {
namespace {

// Returns the distance from the first element to the end of the last one, including all gaps.
int64_t ReachOf(const at::Tensor& tensor) {
  int64_t last = 0;
  for (int64_t i = 0; i < tensor.dim(); ++i) {
    last += (tensor.size(i) - 1) * tensor.stride(i);
  }
  return (last + 1) * static_cast<int64_t>(tensor.element_size());
}

at::Tensor CopyOfHostTensor(const at::Tensor& tensor) {
  at::Tensor copy = at::empty_strided(tensor.sizes(), tensor.strides(), tensor.options());
  copy.copy_(tensor);
  // A tensor that was made from a Python number must not determine the type of a result. So its
  // copy is marked in the same way.
  if (tensor.unsafeGetTensorImpl()->is_wrapped_number()) {
    copy.unsafeGetTensorImpl()->set_wrapped_number(true);
  }
  return copy;
}

}  // namespace

bool IsOnDevice(const at::Tensor& tensor) {
  return tensor.defined() && tensor.device().is_cuda() && tensor.layout() == at::kStrided &&
         !tensor.is_quantized();
}

at::Tensor ShadowOf(const at::Tensor& tensor) {
  if (!tensor.defined()) return tensor;
  if (tensor.device().is_cpu()) {
    return tensor.layout() == at::kStrided ? CopyOfHostTensor(tensor) : at::Tensor();
  }
  if (!IsOnDevice(tensor)) return {};
  const auto options = at::TensorOptions().dtype(tensor.scalar_type()).device(at::kCPU);
  at::Tensor shadow;
  if (tensor.numel() == 0) {
    shadow = at::empty_strided(tensor.sizes(), tensor.strides(), options);
  } else {
    auto* bytes = static_cast<char*>(const_cast<void*>(tensor.const_data_ptr())) + ShadowDistance();
    shadow = at::from_blob(bytes, tensor.sizes(), tensor.strides(), options);
  }
  if (tensor.is_conj()) shadow._set_conj(true);
  if (tensor.is_neg()) shadow._set_neg(true);
  return shadow;
}

void Footprint::Add(const at::Tensor& tensor, int use) {
  if (!IsOnDevice(tensor) || tensor.numel() == 0) return;
  bytes_ += tensor.nbytes();
  // If there are gaps between the elements, the bytes in the gaps are not overwritten. So the
  // memory of the tensor counts as written, but not as filled.
  if ((use & kVramstowSimulatorFills) != 0 && !tensor.is_non_overlapping_and_dense()) {
    use = kVramstowSimulatorWrites;
  }
  const auto address = reinterpret_cast<uintptr_t>(tensor.const_data_ptr());
  ranges_.push_back({address, static_cast<uint64_t>(ReachOf(tensor)), use});
}

Footprint Footprint::AsReads() const {
  Footprint reads = *this;
  for (vramstowSimulatorRange& range : reads.ranges_) range.use = kVramstowSimulatorReads;
  return reads;
}

bool Footprint::OnlyZeroes() const {
  return !ranges_.empty() &&
         std::all_of(ranges_.begin(), ranges_.end(), [](const vramstowSimulatorRange& range) {
           return (range.use & kVramstowSimulatorZeroes) != 0;
         });
}

}  // namespace vramstow::values
