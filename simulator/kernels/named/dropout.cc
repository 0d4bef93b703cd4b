// Emulates PyTorch's dropout kernels.
//
// Source: fused_dropout_kernel and fused_dropout_kernel_vec in ATen/native/cuda/Dropout.cu of
// PyTorch 2.15. Which elements are dropped follows from the generator's seed and offset: the index
// of an element decides which random number belongs to it.
#include "simulator/kernels/named/generator.h"
#include "simulator/kernels/named/kernels.h"
#include "simulator/kernels/named/philox.h"
#include "simulator/kernels/named/tensor_info.h"

namespace vramstow::simulator {
namespace {

// The kernel's arguments are the input, the output, the mask, the number of elements, the
// probability that an element is not dropped, and the state of the generator.
class DropoutEmulation : public Emulation {
 public:
  DropoutEmulation(Element element, Element kept)
      : Emulation({{kTensorInfoBytes, 8},
                   {kTensorInfoBytes, 8},
                   {kTensorInfoBytes, 8},
                   {4, 4},
                   {BytesOf(kept), BytesOf(kept)},
                   {32, 8}}),
        element_(element),
        kept_(kept) {}

  Outcome Run(const KernelLaunch& launch, KernelMemory* memory) const override {
    Strided in;
    Strided out;
    Strided mask;
    const uint64_t count = launch.Get<uint32_t>(3, 0);
    if (!ReadTensorInfo(launch, 0, &in) || !ReadTensorInfo(launch, 1, &out) ||
        !ReadTensorInfo(launch, 2, &mask) || count != in.Elements() || count != out.Elements() ||
        count != mask.Elements()) {
      return Outcome::kNotUnderstood;
    }
    const size_t width = BytesOf(element_);
    if (count > launch.limits.bytes / (2 * width + 1)) return Outcome::kTooLarge;
    uint64_t seed = 0;
    uint64_t offset = 0;
    if (!ReadGenerator(launch, memory, 5, &seed, &offset)) return Outcome::kIllegalAddress;
    char* to = memory->At(out.address, out.Reach() * width, true);
    char* kept = memory->At(mask.address, mask.Reach(), true);
    const char* from = memory->At(in.address, in.Reach() * width, false);
    if (to == nullptr || kept == nullptr || from == nullptr) return Outcome::kIllegalAddress;
    if (!memory->Begin()) return Outcome::kUncomputed;
    double probability = 0;
    LoadElements(kept_, (*launch.arguments)[4], 0, 1, &probability);
    for (uint64_t i = 0; i < count; ++i) {
      const auto words = Philox(seed, i / 4, offset / 4);
      const bool keep = (words[i % 4] + 0.5) / 4294967296.0 < probability;
      double value = 0;
      if (keep) {
        LoadElements(element_, from + in.Offset(i) * width, 0, 1, &value);
        value /= probability;
      }
      StoreElements(element_, &value, 1, to + out.Offset(i) * width, 0);
      kept[mask.Offset(i)] = keep ? 1 : 0;
    }
    return Outcome::kDone;
  }

 private:
  Element element_;
  Element kept_;
};

}  // namespace

// The template arguments of fused_dropout_kernel are the element type, the type of the probability,
// the index type, two numbers of dimensions, and the mask's type. Those of fused_dropout_kernel_vec
// are the same, but with a vector width in place of the second number of dimensions.
EmulationPointer MakeDropout(const TemplateName& kernel) {
  if ((kernel.head != "fused_dropout_kernel" && kernel.head != "fused_dropout_kernel_vec") ||
      kernel.arguments.size() != 6 || kernel.arguments[2] != "unsigned int" ||
      BytesOf(ElementNamed(kernel.arguments[5])) != 1) {
    return nullptr;
  }
  const Element element = ElementNamed(kernel.arguments[0]);
  const Element kept = ElementNamed(kernel.arguments[1]);
  if (element == Element::kNone || (kept != Element::kFloat && kept != Element::kDouble)) {
    return nullptr;
  }
  return std::make_unique<DropoutEmulation>(element, kept);
}

}  // namespace vramstow::simulator
