// What the encoder and the decoder of events have in common.
//
// Idea: most of an event is the same each time: who called what for which kind of memory on which
// device and stream. Such a combination is a *shape*; a chunk numbers its shapes, and an event is
// the number of its shape, the time since the event before, and the fields that differ. Addresses
// are differences to the last one, or, for those seen lately (each free names one), the number of
// a place in a table that writer and reader fill alike. All of this starts afresh in each chunk.
//
// Ownership: none. Threads: values. Errors: none. Units: bytes. Described in docs/trace-format.md.
#ifndef VRAMSTOW_TRACER_FORMAT_EVENT_CODING_H_
#define VRAMSTOW_TRACER_FORMAT_EVENT_CODING_H_

#include <cstddef>
#include <cstdint>

#include "tracer/format/varint.h"

namespace vramstow {

// How the fields of an event are written: one byte of its shape, three groups of two bits and two
// single bits.
enum class AddressField : uint8_t {
  kZero = 0,
  kDifference = 1,      // to the last address
  kPageDifference = 2,  // of the addresses divided by 512; this one is a multiple
  kRecent = 3,          // one byte: the place in the table of recent addresses
};
enum class SizeField : uint8_t {
  kZero = 0,
  kBytes = 1,
  kPages = 2,     // of 512 bytes; a multiple
  kTwoMebis = 3,  // of 2 MiB; a multiple
};
enum class RequestedField : uint8_t {
  kZero = 0,
  kAsSize = 1,
  kDifference = 2,  // size minus requested
};
inline constexpr unsigned kSizeFieldShift = 2;
inline constexpr unsigned kRequestedFieldShift = 4;
inline constexpr unsigned kObjectFieldShift = 6;
inline constexpr unsigned kObjectFieldBit = 1u << kObjectFieldShift;  // difference to the last one
inline constexpr unsigned kOffsetFieldBit = 0x80;

// Not in that byte: one more number at the end of the event.
inline constexpr unsigned kStackFieldShift = 8;

inline constexpr unsigned kPageShift = 9;
inline constexpr unsigned kTwoMebiShift = 21;
inline constexpr uint64_t kPageBytes = uint64_t{1} << kPageShift;        // 512 bytes
inline constexpr uint64_t kTwoMebiBytes = uint64_t{1} << kTwoMebiShift;  // 2 MiB

inline constexpr size_t kShapes = 64;
inline constexpr size_t kRecentAddresses = 256;

// Where an address that is not in the table goes. Fibonacci hashing: 2^64 divided by the golden
// ratio; the top bits are the ones that all bits of the address reach.
inline size_t RecentPlace(uint64_t address) {
  return static_cast<size_t>((address * 0x9E3779B97F4A7C15u) >> 56);
}
static_assert(kRecentAddresses == size_t{1} << (64 - 56));

// The most bytes that one event takes, with the definition of its shape before it.
inline constexpr size_t kMaxShapeBytes = 2 + 5 + 3 * 3 + 5 + kMaxVarintBytes + 1;
inline constexpr size_t kMaxEventBytes = 1 + 8 * kMaxVarintBytes;
inline constexpr size_t kMaxEncodedBytes = kMaxShapeBytes + kMaxEventBytes;
inline constexpr size_t kMaxClockBytes = 2 + 3 * kMaxVarintBytes;
// What may be written behind an event, but does not count.
inline constexpr size_t kEncodeSlack = 8;

}  // namespace vramstow

#endif  // VRAMSTOW_TRACER_FORMAT_EVENT_CODING_H_
