// Defines the element types of tensors, and converts arrays of them to numbers and back.
//
// Rounding to half and bfloat16 is to nearest, ties to even.
//
// Ownership: none. Threads: no state. Errors: none; an unknown type has 0 bytes. Units: elements
// for counts, bytes for strides.
#ifndef VRAMSTOW_SIMULATOR_KERNELS_NAMED_ELEMENT_H_
#define VRAMSTOW_SIMULATOR_KERNELS_NAMED_ELEMENT_H_

#include <cstddef>
#include <cstdint>

namespace vramstow::simulator {

enum class Element : uint8_t {
  kNone,
  kUint8,
  kInt8,
  kInt32,
  kHalf,
  kFloat,
  kDouble,
  kBfloat16,
};

size_t BytesOf(Element element);

// Reads `count` elements that lie `stride` bytes apart. T is float or double.
template <typename T>
void LoadElements(Element element, const char* from, int64_t stride, size_t count, T* to);
// Writes `count` elements that lie `stride` bytes apart. T is float or double.
template <typename T>
void StoreElements(Element element, const T* from, size_t count, char* to, int64_t stride);

float FloatOfHalf(uint16_t bits);
uint16_t HalfOfFloat(float value);
float FloatOfBfloat16(uint16_t bits);
uint16_t Bfloat16OfFloat(float value);

}  // namespace vramstow::simulator

#endif  // VRAMSTOW_SIMULATOR_KERNELS_NAMED_ELEMENT_H_
