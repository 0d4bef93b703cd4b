// Makes tensors of the host over the bytes of device tensors, and collects the memory that an
// operator accesses.
//
// Idea: the simulated device stores the bytes of its memory at a constant distance from the
// device's addresses. A host tensor of the same shape, strides and type over them, called a shadow,
// lets PyTorch's own CPU kernels read and write the device's memory without a copy, so views and
// in-place operators work.
//
// Ownership: a shadow owns no memory of the device; when a task runs, it is checked that the bytes
// still exist. Threads: any. Errors: none. Units: bytes.
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

// True for a dense tensor whose bytes lie in a device's memory.
bool IsOnDevice(const at::Tensor& tensor);

// Returns a host tensor over the bytes of a device tensor. A tensor of the host is copied, because
// the program may change it before the task runs. Returns an undefined tensor if neither is
// possible.
at::Tensor ShadowOf(const at::Tensor& tensor);

// The memory that a task touches.
class Footprint {
 public:
  // Adds the memory of a device tensor. `use` says how the task uses this memory; it is a sum of
  // values of enum VramstowSimulatorUse.
  void Add(const at::Tensor& tensor, int use);
  // Returns the footprint of a task that only reads all memory of this footprint: a second task
  // that continues with the results of the first one.
  Footprint AsReads() const;
  // True if all memory that the task accesses becomes zeros, and none of it is read before.
  bool OnlyZeroes() const;

  const std::vector<vramstowSimulatorRange>& ranges() const { return ranges_; }
  uint64_t bytes() const { return bytes_; }

 private:
  std::vector<vramstowSimulatorRange> ranges_;
  uint64_t bytes_ = 0;
};

}  // namespace vramstow::values

#endif  // VRAMSTOW_ADAPTERS_VALUES_SHADOW_TENSOR_H_
