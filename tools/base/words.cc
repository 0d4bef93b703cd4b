#include "tools/base/words.h"

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/units.h"
#include "tools/base/utf8.h"

namespace vramstow {
namespace {

constexpr uint64_t kMicrosecond = 1000;
constexpr uint64_t kMillisecond = 1000 * kMicrosecond;
constexpr uint64_t kSecond = 1000 * kMillisecond;
constexpr uint64_t kMinute = 60 * kSecond;
constexpr uint64_t kHour = 60 * kMinute;

bool IsContinuation(char c) { return (static_cast<unsigned char>(c) & 0xc0) == 0x80; }

// Returns the offset of the character after the first `skipped` characters.
size_t OffsetOf(std::string_view text, size_t skipped) {
  size_t offset = 0;
  while (offset < text.size()) {
    if (!IsContinuation(text[offset]) && skipped-- == 0) break;
    ++offset;
  }
  return offset;
}

// Returns the word in the quotes in which shells read escapes: $'...'. All bytes that a terminal
// would not show as they are become escapes, so that a copy of the text is the word again.
std::string EscapedWord(std::string_view word) {
  std::string quoted = "$'";
  for (const char c : word) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '\n') {
      quoted += "\\n";
    } else if (c == '\t') {
      quoted += "\\t";
    } else if (byte < 0x20 || byte >= 0x7f) {
      absl::StrAppendFormat(&quoted, "\\x%02x", byte);
    } else {
      if (c == '\'' || c == '\\') quoted += '\\';
      quoted += c;
    }
  }
  return quoted + "'";
}

}  // namespace

std::string Bytes(uint64_t bytes) { return FormatBytes(bytes).text; }

std::string Count(uint64_t count) {
  const std::string digits = std::to_string(count);
  std::string text;
  for (size_t i = 0; i < digits.size(); ++i) {
    if (i > 0 && (digits.size() - i) % 3 == 0) text += ',';
    text += digits[i];
  }
  return text;
}

std::string Counted(uint64_t count, std::string_view noun) {
  const char* const ending = count == 1 ? "" : noun.ends_with('s') ? "es" : "s";
  return absl::StrFormat("%s %s%s", Count(count), noun, ending);
}

std::string Time(uint64_t nanoseconds) {
  if (nanoseconds < kMicrosecond) return absl::StrCat(nanoseconds, " ns");
  struct Unit {
    uint64_t size;
    uint64_t until;
    const char* name;
  };
  constexpr Unit kUnits[] = {{kMicrosecond, kMillisecond, "us"},
                             {kMillisecond, kSecond, "ms"},
                             {kSecond, 2 * kMinute, "s"}};
  for (const Unit& unit : kUnits) {
    if (nanoseconds >= unit.until) continue;
    const double value = static_cast<double>(nanoseconds) / static_cast<double>(unit.size);
    return absl::StrFormat("%.*f %s", value < 9.995 ? 2 : value < 99.95 ? 1 : 0, value, unit.name);
  }
  if (nanoseconds < kHour) {
    return absl::StrFormat("%d min %02d s", nanoseconds / kMinute, nanoseconds % kMinute / kSecond);
  }
  return absl::StrFormat("%d h %02d min", nanoseconds / kHour, nanoseconds % kHour / kMinute);
}

std::string Share(uint64_t part, uint64_t whole) {
  if (whole == 0 || part == 0) return "0%";
  const double percent = 100.0 * static_cast<double>(part) / static_cast<double>(whole);
  if (percent < 1) return "<1%";
  // Rounding must not show a part as 100%.
  return absl::StrFormat("%.0f%%", part < whole && percent > 99 ? 99.0 : percent);
}

std::string Ratio(uint64_t part, uint64_t whole) {
  if (whole == 0) return "1.00";
  return absl::StrFormat("%.2f", static_cast<double>(part) / static_cast<double>(whole));
}

std::string WriteErrorInWords(uint32_t error) {
  switch (error) {
    case ENOSPC:
      return "the disk was full";
    case EDQUOT:
      return "the disk quota was used up";
    case EFBIG:
      return "the limit on file sizes was reached";
    default:
      return absl::StrCat("a write failed (", strerror(static_cast<int>(error)), ")");
  }
}

std::string Printable(std::string_view text) {
  std::string printable;
  printable.reserve(text.size());
  while (!text.empty()) {
    const size_t length = CharacterLength(text);
    const auto first = static_cast<unsigned char>(text.front());
    // U+0080 to U+009F are control characters, too.
    const bool control = first < 0x20 || first == 0x7f ||
                         (first == 0xc2 && length == 2 && static_cast<uint8_t>(text[1]) < 0xa0);
    if (length == 0 || control) {
      printable += '?';
    } else {
      printable += text.substr(0, length);
    }
    text.remove_prefix(length == 0 ? 1 : length);
  }
  return printable;
}

size_t Columns(std::string_view text) {
  size_t columns = 0;
  for (char c : text) columns += IsContinuation(c) ? 0 : 1;
  return columns;
}

std::string ShellWord(const std::string& word) {
  const bool is_plain = std::ranges::all_of(word, [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 ||
           std::string_view("/._-+=:,@%").find(c) != std::string_view::npos;
  });
  if (is_plain && !word.empty()) return word;
  if (Printable(word) != word) return EscapedWord(word);
  std::string quoted = "'";
  for (char c : word) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

std::string Wrapped(std::string_view text, size_t width) {
  std::string wrapped;
  size_t line = 0;
  while (!text.empty()) {
    const size_t end = std::min(text.find(' '), text.size());
    const size_t columns = Columns(text.substr(0, end));
    if (line > 0) {
      const bool breaks = line + 1 + columns > width;
      wrapped += breaks ? '\n' : ' ';
      line = breaks ? 0 : line + 1;
    }
    wrapped += text.substr(0, end);
    line += columns;
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return wrapped;
}

std::string WrappedLines(std::string_view text, size_t width) {
  std::string wrapped;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    wrapped += Wrapped(text.substr(0, end), width);
    if (end < text.size()) wrapped += '\n';
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return wrapped;
}

std::string Shortened(std::string_view text, size_t width, bool utf8) {
  const size_t columns = Columns(text);
  if (columns <= width) return std::string(text);
  const std::string_view dots = utf8 ? "…" : "..";
  if (width <= Columns(dots)) return std::string(text.substr(0, OffsetOf(text, width)));
  const size_t kept = width - Columns(dots);
  const size_t tail = kept / 2;
  return absl::StrFormat("%s%s%s", text.substr(0, OffsetOf(text, kept - tail)), dots,
                         text.substr(OffsetOf(text, columns - tail)));
}

}  // namespace vramstow
