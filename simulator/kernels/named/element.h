// Element types of tensors, and arrays of them turned into numbers to compute with and back.
//
// Half and bfloat16 are computed in float, whole numbers and bool in int64_t, as PyTorch's kernels
// do (whole numbers there in their own width, which gives the same bits after truncation).
// Rounding to half and bfloat16 is to nearest, ties to even.
//
// Ownership: none. Threads: no state. Errors: none; an unknown type has 0 bytes. Units: elements
// for counts, bytes for strides.
#ifndef VRAMSTOW_SIMULATOR_KERNELS_NAMED_ELEMENT_H_
#define VRAMSTOW_SIMULATOR_KERNELS_NAMED_ELEMENT_H_

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace vramstow::simulator {

enum class Element : uint8_t {
  kNone,
  kUint8,
  kInt8,
  kInt16,
  kInt32,
  kInt64,
  kHalf,
  kFloat,
  kDouble,
  kBool,
  kBfloat16,
  kUint16,
  kUint32,
  kUint64,
};

size_t BytesOf(Element element);

// The type that C++ calls so: "float", "Half", "unsigned char", …; const and blanks are ignored.
Element ElementNamed(std::string_view name);

// PyTorch's number of a type (c10::ScalarType).
Element ElementNumbered(int scalar_type);

// In which type PyTorch computes with it: float, double or int64.
Element ComputeType(Element element);
// The same with half and bfloat16 as float and all else as it is: what PyTorch calls opmath.
Element OpmathType(Element element);

// Reads `count` elements that lie `stride` bytes apart. T is float, double or int64_t.
template <typename T>
void LoadElements(Element element, const char* from, int64_t stride, size_t count, T* to);
template <typename T>
void StoreElements(Element element, const T* from, size_t count, char* to, int64_t stride);

float FloatOfHalf(uint16_t bits);
uint16_t HalfOfFloat(float value);
float FloatOfBfloat16(uint16_t bits);
uint16_t Bfloat16OfFloat(float value);

}  // namespace vramstow::simulator

#endif  // VRAMSTOW_SIMULATOR_KERNELS_NAMED_ELEMENT_H_
