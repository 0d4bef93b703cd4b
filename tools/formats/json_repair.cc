#include "tools/formats/json_repair.h"

#include <algorithm>
#include <string_view>

#include "absl/strings/ascii.h"
#include "tools/base/utf8.h"

namespace vramstow {
namespace {

constexpr size_t kWindow = size_t{1} << 16;
// A decision about one byte depends on at most this many bytes after it.
constexpr size_t kLookahead = 256;
constexpr size_t kUnicodeEscape = 6;  // "\u12ab"
constexpr std::string_view kReplacementCharacter = "\xef\xbf\xbd";

bool IsLetter(char c) { return absl::ascii_isalpha(static_cast<unsigned char>(c)); }

size_t Blanks(std::string_view text) {
  return std::min(text.find_first_not_of(" \t\r\n"), text.size());
}

// Returns the length of a number that is not finite, as C, C++ and Python write it, or 0 if there
// is none.
size_t NotFinite(std::string_view text) {
  const size_t sign = text.starts_with('-') || text.starts_with('+') ? 1 : 0;
  size_t end = sign;
  std::string word;
  while (end < text.size() && IsLetter(text[end])) {
    word += absl::ascii_tolower(static_cast<unsigned char>(text[end++]));
  }
  if (word != "nan" && word != "inf" && word != "infinity") return 0;
  for (const std::string_view kind : {"(ind)", "(snan)"}) {
    if (text.substr(end).starts_with(kind)) end += kind.size();
  }
  return end;
}

// Returns the sixteen bits of the escape "\u12ab" at the front of the text, or -1 if there is no
// such escape.
int UnicodeEscape(std::string_view text) {
  if (text.size() < kUnicodeEscape || !text.starts_with("\\u")) return -1;
  int code = 0;
  for (const char digit : text.substr(2, 4)) {
    if (!absl::ascii_isxdigit(static_cast<unsigned char>(digit))) return -1;
    const int value = absl::ascii_isdigit(static_cast<unsigned char>(digit))
                          ? digit - '0'
                          : absl::ascii_tolower(static_cast<unsigned char>(digit)) - 'a' + 10;
    code = code << 4 | value;
  }
  return code;
}

// True if this backslash and the quote after it end the open text, as in a path of a Windows folder
// ("C:\"). That is so if a comma and the next key of the object follow. Inside a text, the quotes
// around such a key would have backslashes before them.
bool EndsText(std::string_view backslash) {
  std::string_view text = backslash.substr(2);
  text.remove_prefix(Blanks(text));
  if (!text.starts_with(',')) return false;
  text.remove_prefix(1);
  text.remove_prefix(Blanks(text));
  if (!text.starts_with('"')) return false;
  const size_t end = text.find_first_of("\"\\", 1);
  if (end == text.npos || text[end] == '\\') return false;
  text.remove_prefix(end + 1);
  return text.substr(Blanks(text)).starts_with(':');
}

}  // namespace

uint64_t JsonRepair::SourcePosition(uint64_t position) const {
  const auto behind = std::ranges::upper_bound(changes_, position, {}, &Change::read_position);
  if (behind == changes_.begin()) return position;
  const Change& last = *std::prev(behind);
  return last.source_position + (position - last.read_position);
}

JsonRepair::int_type JsonRepair::underflow() {
  repaired_before_ += repaired_.size();
  repaired_.clear();
  changes_.assign(1, {repaired_before_, source_before_ + next_});
  while (repaired_.empty()) {
    Refill();
    if (next_ == window_.size()) return traits_type::eof();
    const size_t lookahead = at_end_ ? 0 : kLookahead;
    while (next_ + lookahead < window_.size()) in_text_ ? InsideText() : OutsideText();
  }
  setg(repaired_.data(), repaired_.data(), repaired_.data() + repaired_.size());
  return traits_type::to_int_type(repaired_.front());
}

void JsonRepair::Refill() {
  source_before_ += next_;
  window_.erase(0, next_);
  next_ = 0;
  while (!at_end_ && window_.size() <= kLookahead) {
    const size_t before = window_.size();
    window_.resize(kWindow);
    const auto count = source_.sgetn(window_.data() + before,
                                     static_cast<std::streamsize>(window_.size() - before));
    window_.resize(before + static_cast<size_t>(std::max<std::streamsize>(count, 0)));
    at_end_ = count <= 0;
  }
}

void JsonRepair::Copy(size_t count) {
  count = std::min(count, window_.size() - next_);
  repaired_.append(window_, next_, count);
  next_ += count;
}

void JsonRepair::Replace(size_t count, std::string_view replacement) {
  next_ += count;
  repaired_ += replacement;
  changes_.push_back({repaired_before_ + repaired_.size(), source_before_ + next_});
}

void JsonRepair::OutsideText() {
  const std::string_view text = rest();
  const char first = text.front();
  if (first == '"') {
    in_text_ = true;
    return Copy(1);
  }
  if (IsLetter(first) || first == '-' || first == '+') {
    if (const size_t length = NotFinite(text)) return Replace(length, "null");
    const size_t end = text.find_first_of(",:[]{}\" \t\r\n", 1);
    return Copy(std::min(std::min(end, text.size()), kLookahead));
  }
  // A number is copied as a whole, so that the letter of an exponent is not mistaken for a word.
  const size_t end = text.find_first_not_of("0123456789.eE", 1);
  Copy(absl::ascii_isdigit(static_cast<unsigned char>(first)) ? std::min(end, text.size()) : 1);
}

void JsonRepair::InsideText() {
  const std::string_view text = rest();
  const auto plain = std::ranges::find_if(text, [](char c) {
    return c == '"' || c == '\\' || static_cast<unsigned char>(c) < ' ' ||
           static_cast<unsigned char>(c) >= 0x80;
  });
  // Copies only the plain characters at the front of the window. How the next character is treated
  // may depend on bytes after it, which are perhaps not in the window yet.
  if (plain != text.begin()) return Copy(static_cast<size_t>(plain - text.begin()));
  const char first = text.front();
  if (first == '\\') return Escape();
  if (first == '"') {
    in_text_ = false;
    return Copy(1);
  }
  if (static_cast<unsigned char>(first) < ' ') return Replace(1, " ");
  if (const size_t length = CharacterLength(text)) return Copy(length);
  Replace(1, kReplacementCharacter);
}

void JsonRepair::Escape() {
  const std::string_view text = rest();
  if (text.size() == 1) return Copy(1);  // the end of the file
  const char second = text[1];
  if (second == '"' && EndsText(text)) return Replace(1, "\\\\");
  if (std::string_view("\"\\/bfnrt").find(second) != std::string_view::npos) return Copy(2);
  const int code = UnicodeEscape(text);
  if (code < 0) return Replace(1, "\\\\");
  if (code < 0xD800 || code > 0xDFFF) return Copy(kUnicodeEscape);
  const int low = UnicodeEscape(text.substr(kUnicodeEscape));
  if (code < 0xDC00 && low >= 0xDC00 && low <= 0xDFFF) return Copy(2 * kUnicodeEscape);
  Replace(kUnicodeEscape, kReplacementCharacter);
}

}  // namespace vramstow
