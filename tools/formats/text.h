// Numbers and sentences: small helpers over std::string_view, strict and without locale.
//
// Idea: Debian's Abseil has a string_view of its own, which std::string_view does not turn into;
// what the readers need of texts is little enough to stand here.
//
// Ownership: values. Threads: pure functions. Errors: an empty optional, or false.
#ifndef VRAMSTOW_TOOLS_FORMATS_TEXT_H_
#define VRAMSTOW_TOOLS_FORMATS_TEXT_H_

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

// All parts one after the other; integers in decimal.
template <typename... Parts>
std::string Concat(const Parts&... parts) {
  std::string text;
  (AppendPart(parts, &text), ...);
  return text;
}

// The whole text as a number (integers in `base`, floats in decimal), nothing before or after it.
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

// "0x7f…", or the hexadecimal digits alone.
std::optional<uint64_t> ParseAddress(std::string_view text);

// "0x7f…".
std::string HexText(uint64_t number);

// A stranger's text as part of a sentence: in quotes, at most 80 characters, printable ones only.
std::string Quoted(std::string_view text);

// The text without spaces, tabs and line ends around it.
std::string_view Stripped(std::string_view text);

// "1 block", "3 blocks".
std::string NumberOf(uint64_t count, std::string_view noun);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_FORMATS_TEXT_H_
