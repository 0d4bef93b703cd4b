// Tensors of the host over the bytes of device tensors, and what an operator touches of memory.
//
// Idea: the simulated device keeps the bytes of its memory at a constant distance from the device's
// addresses. A tensor of the same shape, strides and type over them lets PyTorch's own CPU kernels
// read and write what the device has, without a copy: views and in-place operators just work.
//
// Ownership: a shadow owns nothing of the device; whether the bytes are still there is checked when
// a task runs. Threads: any. Errors: none. Units: bytes.
#ifndef VRAMSTOW_ADAPTERS_VALUES_SHADOW_TENSOR_H_
#define VRAMSTOW_ADAPTERS_VALUES_SHADOW_TENSOR_H_

#include <vector>

#include "adapters/values/operators.h"
#include "adapters/values/simulator_link.h"

namespace vramstow::values {

// Calls visit(tensor) for all tensors of a value, in order, undefined ones too.
template <typename Visit>
void VisitTensors(const c10::IValue& value, Visit visit) {
  if (value.isTensor()) {
    visit(value.toTensor());
  } else if (value.isList()) {
    for (const c10::IValue& item : value.toListRef()) VisitTensors(item, visit);
  }
}

// A dense tensor whose bytes are a device's.
bool IsOnDevice(const at::Tensor& tensor);

// The tensor of the host over the same bytes. One that is the host's already is copied, because the
// program may change it before the work's turn has come. No tensor: it has no such form.
at::Tensor ShadowOf(const at::Tensor& tensor);

// What a task touches.
class Footprint {
 public:
  // Notes the bytes of a device tensor. `use`: of enum VramstowSimulatorUse.
  void Add(const at::Tensor& tensor, int use);
  // The same ranges, only read: for a second task that goes on with the results of a first.
  Footprint AsReads() const;
  // All that is touched becomes zeros, and none of it is wanted before.
  bool OnlyZeroes() const;

  const std::vector<vramstowSimulatorRange>& ranges() const { return ranges_; }
  uint64_t bytes() const { return bytes_; }

 private:
  std::vector<vramstowSimulatorRange> ranges_;
  uint64_t bytes_ = 0;
};

}  // namespace vramstow::values

#endif  // VRAMSTOW_ADAPTERS_VALUES_SHADOW_TENSOR_H_
