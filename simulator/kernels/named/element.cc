#include "simulator/kernels/named/element.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

namespace vramstow::simulator {

// These conversions compute all alternatives and select one without branches, so that the compiler
// vectorizes the loops below.
float FloatOfBfloat16(uint16_t bits) {
  return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16);
}

uint16_t Bfloat16OfFloat(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  const uint32_t rounded = (bits + 0x7FFF + ((bits >> 16) & 1)) >> 16;
  const bool is_nan = (bits & 0x7FFFFFFF) > 0x7F800000;
  return static_cast<uint16_t>(is_nan ? 0x7FC0U : rounded);
}

// IEEE 754 binary16 has 1 sign bit, 5 exponent bits (bias 15) and 10 fraction bits.
float FloatOfHalf(uint16_t bits) {
  const uint32_t sign = static_cast<uint32_t>(bits & 0x8000) << 16;
  const uint32_t exponent = (bits >> 10) & 0x1F;
  const uint32_t fraction = bits & 0x3FF;
  const float tiny = static_cast<float>(static_cast<int32_t>(fraction)) * 0x1p-24F;
  const uint32_t wide = exponent == 31 ? 255 : exponent + 112;
  const uint32_t normal = wide << 23 | fraction << 13;
  return std::bit_cast<float>(sign | (exponent == 0 ? std::bit_cast<uint32_t>(tiny) : normal));
}

uint16_t HalfOfFloat(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  const uint32_t sign = (bits >> 16) & 0x8000;
  const uint32_t magnitude = bits & 0x7FFFFFFF;
  // Numbers below the smallest normal number are multiples of 2^-24. Adding 2^23 to such a number
  // rounds it to a multiple.
  const float scaled = std::bit_cast<float>(magnitude) * 0x1p24F + 0x1p23F;
  const uint32_t tiny = std::bit_cast<uint32_t>(scaled) - 0x4B000000;
  const uint32_t normal = (magnitude + 0xFFF + ((magnitude >> 13) & 1) - 0x38000000) >> 13;
  uint32_t rounded = magnitude < 0x38800000 ? tiny : normal;
  rounded = magnitude >= 0x477FF000 ? 0x7C00 : rounded;  // 65520 and more round to infinity
  rounded = magnitude > 0x7F800000 ? 0x7E00 : rounded;   // NaN stays NaN
  return static_cast<uint16_t>(sign | rounded);
}

namespace {

struct HalfBits {
  uint16_t bits;
};
struct Bfloat16Bits {
  uint16_t bits;
};

// Rounds to an integer. A value out of range becomes the nearest integer that can be represented,
// as on a GPU.
int64_t WholeOf(double value) {
  if (std::isnan(value)) return 0;
  if (value >= 9223372036854775807.0) return std::numeric_limits<int64_t>::max();
  if (value <= -9223372036854775808.0) return std::numeric_limits<int64_t>::min();
  return static_cast<int64_t>(value);
}

template <typename T, typename Stored>
T FromStored(Stored stored) {
  if constexpr (std::is_same_v<Stored, HalfBits>) {
    return static_cast<T>(FloatOfHalf(stored.bits));
  } else if constexpr (std::is_same_v<Stored, Bfloat16Bits>) {
    return static_cast<T>(FloatOfBfloat16(stored.bits));
  } else {
    return static_cast<T>(stored);
  }
}

template <typename Stored, typename T>
Stored ToStored(T value) {
  if constexpr (std::is_same_v<Stored, HalfBits>) {
    return {HalfOfFloat(static_cast<float>(value))};
  } else if constexpr (std::is_same_v<Stored, Bfloat16Bits>) {
    return {Bfloat16OfFloat(static_cast<float>(value))};
  } else if constexpr (std::is_integral_v<Stored>) {
    return static_cast<Stored>(WholeOf(value));
  } else {
    return static_cast<Stored>(value);
  }
}

template <typename T, typename Stored>
void Load(const char* from, int64_t stride, size_t count, T* to) {
  if (stride == static_cast<int64_t>(sizeof(Stored))) {
    for (size_t i = 0; i < count; ++i) {
      Stored stored;
      memcpy(&stored, from + i * sizeof(Stored), sizeof(Stored));
      to[i] = FromStored<T>(stored);
    }
    return;
  }
  for (size_t i = 0; i < count; ++i, from += stride) {
    Stored stored;
    memcpy(&stored, from, sizeof(Stored));
    to[i] = FromStored<T>(stored);
  }
}

template <typename T, typename Stored>
void Store(const T* from, size_t count, char* to, int64_t stride) {
  if (stride == static_cast<int64_t>(sizeof(Stored))) {
    for (size_t i = 0; i < count; ++i) {
      const Stored stored = ToStored<Stored>(from[i]);
      memcpy(to + i * sizeof(Stored), &stored, sizeof(Stored));
    }
    return;
  }
  for (size_t i = 0; i < count; ++i) {
    const Stored stored = ToStored<Stored>(from[i]);
    memcpy(to + static_cast<int64_t>(i) * stride, &stored, sizeof(Stored));
  }
}

}  // namespace

size_t BytesOf(Element element) {
  switch (element) {
    case Element::kNone:
      return 0;
    case Element::kUint8:
    case Element::kInt8:
      return 1;
    case Element::kHalf:
    case Element::kBfloat16:
      return 2;
    case Element::kInt32:
    case Element::kFloat:
      return 4;
    case Element::kDouble:
      return 8;
  }
  return 0;
}

template <typename T>
void LoadElements(Element element, const char* from, int64_t stride, size_t count, T* to) {
  switch (element) {
    case Element::kNone:
      return;
    case Element::kUint8:
      return Load<T, uint8_t>(from, stride, count, to);
    case Element::kInt8:
      return Load<T, int8_t>(from, stride, count, to);
    case Element::kInt32:
      return Load<T, int32_t>(from, stride, count, to);
    case Element::kHalf:
      return Load<T, HalfBits>(from, stride, count, to);
    case Element::kFloat:
      return Load<T, float>(from, stride, count, to);
    case Element::kDouble:
      return Load<T, double>(from, stride, count, to);
    case Element::kBfloat16:
      return Load<T, Bfloat16Bits>(from, stride, count, to);
  }
}

template <typename T>
void StoreElements(Element element, const T* from, size_t count, char* to, int64_t stride) {
  switch (element) {
    case Element::kNone:
      return;
    case Element::kUint8:
      return Store<T, uint8_t>(from, count, to, stride);
    case Element::kInt8:
      return Store<T, int8_t>(from, count, to, stride);
    case Element::kInt32:
      return Store<T, int32_t>(from, count, to, stride);
    case Element::kHalf:
      return Store<T, HalfBits>(from, count, to, stride);
    case Element::kFloat:
      return Store<T, float>(from, count, to, stride);
    case Element::kDouble:
      return Store<T, double>(from, count, to, stride);
    case Element::kBfloat16:
      return Store<T, Bfloat16Bits>(from, count, to, stride);
  }
}

template void LoadElements(Element, const char*, int64_t, size_t, float*);
template void LoadElements(Element, const char*, int64_t, size_t, double*);
template void StoreElements(Element, const float*, size_t, char*, int64_t);
template void StoreElements(Element, const double*, size_t, char*, int64_t);

}  // namespace vramstow::simulator
