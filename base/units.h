// Parses and formats sizes and times as people write them.
//
// Ownership: results go into the caller's memory. Threads: pure functions, safe in a signal handler
// and inside hooked calls (no heap, no locale). Errors: returns false and leaves the output
// unchanged. Units: bytes with binary steps (KiB = 1024 bytes); nanoseconds.
#ifndef VRAMSTOW_BASE_UNITS_H_
#define VRAMSTOW_BASE_UNITS_H_

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace vramstow {

inline constexpr uint64_t kKiB = 1024;
inline constexpr uint64_t kMiB = 1024 * kKiB;
inline constexpr uint64_t kGiB = 1024 * kMiB;
inline constexpr uint64_t kTiB = 1024 * kGiB;

// Parses "512", "64KiB", "2 MiB", "1.5g", "24GB": a number and an optional unit B, K, M, G, T with
// an optional "iB" or "B", in any case. KB to TB are powers of 1000; K to T, and KiB to TiB, are
// powers of 1024. Returns false if the text has another form, is negative, or exceeds 2^63 - 1
// bytes.
bool ParseBytes(std::string_view text, uint64_t* bytes);

// Parses a number and a unit: "250ns", "10us", "1.5ms", "2s". A number without a unit is refused,
// except 0.
bool ParseDuration(std::string_view text, uint64_t* nanoseconds);

// A short text like "1.46 GiB" or "512 B", with three significant digits, as a C string.
struct ByteText {
  char text[24];
};
ByteText FormatBytes(uint64_t bytes);

}  // namespace vramstow

#endif  // VRAMSTOW_BASE_UNITS_H_
