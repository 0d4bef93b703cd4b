#include "simulator/ptx/tokens.h"

#include <algorithm>
#include <charconv>

namespace vramstow::simulator::ptx {

bool ParseNumber(std::string_view word, uint64_t* number) {
  int base = 10;
  if (word.ends_with('U')) word.remove_suffix(1);
  if (word.starts_with("0x") || word.starts_with("0X")) {
    base = 16;
    word.remove_prefix(2);
  } else if (word.starts_with("0b") || word.starts_with("0B")) {
    base = 2;
    word.remove_prefix(2);
  } else if (word.size() > 1 && word[0] == '0') {
    base = 8;
    word.remove_prefix(1);
  }
  const char* last = word.data() + word.size();
  const auto [end, error] = std::from_chars(word.data(), last, *number, base);
  return error == std::errc() && end == last;
}

size_t Tokens::TokenLength() const {
  if (text_.empty()) return 0;
  if (text_[0] == '"') {
    const size_t end = text_.find_first_of("\"\n", 1);
    return end == std::string_view::npos ? text_.size() : end + 1;
  }
  size_t length = 0;
  while (length < text_.size()) {
    // A colon inside a word, as in "shared::cta", belongs to the word.
    if (IsWordCharacter(text_[length])) {
      ++length;
    } else if (length > 0 && text_.substr(length, 2) == "::") {
      length += 2;
    } else {
      break;
    }
  }
  return std::max<size_t>(length, 1);
}

void Tokens::Next() {
  SkipBlanks();
  const size_t length = TokenLength();
  token_ = text_.substr(0, length);
  text_.remove_prefix(length);
}

void Tokens::SplitAtDot() {
  const size_t dot = token_.find('.', 1);
  if (dot == std::string_view::npos) return;
  const size_t behind = token_.size() - dot;
  text_ =
      std::string_view(token_.data() + dot, behind + (text_.data() - token_.end()) + text_.size());
  token_ = token_.substr(0, dot);
}

void Tokens::SkipBlock() {
  for (int depth = 1; depth > 0 && !ended(); Next()) {
    if (token_ == "{") ++depth;
    if (token_ == "}") --depth;
  }
}

void Tokens::SkipStatement() {
  while (!ended() && token_ != "{" && token_ != "}") {
    if (Take(";")) return;
    Next();
  }
}

bool Tokens::TakeNumber(uint64_t* number) {
  if (!ParseNumber(token_, number)) return false;
  Next();
  return true;
}

void Tokens::SkipBlanks() {
  while (!text_.empty()) {
    if (text_[0] == ' ' || (text_[0] >= '\t' && text_[0] <= '\r')) {
      text_.remove_prefix(1);
    } else if (text_.starts_with("//")) {
      text_.remove_prefix(std::min(text_.find('\n'), text_.size()));
    } else if (text_.starts_with("/*")) {
      const size_t end = text_.find("*/", 2);
      text_.remove_prefix(end == std::string_view::npos ? text_.size() : end + 2);
    } else {
      return;
    }
  }
}

}  // namespace vramstow::simulator::ptx
