#include "simulator/kernels/named/element.h"

#include <algorithm>
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
  // Numbers below the smallest normal number are multiples of 2^-24; adding 2^23 rounds to them.
  const float scaled = std::bit_cast<float>(magnitude) * 0x1p24F + 0x1p23F;
  const uint32_t tiny = std::bit_cast<uint32_t>(scaled) - 0x4B000000;
  const uint32_t normal = (magnitude + 0xFFF + ((magnitude >> 13) & 1) - 0x38000000) >> 13;
  uint32_t rounded = magnitude < 0x38800000 ? tiny : normal;
  rounded = magnitude >= 0x477FF000 ? 0x7C00 : rounded;  // 65520 and more round to infinity
  rounded = magnitude > 0x7F800000 ? 0x7E00 : rounded;   // not a number
  return static_cast<uint16_t>(sign | rounded);
}

namespace {

struct HalfBits {
  uint16_t bits;
};
struct Bfloat16Bits {
  uint16_t bits;
};

template <typename T, typename Stored>
T FromStored(Stored stored) {
  if constexpr (std::is_same_v<Stored, HalfBits>) {
    return static_cast<T>(FloatOfHalf(stored.bits));
  } else if constexpr (std::is_same_v<Stored, Bfloat16Bits>) {
    return static_cast<T>(FloatOfBfloat16(stored.bits));
  } else if constexpr (std::is_floating_point_v<Stored> && std::is_integral_v<T>) {
    // A value out of range is undefined in C++, and becomes the nearest integer on a GPU.
    if (std::isnan(stored)) return 0;
    if (stored >= static_cast<Stored>(9223372036854775807.0)) {
      return std::numeric_limits<T>::max();
    }
    if (stored <= static_cast<Stored>(-9223372036854775808.0)) {
      return std::numeric_limits<T>::min();
    }
    return static_cast<T>(stored);
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
  } else if constexpr (std::is_same_v<Stored, bool>) {
    return value != 0;
  } else if constexpr (std::is_floating_point_v<T> && std::is_integral_v<Stored>) {
    return static_cast<Stored>(FromStored<int64_t>(value));
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
  if (stride == 0 && count > 0) {
    Stored stored;
    memcpy(&stored, from, sizeof(Stored));
    std::fill_n(to, count, FromStored<T>(stored));
    return;
  }
  for (size_t i = 0; i < count; ++i, from += stride) {
    Stored stored;
    memcpy(&stored, from, sizeof(Stored));
    to[i] = FromStored<T>(stored);
  }
}

// A byte of device memory may hold any value, but a C++ bool only 0 or 1.
template <typename T>
void LoadBool(const char* from, int64_t stride, size_t count, T* to) {
  if (stride == 1) {
    for (size_t i = 0; i < count; ++i) to[i] = static_cast<T>(from[i] != 0);
    return;
  }
  for (size_t i = 0; i < count; ++i, from += stride) to[i] = static_cast<T>(*from != 0);
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
    case Element::kBool:
      return 1;
    case Element::kInt16:
    case Element::kUint16:
    case Element::kHalf:
    case Element::kBfloat16:
      return 2;
    case Element::kInt32:
    case Element::kUint32:
    case Element::kFloat:
      return 4;
    case Element::kInt64:
    case Element::kUint64:
    case Element::kDouble:
      return 8;
  }
  return 0;
}

Element ElementNamed(std::string_view name) {
  static constexpr struct {
    std::string_view name;
    Element element;
  } kNames[] = {{"float", Element::kFloat},         {"double", Element::kDouble},
                {"Half", Element::kHalf},           {"BFloat16", Element::kBfloat16},
                {"unsigned char", Element::kUint8}, {"signed char", Element::kInt8},
                {"short", Element::kInt16},         {"int", Element::kInt32},
                {"long", Element::kInt64},          {"long long", Element::kInt64},
                {"bool", Element::kBool},           {"unsigned short", Element::kUint16},
                {"unsigned int", Element::kUint32}, {"unsigned long", Element::kUint64}};
  if (name.ends_with(" const")) name.remove_suffix(6);
  for (const auto& entry : kNames) {
    if (name == entry.name) return entry.element;
  }
  return Element::kNone;
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
    case Element::kInt16:
      return Load<T, int16_t>(from, stride, count, to);
    case Element::kInt32:
      return Load<T, int32_t>(from, stride, count, to);
    case Element::kInt64:
      return Load<T, int64_t>(from, stride, count, to);
    case Element::kHalf:
      return Load<T, HalfBits>(from, stride, count, to);
    case Element::kFloat:
      return Load<T, float>(from, stride, count, to);
    case Element::kDouble:
      return Load<T, double>(from, stride, count, to);
    case Element::kBool:
      return LoadBool(from, stride, count, to);
    case Element::kBfloat16:
      return Load<T, Bfloat16Bits>(from, stride, count, to);
    case Element::kUint16:
      return Load<T, uint16_t>(from, stride, count, to);
    case Element::kUint32:
      return Load<T, uint32_t>(from, stride, count, to);
    case Element::kUint64:
      return Load<T, uint64_t>(from, stride, count, to);
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
    case Element::kInt16:
      return Store<T, int16_t>(from, count, to, stride);
    case Element::kInt32:
      return Store<T, int32_t>(from, count, to, stride);
    case Element::kInt64:
      return Store<T, int64_t>(from, count, to, stride);
    case Element::kHalf:
      return Store<T, HalfBits>(from, count, to, stride);
    case Element::kFloat:
      return Store<T, float>(from, count, to, stride);
    case Element::kDouble:
      return Store<T, double>(from, count, to, stride);
    case Element::kBool:
      return Store<T, bool>(from, count, to, stride);
    case Element::kBfloat16:
      return Store<T, Bfloat16Bits>(from, count, to, stride);
    case Element::kUint16:
      return Store<T, uint16_t>(from, count, to, stride);
    case Element::kUint32:
      return Store<T, uint32_t>(from, count, to, stride);
    case Element::kUint64:
      return Store<T, uint64_t>(from, count, to, stride);
  }
}

template void LoadElements(Element, const char*, int64_t, size_t, float*);
template void LoadElements(Element, const char*, int64_t, size_t, double*);
template void StoreElements(Element, const float*, size_t, char*, int64_t);
template void StoreElements(Element, const double*, size_t, char*, int64_t);
template void StoreElements(Element, const int64_t*, size_t, char*, int64_t);

}  // namespace vramstow::simulator
