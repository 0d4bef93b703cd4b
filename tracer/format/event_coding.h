// What the encoder and the decoder of events have in common.
//
// Idea: an event is some bytes that refer to what was written before. Who called what for which
// kind of memory on which device and stream is a *shape*; a size with what was asked for, and an
// object that is a small number, is an *amount*; both have numbers, which a record gives them at
// their first use. An address seen lately (each free names one) is the number of a place in a table
// that writer and reader fill alike; any other one is four bytes, with the rest of it in the shape.
// The time is the step since the event before. What is left, which most events have not, follows as
// numbers. So nothing in an ordinary event has a length that depends on its contents, and
// everything else goes into a record before it or behind it: the recorder writes most events as one
// word, without a loop and nearly without branches, because which event comes next is nothing that
// a processor can guess. All tables start afresh in each chunk.
//
// Ownership: none. Threads: values. Errors: none. Units: bytes. Described in docs/trace-format.md.
#ifndef VRAMSTOW_TRACER_FORMAT_EVENT_CODING_H_
#define VRAMSTOW_TRACER_FORMAT_EVENT_CODING_H_

#include <bit>
#include <cstddef>
#include <cstdint>

#include "tracer/format/varint.h"

namespace vramstow {

inline constexpr size_t kShapes = 64;
inline constexpr size_t kAmounts = 256;
inline constexpr size_t kRecentAddresses = 256;

// Where an address goes in the table of recent ones. Fibonacci hashing: 2^64 divided by the golden
// ratio; the top bits are the ones that all bits of the address reach.
inline constexpr uint64_t kHashFactor = 0x9E3779B97F4A7C15u;
inline size_t RecentPlace(uint64_t address) {
  return static_cast<size_t>((address * kHashFactor) >> 56);
}
static_assert(kRecentAddresses == size_t{1} << (64 - 56));

// An address is a *region* of 2 TiB, which the shape gives, and a page of 512 bytes in it, which
// the event gives. Others, and those with something in their top bits, are written as a record. An
// address that is turned right by 9 bits has the page in its low 32 bits, then the region, then
// what is 0 in one that is a page.
inline constexpr unsigned kPageShift = 9;
inline constexpr unsigned kRegionShift = 41;
inline constexpr unsigned kRegionBits = 16;
inline constexpr uint64_t kPageBytes = uint64_t{1} << kPageShift;  // 512 bytes
static_assert(kRegionShift - kPageShift == 32 && kRegionBits == 16);
inline uint32_t PageOf(uint64_t address) {
  return static_cast<uint32_t>(std::rotr(address, kPageShift));
}
inline uint16_t RegionOf(uint64_t address) {
  return static_cast<uint16_t>(std::rotr(address, kPageShift) >> 32);
}
inline uint64_t NotAPage(uint64_t address) { return std::rotr(address, kPageShift) >> 48; }

// What the object of an amount stays below.
inline constexpr unsigned kSmallObjectBits = 8;
// What a shape says of the numbers that its events end with, in this order.
inline constexpr uint8_t kObjectFollows = 1;  // as a signed difference to the last such object
inline constexpr uint8_t kOffsetFollows = 2;
inline constexpr uint8_t kStackFollows = 4;
inline constexpr uint8_t kFollowsMask = 7;
// Beside these: each event of the shape is two, a kFree and one tick later the kFreeCompleted of
// the same memory.
inline constexpr uint8_t kCompletes = 8;

// How an amount says what was asked for.
enum class RequestedForm : uint8_t {
  kZero = 0,
  kAsSize = 1,
  kDifference = 2,  // a signed difference follows: size minus requested
};
inline constexpr unsigned kRequestedFormBits = 2;

inline constexpr uint64_t kMaxElapsed = 0xFFFF;  // since the last event, in two bytes

// The most bytes of each record, with its type and length, and of an event.
inline constexpr size_t kMaxShapeBytes = 2 + 5 + 4 * 3 + 5 + kMaxVarintBytes;
inline constexpr size_t kMaxAmountBytes = 2 + 1 + 3 * kMaxVarintBytes;
inline constexpr size_t kMaxNumberBytes = 2 + kMaxVarintBytes;  // an address, a pause, a sequence
inline constexpr size_t kMaxEventBytes = 1 + 1 + 4 + 2 + 3 * kMaxVarintBytes;
// The most bytes that one event takes, with the records before it.
inline constexpr size_t kMaxEncodedBytes =
    kMaxShapeBytes + kMaxAmountBytes + 3 * kMaxNumberBytes + kMaxEventBytes;
inline constexpr size_t kMaxClockBytes = 2 + 3 * kMaxVarintBytes;
// What may be written behind an event, but does not count.
inline constexpr size_t kEncodeSlack = 8;

}  // namespace vramstow

#endif  // VRAMSTOW_TRACER_FORMAT_EVENT_CODING_H_
