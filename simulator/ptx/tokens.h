// Tokens splits PTX text into words.
//
// Ownership: refers to the caller's text; tokens are parts of it. Threads: none. Errors: an error
// ends the text. A caller that may have to go back makes a copy of the object before.
#ifndef VRAMSTOW_SIMULATOR_PTX_TOKENS_H_
#define VRAMSTOW_SIMULATOR_PTX_TOKENS_H_

#include <cstdint>
#include <string_view>

namespace vramstow::simulator::ptx {

// A cursor over words (with the dots, colons and percent signs that belong to them), quoted texts
// and single characters; comments and blanks between them are skipped.
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
  // Splits a word at its next dot: ".reg.b32" becomes ".reg", and the next word is ".b32".
  void SplitAtDot();
  // Moves behind the closing bracket that belongs to the opening bracket that was just consumed.
  void SkipBlock();
  // Moves behind the next semicolon, or to a bracket or the end if that comes first.
  void SkipStatement();
  // Consumes an integer as PTX writes it: decimal, 0x, 0b, 0 for octal, with or without a trailing
  // U.
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

// Converts a word to a number. Returns false if it is not a number.
bool ParseNumber(std::string_view word, uint64_t* number);

}  // namespace vramstow::simulator::ptx

#endif  // VRAMSTOW_SIMULATOR_PTX_TOKENS_H_
