// Parses types and variables as PTX declares them.
//
// Ownership: names are parts of the text. Threads: none. Errors: returns false; the position of the
// cursor is then unspecified. Units: bytes.
#ifndef VRAMSTOW_SIMULATOR_PTX_DECLARATION_H_
#define VRAMSTOW_SIMULATOR_PTX_DECLARATION_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "simulator/ptx/tokens.h"

namespace vramstow::simulator::ptx {

// A type: 'u', 's', 'f' or 'b' with its number of bits. 'p' stands for a predicate, and 0 for no
// type.
struct Type {
  char kind = 0;
  uint8_t bits = 0;

  bool operator==(const Type&) const = default;
  explicit operator bool() const { return kind != 0; }
  bool IsInteger() const { return kind == 'u' || kind == 's'; }
  uint64_t bytes() const { return kind == 'p' ? 1 : bits / 8; }
};

// Parses a type such as "u32", without the dot.
Type ParseType(std::string_view word);

struct Variable {
  std::string_view name;
  uint64_t bytes = 0;
  uint64_t element_bytes = 0;
  uint64_t alignment = 1;
  bool unbounded = false;  // name[]
};

// Parses ".align 8 .b8 name[16][4]" or ".u64 name", up to the end of the name and its sizes.
bool ParseVariable(Tokens* tokens, Variable* variable);

// The position in a variable's initial values where the address of another variable stands.
struct AddressValue {
  uint64_t offset = 0;
  std::string name;
  uint64_t addend = 0;
};

struct InitialValue {
  std::vector<char> bytes;  // as many as the text has; the rest is zeros
  std::vector<AddressValue> addresses;
};

// Parses the text after "=": a value or lists of values. Returns false if the form is not
// understood.
bool ParseInitialValue(Tokens* tokens, const Variable& variable, InitialValue* value);

}  // namespace vramstow::simulator::ptx

#endif  // VRAMSTOW_SIMULATOR_PTX_DECLARATION_H_
