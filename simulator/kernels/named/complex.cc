// Products of complex numbers, in rows: what scales the result of an inverse Fourier transform.
//
// Source: ATen/native/cuda/CUDALoops.cuh and BinaryInternal.h of PyTorch 2.15; c10::complex is the
// real and the imaginary part, aligned to both.
#include <complex>

#include "simulator/kernels/named/kernels.h"
#include "simulator/kernels/named/loop.h"

namespace vramstow::simulator {
namespace {

// (int n, MulFunctor or it with one factor, the addresses of the result and the factors)
template <typename T>
class ComplexProduct : public Emulation {
 public:
  explicit ComplexProduct(bool fixed)
      : Emulation({{4, 4},
                   fixed ? Argument{2 * sizeof(Number), sizeof(Number)} : Argument{1, 1},
                   {fixed ? 16U : 24U, 8}}),
        fixed_(fixed) {}

  Outcome Run(const KernelLaunch& launch, KernelMemory* memory) const override {
    const auto count = launch.Get<int32_t>(0, 0);
    if (count <= 0) return Outcome::kNotUnderstood;
    const uint64_t bytes = static_cast<uint64_t>(count) * sizeof(Number);
    if (bytes > launch.limits.bytes / (fixed_ ? 2 : 3)) return Outcome::kTooLarge;
    char* out = memory->At(launch.Get<uint64_t>(2, 0), bytes, true);
    const char* a = memory->At(launch.Get<uint64_t>(2, 8), bytes, false);
    const char* b = fixed_ ? nullptr : memory->At(launch.Get<uint64_t>(2, 16), bytes, false);
    if (out == nullptr || a == nullptr || (!fixed_ && b == nullptr)) {
      return Outcome::kIllegalAddress;
    }
    if (!memory->Begin()) return Outcome::kUncomputed;
    // Behind the functor, which has no members but takes a place.
    Number factor = fixed_ ? launch.Get<Number>(1, sizeof(Number)) : Number();
    for (size_t at = 0; at < bytes; at += sizeof(Number)) {
      Number value;
      memcpy(&value, a + at, sizeof(Number));
      if (!fixed_) memcpy(&factor, b + at, sizeof(Number));
      const Number product(value.real() * factor.real() - value.imag() * factor.imag(),
                           value.real() * factor.imag() + value.imag() * factor.real());
      memcpy(out + at, &product, sizeof(Number));
    }
    return Outcome::kDone;
  }

 private:
  using Number = std::complex<T>;
  bool fixed_;
};

}  // namespace

// vectorized_elementwise_kernel<width, functor, addresses, …>, where the functor is
// MulFunctor<complex<T>>, or AUnaryFunctor or BUnaryFunctor over it.
EmulationPointer MakeComplex(const TemplateName& kernel) {
  if (kernel.head != "vectorized_elementwise_kernel" || kernel.arguments.size() < 3) return nullptr;
  TemplateName functor = ParseTemplate(kernel.arguments[1]);
  const bool fixed = functor.head == "AUnaryFunctor" || functor.head == "BUnaryFunctor";
  const bool wrapped = fixed || functor.head == "BinaryFunctor";
  if (wrapped) {
    if (functor.arguments.size() != 4) return nullptr;
    for (int i = 1; i < 3; ++i) {
      if (functor.arguments[i] != functor.arguments[0]) return nullptr;
    }
    functor = ParseTemplate(functor.arguments[3]);
  }
  if (functor.head != "MulFunctor" || functor.arguments.size() != 1) return nullptr;
  if (functor.arguments[0] == "complex<float>") {
    return std::make_unique<ComplexProduct<float>>(fixed);
  }
  if (functor.arguments[0] == "complex<double>") {
    return std::make_unique<ComplexProduct<double>>(fixed);
  }
  return nullptr;
}

}  // namespace vramstow::simulator
