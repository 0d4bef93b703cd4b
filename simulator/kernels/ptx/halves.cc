#include "simulator/kernels/ptx/halves.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace vramstow::simulator::ptx {

uint16_t HalfOf(double value) {
  const uint16_t sign = std::signbit(value) ? 0x8000 : 0;
  const double size = std::fabs(value);
  if (std::isnan(value)) return 0x7fff;
  if (size >= 65520) return sign | 0x7c00;  // half a unit above the largest number
  int exponent = 0;
  const double fraction = std::frexp(size, &exponent);  // in [0.5, 1)
  if (size == 0 || exponent < -13) {
    return sign | static_cast<uint16_t>(std::nearbyint(std::ldexp(size, 24)));
  }
  // If rounding up gives the next power of two, the carry increments the exponent.
  const auto digits = static_cast<int>(std::nearbyint(std::ldexp(fraction, 11)));
  return sign | static_cast<uint16_t>(((exponent + 14) << 10) + digits - 1024);
}

uint16_t BrainOf(double value) {
  if (std::isnan(value)) return 0x7fff;
  auto single = static_cast<float>(value);
  // If the float is not exact, its last bit is set instead of rounded. Otherwise a number beside
  // the middle between two results would be rounded to the middle, and then to the wrong one.
  if (single != value) {
    if (std::fabs(single) > std::fabs(value)) single = std::nextafter(single, 0.0F);
    single = std::bit_cast<float>(std::bit_cast<uint32_t>(single) | 1);
  }
  const auto bits = std::bit_cast<uint32_t>(single);
  // Rounds by adding half a unit of the last retained bit, minus one, plus the value of that bit.
  // So ties are rounded to even.
  return static_cast<uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

double ValueOfHalf(uint16_t half) {
  const int exponent = half >> 10 & 0x1f;
  const int fraction = half & 0x3ff;
  double size = std::ldexp(1024 + fraction, exponent - 25);
  if (exponent == 0) size = std::ldexp(fraction, -24);
  if (exponent == 31) {
    size = fraction == 0 ? std::numeric_limits<double>::infinity()
                         : std::numeric_limits<double>::quiet_NaN();
  }
  return (half & 0x8000) != 0 ? -size : size;
}

float ValueOfBrain(uint16_t brain) { return std::bit_cast<float>(uint32_t{brain} << 16); }

uint8_t EighthOf(const Float8Format& format, float value) {
  if (std::isnan(value)) return 0x7f;
  const uint8_t sign = std::signbit(value) ? 0x80 : 0;
  const float size = std::fmin(std::fabs(value), format.largest);
  if (size == 0) return sign;  // frexp gives zero the exponent of a number near 1
  int exponent = 0;
  std::frexp(size, &exponent);  // size is in [0.5, 1) × 2^exponent
  exponent = std::max(exponent - 1, format.least_exponent);
  const float steps = std::nearbyint(std::ldexp(size, format.fraction_bits - exponent));
  // The leading bit of a normal number, and rounding up to a power of two, carry into the exponent.
  const int above = (exponent - format.least_exponent) << format.fraction_bits;
  return sign | static_cast<uint8_t>(above + static_cast<int>(steps));
}

float ValueOfEighth(const Float8Format& format, uint8_t bits) {
  const int magnitude = bits & 0x7f;
  const int exponent = magnitude >> format.fraction_bits;
  const int fraction = magnitude & ((1 << format.fraction_bits) - 1);
  const int normal = exponent == 0 ? 0 : 1 << format.fraction_bits;
  float size = std::ldexp(static_cast<float>(normal + fraction),
                          std::max(exponent - 1, 0) + format.least_exponent - format.fraction_bits);
  if (size > format.largest) {
    const bool infinite = format.fraction_bits == kE5M2.fraction_bits && fraction == 0;
    size =
        infinite ? std::numeric_limits<float>::infinity() : std::numeric_limits<float>::quiet_NaN();
  }
  return (bits & 0x80) != 0 ? -size : size;
}

}  // namespace vramstow::simulator::ptx
