#include "simulator/runtime/libraries/nccl/reduction.h"

#include <cuda_fp8.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <type_traits>

namespace vramstow::simulator {
namespace {

// The type in which an element is stored, and the type in which it is computed.
template <typename Stored, typename Computed = Stored>
struct Plain {
  using StoredType = Stored;
  using ComputedType = Computed;
  static Computed Load(Stored value) { return static_cast<Computed>(value); }
  static Stored Store(Computed value) { return static_cast<Stored>(value); }
};

struct Half {
  using StoredType = __half;
  using ComputedType = float;
  static float Load(__half value) { return __half2float(value); }
  static __half Store(float value) { return __float2half_rn(value); }
};

struct Brain {
  using StoredType = __nv_bfloat16;
  using ComputedType = float;
  static float Load(__nv_bfloat16 value) { return __bfloat162float(value); }
  static __nv_bfloat16 Store(float value) { return __float2bfloat16_rn(value); }
};

template <__nv_fp8_interpretation_t kKind>
struct Float8Format {
  using StoredType = __nv_fp8_storage_t;
  using ComputedType = float;
  static float Load(StoredType value) {
    return __half2float(__half(__nv_cvt_fp8_to_halfraw(value, kKind)));
  }
  static StoredType Store(float value) {
    return __nv_cvt_float_to_fp8(value, __NV_SATFINITE, kKind);
  }
};

// Signed integers are added and multiplied as unsigned ones, so that overflow wraps around, as on a
// GPU.
template <typename T>
T Wrapped(T left, T right, bool product) {
  if constexpr (std::is_integral_v<T>) {
    using Same = std::make_unsigned_t<T>;
    // The type is at least as wide as int, because smaller types would be promoted to int, which
    // can overflow.
    using Unsigned = std::common_type_t<Same, unsigned>;
    const Unsigned a = static_cast<Same>(left);
    const Unsigned b = static_cast<Same>(right);
    return static_cast<T>(product ? a * b : a + b);
  } else {
    return product ? left * right : left + right;
  }
}

// Returns the larger or the smaller number. If one of two floating-point numbers is NaN, the result
// is the other one, whichever rank has it.
template <typename T>
T Extreme(T left, T right, bool larger) {
  if constexpr (std::is_floating_point_v<T>) {
    return larger ? std::fmax(left, right) : std::fmin(left, right);
  } else {
    return larger ? std::max(left, right) : std::min(left, right);
  }
}

template <typename T>
T Combine(ncclRedOp_t operation, T left, T right) {
  switch (operation) {
    case ncclProd:
      return Wrapped(left, right, true);
    case ncclMax:
    case ncclMin:
      return Extreme(left, right, operation == ncclMax);
    default:
      return Wrapped(left, right, false);
  }
}

template <typename Element>
void ReduceAs(ncclRedOp_t operation, const std::vector<const void*>& inputs, size_t count,
              void* output) {
  using Stored = typename Element::StoredType;
  using Computed = typename Element::ComputedType;
  auto* target = static_cast<Stored*>(output);
  for (size_t i = 0; i < count; ++i) {
    Computed value = Element::Load(static_cast<const Stored*>(inputs[0])[i]);
    for (size_t rank = 1; rank < inputs.size(); ++rank) {
      value = Combine(operation, value, Element::Load(static_cast<const Stored*>(inputs[rank])[i]));
    }
    if (operation == ncclAvg)
      value = static_cast<Computed>(value / static_cast<Computed>(inputs.size()));
    target[i] = Element::Store(value);
  }
}

template <typename Element>
void ScaleAs(const void* scalar, size_t count, void* data) {
  using Stored = typename Element::StoredType;
  Stored stored;
  memcpy(&stored, scalar, sizeof(stored));
  const auto factor = Element::Load(stored);
  auto* elements = static_cast<Stored*>(data);
  for (size_t i = 0; i < count; ++i) {
    elements[i] = Element::Store(Wrapped(Element::Load(elements[i]), factor, true));
  }
}

template <typename Element>
void ReduceSameAs(ncclRedOp_t operation, int copies, const void* input, size_t count,
                  void* output) {
  using Stored = typename Element::StoredType;
  using Computed = typename Element::ComputedType;
  const auto* source = static_cast<const Stored*>(input);
  auto* target = static_cast<Stored*>(output);
  for (size_t i = 0; i < count; ++i) {
    const Computed one = Element::Load(source[i]);
    Computed value = one;
    if (operation == ncclSum) value = Wrapped(one, static_cast<Computed>(copies), true);
    for (int copy = 1; operation == ncclProd && copy < copies; ++copy) {
      value = Wrapped(value, one, true);
    }
    target[i] = Element::Store(value);
  }
}

// Calls `action` with the description of `type`.
template <typename Action>
void WithElement(ncclDataType_t type, const Action& action) {
  switch (static_cast<int>(type)) {
    case ncclInt8:
      return action(Plain<int8_t>());
    case ncclUint8:
      return action(Plain<uint8_t>());
    case ncclInt32:
      return action(Plain<int32_t>());
    case ncclUint32:
      return action(Plain<uint32_t>());
    case ncclInt64:
      return action(Plain<int64_t>());
    case ncclUint64:
      return action(Plain<uint64_t>());
    case ncclFloat16:
      return action(Half());
    case ncclFloat32:
      return action(Plain<float>());
    case ncclFloat64:
      return action(Plain<double>());
    case ncclBfloat16:
      return action(Brain());
    case ncclFloat8e4m3:
      return action(Float8Format<__NV_E4M3>());
    case ncclFloat8e5m2:
      return action(Float8Format<__NV_E5M2>());
    default:
      return;
  }
}

}  // namespace

size_t BytesOf(ncclDataType_t type) {
  size_t bytes = 0;
  WithElement(type, [&](auto element) { bytes = sizeof(typename decltype(element)::StoredType); });
  return bytes;
}

void Reduce(ncclDataType_t type, ncclRedOp_t operation, const std::vector<const void*>& inputs,
            size_t count, void* output) {
  WithElement(type,
              [&](auto element) { ReduceAs<decltype(element)>(operation, inputs, count, output); });
}

void ReduceSame(ncclDataType_t type, ncclRedOp_t operation, int copies, const void* input,
                size_t count, void* output) {
  WithElement(type, [&](auto element) {
    ReduceSameAs<decltype(element)>(operation, copies, input, count, output);
  });
}

void Scale(ncclDataType_t type, const void* scalar, size_t count, void* data) {
  WithElement(type, [&](auto element) { ScaleAs<decltype(element)>(scalar, count, data); });
}

}  // namespace vramstow::simulator
