// Numbers of variable length, as in Protocol Buffers: seven bits a byte, low bits first, the high
// bit says that more follow. At most ten bytes.
//
// Ownership: the caller's bytes. Threads: pure functions. Errors: see ReadVarint. Units: bytes.
#ifndef VRAMSTOW_TRACER_FORMAT_VARINT_H_
#define VRAMSTOW_TRACER_FORMAT_VARINT_H_

#include <cstddef>
#include <cstdint>

namespace vramstow {

inline constexpr size_t kMaxVarintBytes = 10;

// Writes at most kMaxVarintBytes at `out`, returns the byte after them.
inline uint8_t* WriteVarint(uint8_t* out, uint64_t value) {
  while (value >= 0x80) {
    *out++ = static_cast<uint8_t>(value | 0x80);
    value >>= 7;
  }
  *out++ = static_cast<uint8_t>(value);
  return out;
}

// Reads a number of more than one byte; see ReadVarint.
inline const uint8_t* ReadLongVarint(const uint8_t* in, uint64_t* value) {
  uint64_t result = 0;
  for (unsigned shift = 0; shift < 64; shift += 7) {
    const uint64_t byte = *in++;
    result |= (byte & 0x7F) << shift;
    if (byte < 0x80) {
      *value = result;
      // The tenth byte has room for one bit only.
      return shift == 63 && byte > 1 ? nullptr : in;
    }
  }
  return nullptr;
}

// Returns the byte after the number, null if it is longer than a number can be. May look at
// kMaxVarintBytes bytes: the caller sees to it that these may be read.
inline const uint8_t* ReadVarint(const uint8_t* in, uint64_t* value) {
  if (*in < 0x80) [[likely]] {
    *value = *in;
    return in + 1;
  }
  return ReadLongVarint(in, value);
}

// The same where the bytes end at `end`; null if the number does not.
inline const uint8_t* ReadVarint(const uint8_t* in, const uint8_t* end, uint64_t* value) {
  uint64_t result = 0;
  for (unsigned shift = 0; shift < 64 && in < end; shift += 7) {
    const uint64_t byte = *in++;
    result |= (byte & 0x7F) << shift;
    if (byte < 0x80) {
      *value = result;
      return shift == 63 && byte > 1 ? nullptr : in;
    }
  }
  return nullptr;
}

// Small numbers for differences of either sign. Differences wrap around at 2^64, so that every pair
// of numbers has one.
inline uint64_t ZigZag(uint64_t difference) {
  return (difference << 1) ^ (difference >> 63 != 0 ? ~uint64_t{0} : 0);
}
inline uint64_t UnZigZag(uint64_t value) {
  return (value >> 1) ^ ((value & 1) != 0 ? ~uint64_t{0} : 0);
}

}  // namespace vramstow

#endif  // VRAMSTOW_TRACER_FORMAT_VARINT_H_
