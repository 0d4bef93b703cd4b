#include "tools/formats/text_helpers.h"

namespace vramstow {
namespace {

constexpr size_t kLongestQuote = 80;

bool IsPrintable(char c) { return c >= ' ' && c <= '~'; }

}  // namespace

std::optional<uint64_t> ParseAddress(std::string_view text) {
  if (text.starts_with("0x") || text.starts_with("0X")) text.remove_prefix(2);
  return ParseNumber<uint64_t>(text, 16);
}

std::string HexText(uint64_t number) {
  char digits[16];
  const auto [end, error] = std::to_chars(digits, digits + sizeof(digits), number, 16);
  return Concat("0x", std::string_view(digits, end));
}

std::string Quoted(std::string_view text) {
  std::string quoted = "'";
  for (const char c : text.substr(0, kLongestQuote)) quoted += IsPrintable(c) ? c : '?';
  quoted += text.size() > kLongestQuote ? "...'" : "'";
  return quoted;
}

std::string_view Stripped(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r\n";
  const size_t first = text.find_first_not_of(kSpace);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kSpace) - first + 1);
}

std::string NumberOf(uint64_t count, std::string_view noun) {
  return Concat(count, " ", noun, count == 1 ? "" : "s");
}

}  // namespace vramstow
