// PTX text, word by word.
//
// Ownership: looks into the caller's text; tokens are parts of it. Threads: none. Errors: the text
// ends. Copying a cursor keeps a place to come back to.
#ifndef VRAMSTOW_SIMULATOR_PTX_TOKENS_H_
#define VRAMSTOW_SIMULATOR_PTX_TOKENS_H_

#include <cstdint>
#include <string_view>

namespace vramstow::simulator::ptx {

// Words (with the dots, colons and percent signs that belong to them), quoted texts and single
// characters; comments and blanks between them are skipped.
class Tokens {
 public:
  explicit Tokens(std::string_view text) : text_(text) { Next(); }

  std::string_view token() const { return token_; }
  bool ended() const { return token_.empty(); }
  bool IsWord() const { return !ended() && IsWordCharacter(token_[0]); }

  void Next();
  bool Take(std::string_view wanted) {
    if (token_ != wanted) return false;
    Next();
    return true;
  }
  // ".reg.b32" becomes ".reg", and ".b32" the word behind it.
  void SplitAtDot();
  // Behind the bracket that closes the one that was just taken.
  void SkipBlock();
  // Behind the next semicolon, or at the bracket or end before one.
  void SkipStatement();
  // A whole number as PTX writes it: decimal, 0x, 0b, 0 for octal, with or without a U behind it.
  bool TakeNumber(uint64_t* number);

 private:
  static bool IsWordCharacter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '$' || c == '.' || c == '%';
  }
  size_t TokenLength() const;
  void SkipBlanks();

  std::string_view text_;
  std::string_view token_;
};

// The number that a word says; false: it says none.
bool ParseNumber(std::string_view word, uint64_t* number);

}  // namespace vramstow::simulator::ptx

#endif  // VRAMSTOW_SIMULATOR_PTX_TOKENS_H_
