// Numbers as PTX writes them.
#ifndef VRAMSTOW_SIMULATOR_PTX_LITERAL_H_
#define VRAMSTOW_SIMULATOR_PTX_LITERAL_H_

#include <cstdint>

#include "simulator/ptx/tokens.h"

namespace vramstow::simulator::ptx {

// Integers are 64 bits wide. A float is 0f and eight digits of its bits, a double 0d and sixteen,
// or a decimal fraction.
struct Literal {
  enum Kind : uint8_t { kInteger, kSingle, kDouble };
  Kind kind = kInteger;
  uint64_t bits = 0;
};

// False: no number stands here, and the cursor has not moved.
bool ParseLiteral(Tokens* tokens, Literal* literal);

// The same number as a float, as a double.
Literal ToSingle(const Literal& literal);
Literal ToDouble(const Literal& literal);

}  // namespace vramstow::simulator::ptx

#endif  // VRAMSTOW_SIMULATOR_PTX_LITERAL_H_
