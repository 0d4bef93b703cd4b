// Helpers for numbers and sentences in std::string_view, strict and independent of the locale.
//
// Idea: Debian's Abseil has a string_view of its own, to which std::string_view does not convert;
// the readers need only a few functions, which are defined here.
//
// Ownership: values. Threads: pure functions. Errors: an empty optional, or false.
#ifndef VRAMSTOW_TOOLS_FORMATS_TEXT_HELPERS_H_
#define VRAMSTOW_TOOLS_FORMATS_TEXT_HELPERS_H_

#include <charconv>
#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace vramstow {

inline void AppendPart(std::string_view part, std::string* text) { text->append(part); }
inline void AppendPart(std::integral auto number, std::string* text) {
  text->append(std::to_string(number));
}

// Concatenates all parts; integers are written in decimal.
template <typename... Parts>
std::string Concat(const Parts&... parts) {
  std::string text;
  (AppendPart(parts, &text), ...);
  return text;
}

// Parses the whole text as a number (integers in `base`, floats in decimal), without any other
// characters around it.
template <std::integral T>
std::optional<T> ParseNumber(std::string_view text, int base = 10) {
  T number;
  const char* end = text.data() + text.size();
  const auto [parsed, error] = std::from_chars(text.data(), end, number, base);
  if (error != std::errc() || parsed != end) return std::nullopt;
  return number;
}
template <std::floating_point T>
std::optional<T> ParseNumber(std::string_view text) {
  T number;
  const char* end = text.data() + text.size();
  const auto [parsed, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc() || parsed != end) return std::nullopt;
  return number;
}

// Parses "0x7f…", or the hexadecimal digits alone.
std::optional<uint64_t> ParseAddress(std::string_view text);

// "0x7f…".
std::string HexText(uint64_t number);

// Returns an untrusted text for use in a sentence. The result is in quotes, and has at most 80
// characters, all of them printable.
std::string Quoted(std::string_view text);

// Returns the text without spaces, tabs and line ends around it.
std::string_view Stripped(std::string_view text);

// Returns "1 block" or "3 blocks".
std::string NumberOf(uint64_t count, std::string_view noun);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_FORMATS_TEXT_HELPERS_H_
