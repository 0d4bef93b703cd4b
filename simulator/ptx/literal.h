// Parses numbers as PTX writes them.
#ifndef VRAMSTOW_SIMULATOR_PTX_LITERAL_H_
#define VRAMSTOW_SIMULATOR_PTX_LITERAL_H_

#include <cstdint>

#include "simulator/ptx/tokens.h"

namespace vramstow::simulator::ptx {

// A number. Integers are 64 bits wide. A float is written as 0f and the eight hexadecimal digits of
// its bits. A double is written as 0d and sixteen such digits, or as a decimal fraction.
struct Literal {
  enum Kind : uint8_t { kInteger, kSingle, kDouble };
  Kind kind = kInteger;
  uint64_t bits = 0;
};

// Parses a number. Returns false, without moving the cursor, if no number follows.
bool ParseLiteral(Tokens* tokens, Literal* literal);

// Convert a number to a float or to a double.
Literal ToSingle(const Literal& literal);
Literal ToDouble(const Literal& literal);

}  // namespace vramstow::simulator::ptx

#endif  // VRAMSTOW_SIMULATOR_PTX_LITERAL_H_
