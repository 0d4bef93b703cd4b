// Encodes numbers in one to nine bytes; the first byte determines how many.
//
// Idea: the encoding begins with as many zero bits as there are further bytes, then a one bit. The
// bits of the number follow, least significant bits and bytes first, so that each byte adds seven
// bits. An encoding of nine bytes begins with a zero byte. This is as short as the numbers of
// Protocol Buffers, but needs no loop and no branch that the processor could predict wrongly. Wrong
// predictions were half the cost of an event.
//
// Ownership: the caller's bytes. Threads: pure functions. Errors: see ReadVarint. Units: bytes.
#ifndef VRAMSTOW_TRACER_FORMAT_VARINT_H_
#define VRAMSTOW_TRACER_FORMAT_VARINT_H_

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace vramstow {

inline constexpr size_t kMaxVarintBytes = 9;

// Returns the single byte that encodes a number below 128.
inline constexpr uint8_t OneByteVarint(size_t value) {
  return static_cast<uint8_t>(value << 1 | 1);
}

// Numbers below 2^kShortVarintBits take at most eight bytes.
inline constexpr unsigned kShortVarintBits = 56;

// Writes a number below 2^kShortVarintBits at `out`, where eight bytes are written in any case.
// Returns the number of valid bytes.
inline size_t WriteShortVarint(uint8_t* out, uint64_t value) {
  // Computes std::bit_width minus one in a form for which the compiler emits a single instruction.
  const unsigned top = 63u ^ static_cast<unsigned>(std::countl_zero(value | 1));
  const unsigned bytes = (top * 37 + 259) >> 8;  // (bits + 6) / 7
  const uint64_t word = (value << 1 | 1) << (bytes - 1);
  std::memcpy(out, &word, sizeof word);
  return bytes;
}

// Writes any number at `out`, where kMaxVarintBytes may be written. Returns the address after it.
inline uint8_t* WriteVarint(uint8_t* out, uint64_t value) {
  if (value >> kShortVarintBits != 0) [[unlikely]] {
    *out = 0;
    std::memcpy(out + 1, &value, sizeof value);
    return out + kMaxVarintBytes;
  }
  return out + WriteShortVarint(out, value);
}

// Reads a number. Returns the address after it. It accesses kMaxVarintBytes bytes in any case, so
// the caller must make sure that these may be read. Every byte sequence is a number.
inline const uint8_t* ReadVarint(const uint8_t* in, uint64_t* value) {
  const unsigned first = *in;
  if (first == 0) [[unlikely]] {
    std::memcpy(value, in + 1, sizeof *value);
    return in + kMaxVarintBytes;
  }
  uint64_t word;
  std::memcpy(&word, in, sizeof word);
  const unsigned bytes = static_cast<unsigned>(std::countr_zero(first | 0x80)) + 1;
  *value = (word << (64 - 8 * bytes)) >> (64 - 7 * bytes);
  return in + bytes;
}

// Reads a number from bytes that end at `end`. It reads no byte beyond `end`, and returns null if
// the number does not end before it.
inline const uint8_t* ReadVarint(const uint8_t* in, const uint8_t* end, uint64_t* value) {
  uint8_t bytes[kMaxVarintBytes] = {};
  const size_t available = static_cast<size_t>(end - in);
  if (available == 0) return nullptr;
  std::memcpy(bytes, in, available < sizeof bytes ? available : sizeof bytes);
  const size_t used = static_cast<size_t>(ReadVarint(bytes, value) - bytes);
  return used <= available ? in + used : nullptr;
}

// Maps differences of either sign to small numbers. Differences wrap around at 2^64, so a
// difference exists for every pair of numbers.
inline uint64_t ZigZag(uint64_t difference) {
  return (difference << 1) ^ (uint64_t{0} - (difference >> 63));
}
inline uint64_t UnZigZag(uint64_t value) { return (value >> 1) ^ (uint64_t{0} - (value & 1)); }

}  // namespace vramstow

#endif  // VRAMSTOW_TRACER_FORMAT_VARINT_H_
