// Defines operations on integers and bits that several families of instructions share.
#ifndef VRAMSTOW_SIMULATOR_KERNELS_PTX_OPERATIONS_H_
#define VRAMSTOW_SIMULATOR_KERNELS_PTX_OPERATIONS_H_

#include <algorithm>
#include <cstdint>
#include <type_traits>

namespace vramstow::simulator::ptx {

// Arithmetic wraps around, so it is done in an unsigned type of at least 32 bits; smaller operands
// would be promoted to int.
template <typename T>
using Wide = std::conditional_t<(sizeof(T) < 4), uint32_t, std::make_unsigned_t<T>>;

template <typename T>
Wide<T> W(T value) {
  return static_cast<Wide<T>>(value);
}

template <typename T>
struct WrappingAdd {
  static T Of(T a, T b) { return static_cast<T>(W(a) + W(b)); }
};
template <typename T>
struct Smaller {
  static T Of(T a, T b) { return std::min(a, b); }
};
template <typename T>
struct Larger {
  static T Of(T a, T b) { return std::max(a, b); }
};
template <typename T>
struct And {
  static T Of(T a, T b) { return static_cast<T>(a & b); }
};
template <typename T>
struct Or {
  static T Of(T a, T b) { return static_cast<T>(a | b); }
};
template <typename T>
struct Xor {
  static T Of(T a, T b) { return static_cast<T>(a ^ b); }
};

}  // namespace vramstow::simulator::ptx

#endif  // VRAMSTOW_SIMULATOR_KERNELS_PTX_OPERATIONS_H_
