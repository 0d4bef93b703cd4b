#include "base/units.h"

#include <cstdio>
#include <limits>

namespace vramstow {
namespace {

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

char Lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

bool EqualsIgnoringCase(std::string_view text, std::string_view lower) {
  if (text.size() != lower.size()) return false;
  for (size_t i = 0; i < text.size(); ++i) {
    if (Lower(text[i]) != lower[i]) return false;
  }
  return true;
}

// Removes a decimal number with an optional fraction from the front of *text. It returns the whole
// part and the fraction in billionths. Both are exact, so that "1.5GiB" has no rounding error.
bool ParseLeadingNumber(std::string_view* text, uint64_t* whole, uint64_t* billionths) {
  size_t i = 0;
  uint64_t value = 0;
  while (i < text->size() && IsDigit((*text)[i])) {
    const uint64_t digit = static_cast<uint64_t>((*text)[i] - '0');
    if (value > (std::numeric_limits<uint64_t>::max() - digit) / 10) return false;
    value = value * 10 + digit;
    ++i;
  }
  if (i == 0) return false;
  uint64_t fraction = 0;
  if (i < text->size() && (*text)[i] == '.') {
    ++i;
    const size_t first = i;
    uint64_t scale = 100000000;
    while (i < text->size() && IsDigit((*text)[i])) {
      fraction += static_cast<uint64_t>((*text)[i] - '0') * scale;
      scale /= 10;
      ++i;
    }
    if (i == first) return false;
  }
  *whole = value;
  *billionths = fraction;
  text->remove_prefix(i);
  while (!text->empty() && text->front() == ' ') text->remove_prefix(1);
  return true;
}

// Multiplies a number (a whole part and billionths) by a unit. Returns false if the result does not
// fit into 63 bits.
bool Scale(uint64_t whole, uint64_t billionths, uint64_t unit, uint64_t* result) {
  const uint64_t limit = static_cast<uint64_t>(std::numeric_limits<int64_t>::max());
  if (whole > limit / unit) return false;
  __extension__ using Wide = unsigned __int128;
  const uint64_t part = static_cast<uint64_t>(Wide{billionths} * unit / 1000000000u);
  const uint64_t value = whole * unit;
  if (value > limit - part) return false;
  *result = value + part;
  return true;
}

}  // namespace

bool ParseBytes(std::string_view text, uint64_t* bytes) {
  uint64_t whole = 0;
  uint64_t billionths = 0;
  if (!ParseLeadingNumber(&text, &whole, &billionths)) return false;
  struct Unit {
    const char* letter;
    const char* with_b;
    const char* with_ib;
    uint64_t decimal;  // units without an i, by IEC 80000-13
    uint64_t binary;
  };
  constexpr Unit kUnits[] = {{"", "b", "b", 1, 1},
                             {"k", "kb", "kib", 1'000, kKiB},
                             {"m", "mb", "mib", 1'000'000, kMiB},
                             {"g", "gb", "gib", 1'000'000'000, kGiB},
                             {"t", "tb", "tib", 1'000'000'000'000, kTiB}};
  for (const Unit& unit : kUnits) {
    if (EqualsIgnoringCase(text, unit.with_b)) return Scale(whole, billionths, unit.decimal, bytes);
    // A single letter means the binary unit, as in most tools.
    if (EqualsIgnoringCase(text, unit.letter) || EqualsIgnoringCase(text, unit.with_ib)) {
      return Scale(whole, billionths, unit.binary, bytes);
    }
  }
  return false;
}

bool ParseDuration(std::string_view text, uint64_t* nanoseconds) {
  uint64_t whole = 0;
  uint64_t billionths = 0;
  if (!ParseLeadingNumber(&text, &whole, &billionths)) return false;
  if (text.empty() && whole == 0 && billionths == 0) {
    *nanoseconds = 0;
    return true;
  }
  struct Unit {
    const char* name;
    uint64_t nanoseconds;
  };
  constexpr Unit kUnits[] = {{"ns", 1}, {"us", 1000}, {"ms", 1000000}, {"s", 1000000000}};
  for (const Unit& unit : kUnits) {
    if (EqualsIgnoringCase(text, unit.name)) {
      return Scale(whole, billionths, unit.nanoseconds, nanoseconds);
    }
  }
  return false;
}

ByteText FormatBytes(uint64_t bytes) {
  ByteText result;
  if (bytes < kKiB) {
    std::snprintf(result.text, sizeof result.text, "%u B", static_cast<unsigned>(bytes));
    return result;
  }
  constexpr const char* kNames[] = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  double value = static_cast<double>(bytes) / 1024.0;
  size_t unit = 0;
  // From 999.5 on a value would be rounded to four digits, so the next unit begins at 999.5 and not
  // at 1024.
  while (value >= 999.5 && unit + 1 < sizeof kNames / sizeof kNames[0]) {
    value /= 1024.0;
    ++unit;
  }
  // "%.2f" is not used, because the host process's locale may write a comma.
  const unsigned decimals = value < 9.995 ? 2 : value < 99.95 ? 1 : 0;
  const unsigned scale = decimals == 2 ? 100 : decimals == 1 ? 10 : 1;
  // The value is never negative; lround would bring libm into the host.
  // NOLINTNEXTLINE(bugprone-incorrect-roundings)
  const unsigned scaled = static_cast<unsigned>(value * scale + 0.5);
  if (decimals == 0) {
    std::snprintf(result.text, sizeof result.text, "%u %s", scaled, kNames[unit]);
  } else {
    std::snprintf(result.text, sizeof result.text, "%u.%0*u %s", scaled / scale,
                  static_cast<int>(decimals), scaled % scale, kNames[unit]);
  }
  return result;
}

}  // namespace vramstow
