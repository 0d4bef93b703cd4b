// PyTorch's launches over lists of tensors: the struct that names the tensors, and for each block a
// tensor and which 65,536 elements of it.
//
// Source: ATen/native/cuda/MultiTensorApply.cuh of PyTorch 2.15, built with CUDA 13 (where a launch
// may have 32 KiB of arguments). Ownership: values. Threads: no state. Errors: Outcome. Units:
// bytes for places in the struct, elements for parts.
#ifndef VRAMSTOW_SIMULATOR_KERNELS_NAMED_TENSOR_LIST_H_
#define VRAMSTOW_SIMULATOR_KERNELS_NAMED_TENSOR_LIST_H_

#include <vector>

#include "simulator/kernels/named/element.h"
#include "simulator/kernels/named/emulation.h"

namespace vramstow::simulator {

inline constexpr size_t kListDepthMax = 5;

struct TensorListLayout {
  // So many lists; each tensor may have a value of its own of `value_bytes`; `has_start`: the
  // number of the first tensor among those of all launches stands at the end.
  TensorListLayout(size_t lists, size_t value_bytes, bool has_start);

  size_t Address(size_t list, size_t tensor) const { return 8 * (list * tensors + tensor); }

  size_t depth;
  size_t tensors;  // at most
  size_t counts;
  size_t values;
  size_t block_tensors;
  size_t block_chunks;
  size_t start;
  size_t bytes;
};

// Neighbouring blocks of one tensor.
struct ListPart {
  size_t tensor = 0;
  uint64_t first = 0;
  uint64_t count = 0;
};

// The parts of the launch whose first argument is such a struct. kNotUnderstood: it is not.
// kTooLarge: more than its limit of elements of `width` bytes in every list; a launch over lists
// does what otherwise a launch for each tensor does, and may do four times as much.
Outcome ReadParts(const KernelLaunch& launch, const TensorListLayout& layout, size_t width,
                  std::vector<ListPart>* parts);

// Tensors of one part in all lists, as numbers to compute with. For the time of one launch.
class PartOfLists {
 public:
  PartOfLists(const KernelLaunch& launch, const TensorListLayout& layout, const ListPart& part,
              Element element)
      : launch_(launch), layout_(layout), part_(part), element_(element) {}

  // The lists whose bit is set in `written` are written as well.
  bool Locate(KernelMemory* memory, unsigned written) {
    const uint64_t width = BytesOf(element_);
    for (size_t i = 0; i < layout_.depth; ++i) {
      const uint64_t at =
          launch_.Get<uint64_t>(0, layout_.Address(i, part_.tensor)) + part_.first * width;
      bytes_[i] = memory->At(at, part_.count * width, false);
      if (bytes_[i] == nullptr) return false;
      if ((written >> i & 1) != 0 && memory->At(at, part_.count * width, true) == nullptr) {
        return false;
      }
    }
    return true;
  }

  double Get(size_t list, uint64_t i) const {
    double value = 0;
    LoadElements(element_, At(list, i), 0, 1, &value);
    return value;
  }
  void Set(size_t list, uint64_t i, double value) const {
    StoreElements(element_, &value, 1, At(list, i), 0);
  }
  uint64_t count() const { return part_.count; }

 private:
  char* At(size_t list, uint64_t i) const { return bytes_[list] + i * BytesOf(element_); }

  const KernelLaunch& launch_;
  const TensorListLayout& layout_;
  const ListPart& part_;
  Element element_;
  char* bytes_[kListDepthMax] = {};
};

// Runs run(part) for each part of the launch (ReadParts); one that is left out does not stop the
// others.
template <typename F>
Outcome RunParts(const KernelLaunch& launch, const TensorListLayout& layout, size_t width,
                 F&& run) {
  std::vector<ListPart> parts;
  const Outcome read = ReadParts(launch, layout, width, &parts);
  if (read != Outcome::kDone) return read;
  Outcome whole = Outcome::kDone;
  for (const ListPart& part : parts) {
    const Outcome outcome = run(part);
    if (outcome == Outcome::kUncomputed) {
      whole = outcome;
    } else if (outcome != Outcome::kDone) {
      return outcome;
    }
  }
  return whole;
}

}  // namespace vramstow::simulator

#endif  // VRAMSTOW_SIMULATOR_KERNELS_NAMED_TENSOR_LIST_H_
