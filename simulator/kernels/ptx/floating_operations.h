// Defines the operations on floating-point numbers. Operations that GPUs approximate are computed
// as exactly as the host can, within the error bounds of the PTX ISA.
#ifndef VRAMSTOW_SIMULATOR_KERNELS_PTX_FLOATING_OPERATIONS_H_
#define VRAMSTOW_SIMULATOR_KERNELS_PTX_FLOATING_OPERATIONS_H_

#include <cmath>
#include <limits>

namespace vramstow::simulator::ptx {

// Implements .ftz: a subnormal number becomes zero, before and after an operation.
template <typename T>
T Flush(T value) {
  return std::fpclassify(value) == FP_SUBNORMAL ? std::copysign(T{0}, value) : value;
}

// Implements .sat: clamps to [0, 1]; NaN becomes 0.
template <typename T>
T Saturate(T value) {
  return value > 0 ? std::fmin(value, T{1}) : T{0};
}

template <typename T>
struct Add {
  static T Of(T a, T b) { return a + b; }
};
template <typename T>
struct Subtract {
  static T Of(T a, T b) { return a - b; }
};
template <typename T>
struct Multiply {
  static T Of(T a, T b) { return a * b; }
};
template <typename T>
struct Divide {
  static T Of(T a, T b) { return a / b; }
};
template <typename T>
struct MultiplyAdd {
  static T Of(T a, T b, T c) { return std::fma(a, b, c); }
};
// If one operand is NaN, the result is the other operand. -0 counts as less than 0.
template <typename T>
struct Minimum {
  static T Of(T a, T b) {
    if (a == b) return std::signbit(a) ? a : b;
    return std::fmin(a, b);
  }
};
template <typename T>
struct Maximum {
  static T Of(T a, T b) {
    if (a == b) return std::signbit(a) ? b : a;
    return std::fmax(a, b);
  }
};
template <typename T>
struct MinimumOrNan {
  static T Of(T a, T b) {
    return std::isnan(a) || std::isnan(b) ? std::numeric_limits<T>::quiet_NaN()
                                          : Minimum<T>::Of(a, b);
  }
};
template <typename T>
struct MaximumOrNan {
  static T Of(T a, T b) {
    return std::isnan(a) || std::isnan(b) ? std::numeric_limits<T>::quiet_NaN()
                                          : Maximum<T>::Of(a, b);
  }
};
template <typename T>
struct Absolute {
  static T Of(T a) { return std::fabs(a); }
};
template <typename T>
struct Negate {
  static T Of(T a) { return -a; }
};
template <typename T>
struct SquareRoot {
  static T Of(T a) { return std::sqrt(a); }
};
template <typename T>
struct ReciprocalRoot {
  static T Of(T a) { return 1 / std::sqrt(a); }
};
template <typename T>
struct Reciprocal {
  static T Of(T a) { return 1 / a; }
};
template <typename T>
struct Sine {
  static T Of(T a) { return std::sin(a); }
};
template <typename T>
struct Cosine {
  static T Of(T a) { return std::cos(a); }
};
template <typename T>
struct Logarithm {
  static T Of(T a) { return std::log2(a); }
};
template <typename T>
struct Exponential {
  static T Of(T a) { return std::exp2(a); }
};
template <typename T>
struct HyperbolicTangent {
  static T Of(T a) { return std::tanh(a); }
};
// Combines the sign of the first operand with the magnitude of the second.
template <typename T>
struct CopySign {
  static T Of(T a, T b) { return std::copysign(b, a); }
};

}  // namespace vramstow::simulator::ptx

#endif  // VRAMSTOW_SIMULATOR_KERNELS_PTX_FLOATING_OPERATIONS_H_
