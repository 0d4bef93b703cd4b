// Selects the function that executes an instruction, by its opcode, modifiers and types.
//
// Idea: one selector per opcode consumes the modifiers that it knows, one after the other, and
// converts the operands. An instruction with a modifier that no selector consumes is refused, and
// its kernel with it, so that no instruction is executed only partly. Source: the PTX ISA.
//
// Ownership: a Selection refers to the caller's text. Threads: none. Errors: returns false.
#ifndef VRAMSTOW_SIMULATOR_KERNELS_PTX_SELECT_H_
#define VRAMSTOW_SIMULATOR_KERNELS_PTX_SELECT_H_

#include <string_view>
#include <vector>

#include "simulator/kernels/ptx/code.h"
#include "simulator/ptx/literal.h"

namespace vramstow::simulator::ptx {

// An operand of an instruction's text, with resolved names.
struct Written {
  Operand operand;
  Literal::Kind literal = Literal::kInteger;  // kind of an immediate value
  bool address = false;                       // [operand + offset]
  uint64_t offset = 0;
  bool label = false;      // a name that is not a variable or register
  std::string_view name;   // of a label
  bool is_vector = false;  // {a, b}; for a call also (a, b)
  uint32_t bytes = 0;      // of a part of the frame
  std::vector<Written> elements;
  bool paired = false;  // p|q, with the second one in `elements`
};

class Selection {
 public:
  explicit Selection(std::string_view opcode);

  std::string_view name() const { return parts_.empty() ? std::string_view() : parts_[0]; }
  bool Take(std::string_view modifier);
  bool ParseAny(std::initializer_list<std::string_view> modifiers);
  // Consumes the next modifier that is a type. Returns an empty type if none is left.
  Type ParseTypeModifier();
  bool AllTaken() const;
  // True if one of the instruction's types is a floating-point type.
  bool IsFloating() const;
  // True if one of the instruction's types is a 16-bit floating-point type.
  bool IsShortFloating() const;
  // True if `modifier` is the instruction's last modifier.
  bool IsLast(std::string_view modifier) const { return parts_.back() == modifier; }
  // Returns the first modifier that was not consumed, for messages.
  std::string_view FirstLeft() const;
  Space ParseSpace();
  // Consumes .v2, .v4 or .v8. Returns the number of elements, or 1 if there is none of them.
  size_t ParseVectorCount();

  std::vector<Written> operands;
  Instruction instruction;
  Routine* routine = nullptr;

  // Fills `out` and `in` from plain operands: one result, then `count` sources of the type.
  bool Plain(size_t count, Type type);
  // Converts an operand to a source of the type; immediate values are converted to the type.
  bool Source(size_t index, Type type, Operand* operand) const;
  bool Result(size_t index, Operand* operand) const;
  // Converts an address operand to in[0] and `offset`.
  bool Address(size_t index);
  // Appends the elements of a vector operand, or a single operand, to Routine::vectors.
  bool Elements(size_t index, size_t count, Type type, bool result);
  bool Use(Handler handler) {
    instruction.run = handler;
    return handler != nullptr;
  }
  // Makes the threads wait at this instruction; the lanes of a warp that its mask names then
  // execute `exchange` together.
  bool UseExchange(Exchange exchange);
  // Makes the threads wait at this instruction; then all lanes of the warp execute `exchange`
  // together.
  bool UseWholeWarp(Exchange exchange);

 private:
  static bool Fit(const Written& written, Type type, Operand* operand);

  std::vector<std::string_view> parts_;
  std::vector<bool> taken_;
};

using Selector = bool (*)(Selection*);

// Each function below knows the opcodes of one family of instructions. It returns the selector of
// an opcode, or null if the opcode is not in its family.
Selector FindInteger(std::string_view name);
Selector FindFloating(std::string_view name);
Selector FindShortFloating(std::string_view name);
Selector FindLogic(std::string_view name);
Selector FindCompare(std::string_view name);
Selector FindConvert(std::string_view name);
Selector FindAccess(std::string_view name);
Selector FindAtomic(std::string_view name);
Selector FindControl(std::string_view name);
// True if the instruction always ends the thread or leaves the routine.
bool EndsTheThread(const Instruction& i);
Selector FindWarp(std::string_view name);
Selector FindMatrix(std::string_view name);
Selector FindWarpgroup(std::string_view name);

// Finds the selector of an instruction in all families.
Selector FindSelector(const Selection& selection);

struct SelectorRow {
  std::string_view name;
  Selector selector;
};

template <size_t kCount>
Selector FindIn(const SelectorRow (&rows)[kCount], std::string_view name) {
  for (const SelectorRow& row : rows) {
    if (row.name == name) return row.selector;
  }
  return nullptr;
}

}  // namespace vramstow::simulator::ptx

#endif  // VRAMSTOW_SIMULATOR_KERNELS_PTX_SELECT_H_
