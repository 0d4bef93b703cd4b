// Defines what the encoder and the decoder of events have in common.
//
// Idea: an event is encoded as a few bytes that refer to earlier records. The caller, the entry
// point, the kind of memory, the device and the stream form a *shape*; a size, the requested size
// and an object that is a small number form an *amount*. Both have numbers, which a record assigns
// at their first use. A recent address (each free names one) is an index into a table that writer
// and reader fill in the same way; any other address is four bytes, and the shape contains its
// other bits. The time is the difference to the previous event's. Other fields, which most events
// do not have, follow as numbers. So no part of an ordinary event has a length that depends on its
// contents. Everything else is written into a record before or after the event. The recorder writes
// most events as one word, without a loop and nearly without branches, because a processor cannot
// predict which event comes next. All tables are empty at the beginning of each chunk.
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

// Returns the index of an address in the table of recent addresses. This is Fibonacci hashing: the
// factor is 2^64 divided by the golden ratio, and the top bits of the product depend on all bits of
// the address.
inline constexpr uint64_t kHashFactor = 0x9E3779B97F4A7C15u;
inline size_t RecentPlace(uint64_t address) {
  return static_cast<size_t>((address * kHashFactor) >> 56);
}
static_assert(kRecentAddresses == size_t{1} << (64 - 56));

// An address consists of a *region* of 2 TiB and a page of 512 bytes in it. The shape contains the
// region, the event the page. An address that is no multiple of 512, or has bits set at the top, is
// written as a record. An address that is rotated right by 9 bits has the page in its low 32 bits,
// then the region, then bits that are 0 if the address has this form.
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

// The object of an amount has fewer bits than this.
inline constexpr unsigned kSmallObjectBits = 8;
// Bits of a shape that say which numbers follow its events, in this order.
inline constexpr uint8_t kObjectFollows = 1;  // as a signed difference to the last such object
inline constexpr uint8_t kOffsetFollows = 2;
inline constexpr uint8_t kStackFollows = 4;
inline constexpr uint8_t kFollowsMask = 7;
// A further bit of a shape. If it is set, each event of the shape stands for two events: a kFree
// and, one tick later, the kFreeCompleted of the same memory.
inline constexpr uint8_t kCompletes = 8;

// The form in which an amount contains the requested size.
enum class RequestedForm : uint8_t {
  kZero = 0,
  kAsSize = 1,
  kDifference = 2,  // a signed difference follows: size minus requested
};
inline constexpr unsigned kRequestedFormBits = 2;

inline constexpr uint64_t kMaxElapsed = 0xFFFF;  // longest time since the last event

// The largest number of bytes of each kind of record, with the record's type and length, and the
// largest number of bytes of an event.
inline constexpr size_t kMaxShapeBytes = 2 + 5 + 4 * 3 + 5 + kMaxVarintBytes;
inline constexpr size_t kMaxAmountBytes = 2 + 1 + 3 * kMaxVarintBytes;
inline constexpr size_t kMaxNumberBytes = 2 + kMaxVarintBytes;  // an address, a pause, a sequence
inline constexpr size_t kMaxEventBytes = 1 + 1 + 4 + 2 + 3 * kMaxVarintBytes;
// The largest number of bytes that one event needs, together with the records before it.
inline constexpr size_t kMaxEncodedBytes =
    kMaxShapeBytes + kMaxAmountBytes + 3 * kMaxNumberBytes + kMaxEventBytes;
inline constexpr size_t kMaxClockBytes = 2 + 3 * kMaxVarintBytes;
// The encoder may write this many bytes behind an event; they are not part of it.
inline constexpr size_t kEncodeSlack = 8;

}  // namespace vramstow

#endif  // VRAMSTOW_TRACER_FORMAT_EVENT_CODING_H_
