// Numbers of 16 and of 8 bits, which travel as their bits: f16, with five bits of exponent and ten
// of fraction; bf16, the upper half of an f32; e4m3 and e5m2, named after their bits of exponent
// and of fraction. Source: IEEE 754, the PTX ISA.
#ifndef VRAMSTOW_SIMULATOR_KERNELS_PTX_HALVES_H_
#define VRAMSTOW_SIMULATOR_KERNELS_PTX_HALVES_H_

#include <cstdint>

namespace vramstow::simulator::ptx {

// To nearest, and to even between two; what is no number stays none.
uint16_t HalfOf(double value);
uint16_t ToBfloat16(float value);

double ValueOfHalf(uint16_t half);
float ValueOfBrain(uint16_t brain);

// A number of 8 bits. e4m3 has no infinity, and one pattern that is no number.
struct Eighth {
  int fraction_bits;
  int least_exponent;  // of normal numbers
  float largest;
};
inline constexpr Eighth kE4M3 = {3, -6, 448};
inline constexpr Eighth kE5M2 = {2, -14, 57344};

// To nearest; what is too large is the largest.
uint8_t EighthOf(const Eighth& format, float value);
float ValueOfEighth(const Eighth& format, uint8_t bits);

}  // namespace vramstow::simulator::ptx

#endif  // VRAMSTOW_SIMULATOR_KERNELS_PTX_HALVES_H_
