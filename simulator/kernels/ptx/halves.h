// Converts 16-bit and 8-bit floats, which are passed as their bits: f16, with five exponent and ten
// fraction bits; bf16, the upper half of an f32; e4m3 and e5m2, named after their numbers of
// exponent and fraction bits. Source: IEEE 754, the PTX ISA.
#ifndef VRAMSTOW_SIMULATOR_KERNELS_PTX_HALVES_H_
#define VRAMSTOW_SIMULATOR_KERNELS_PTX_HALVES_H_

#include <cstdint>

namespace vramstow::simulator::ptx {

// Rounds to nearest, ties to even; NaN stays NaN.
uint16_t HalfOf(double value);
uint16_t BrainOf(double value);

double ValueOfHalf(uint16_t half);
float ValueOfBrain(uint16_t brain);

// The two 16-bit formats as types, for code that is the same for both.
struct HalfFormat {
  static double Value(uint16_t bits) { return ValueOfHalf(bits); }
  static uint16_t Bits(double value) { return HalfOf(value); }
};
struct BrainFormat {
  static double Value(uint16_t bits) { return ValueOfBrain(bits); }
  static uint16_t Bits(double value) { return BrainOf(value); }
};

// The format of an 8-bit float. e4m3 has no infinity and one pattern for NaN.
struct Float8Format {
  int fraction_bits;
  int least_exponent;  // least exponent of a normal number
  float largest;
};
inline constexpr Float8Format kE4M3 = {3, -6, 448};
inline constexpr Float8Format kE5M2 = {2, -14, 57344};

// Rounds to nearest; a number that is too large becomes the largest finite one.
uint8_t EighthOf(const Float8Format& format, float value);
float ValueOfEighth(const Float8Format& format, uint8_t bits);

}  // namespace vramstow::simulator::ptx

#endif  // VRAMSTOW_SIMULATOR_KERNELS_PTX_HALVES_H_
