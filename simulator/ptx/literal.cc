#include "simulator/ptx/literal.h"

#include <bit>
#include <charconv>

namespace vramstow::simulator::ptx {
namespace {

bool ParseBits(std::string_view digits, size_t count, uint64_t* bits) {
  if (digits.size() != count) return false;
  const char* last = digits.data() + digits.size();
  const auto [end, error] = std::from_chars(digits.data(), last, *bits, 16);
  return error == std::errc() && end == last;
}

bool ParseWord(std::string_view word, Literal* literal) {
  if (word.empty() || word[0] < '0' || word[0] > '9') return false;
  if (word.starts_with("0f") || word.starts_with("0F")) {
    literal->kind = Literal::kSingle;
    return ParseBits(word.substr(2), 8, &literal->bits);
  }
  if (word.starts_with("0d") || word.starts_with("0D")) {
    literal->kind = Literal::kDouble;
    return ParseBits(word.substr(2), 16, &literal->bits);
  }
  literal->kind = Literal::kInteger;
  if (ParseNumber(word, &literal->bits)) return true;
  double value = 0;
  const char* last = word.data() + word.size();
  const auto [end, error] = std::from_chars(word.data(), last, value);
  if (error != std::errc() || end != last) return false;
  literal->kind = Literal::kDouble;
  literal->bits = std::bit_cast<uint64_t>(value);
  return true;
}

}  // namespace

bool ParseLiteral(Tokens* tokens, Literal* literal) {
  Tokens at = *tokens;
  const bool negative = at.Take("-");
  if (!ParseWord(at.token(), literal)) return false;
  at.Next();
  if (negative) {
    switch (literal->kind) {
      case Literal::kInteger:
        literal->bits = 0 - literal->bits;
        break;
      case Literal::kSingle:
        literal->bits ^= 1ull << 31;
        break;
      case Literal::kDouble:
        literal->bits ^= 1ull << 63;
        break;
    }
  }
  *tokens = at;
  return true;
}

Literal ToSingle(const Literal& literal) {
  if (literal.kind != Literal::kDouble) return literal;
  const auto value = static_cast<float>(std::bit_cast<double>(literal.bits));
  return {Literal::kSingle, std::bit_cast<uint32_t>(value)};
}

Literal ToDouble(const Literal& literal) {
  if (literal.kind != Literal::kSingle) return literal;
  const double value = std::bit_cast<float>(static_cast<uint32_t>(literal.bits));
  return {Literal::kDouble, std::bit_cast<uint64_t>(value)};
}

}  // namespace vramstow::simulator::ptx
