// Which function does an instruction: by opcode, modifiers and types.
//
// Idea: one selector per opcode takes the modifiers that it knows, one after the other, and what it
// understands of the operands. An instruction with a modifier that nobody took is not done halfway:
// it is refused, and with it the kernel. Source: the PTX ISA.
//
// Ownership: a Selection looks into the text. Threads: none. Errors: false.
#ifndef VRAMSTOW_SIMULATOR_KERNELS_PTX_SELECT_H_
#define VRAMSTOW_SIMULATOR_KERNELS_PTX_SELECT_H_

#include <string_view>
#include <vector>

#include "simulator/kernels/ptx/code.h"
#include "simulator/ptx/literal.h"

namespace vramstow::simulator::ptx {

// An operand as it was written, its names resolved.
struct Written {
  Operand operand;
  Literal::Kind literal = Literal::kInteger;  // of an immediate
  bool address = false;                       // [operand + offset]
  uint64_t offset = 0;
  bool label = false;      // a name that nothing else has
  std::string_view name;   // of a label
  bool is_vector = false;  // {a, b}, or, of a call, (a, b)
  uint32_t bytes = 0;      // of a part of the frame
  std::vector<Written> elements;
  bool paired = false;  // p|q: the second in elements
};

class Selection {
 public:
  explicit Selection(std::string_view opcode);

  std::string_view name() const { return parts_.empty() ? std::string_view() : parts_[0]; }
  bool Take(std::string_view modifier);
  bool TakeAny(std::initializer_list<std::string_view> modifiers);
  // The next modifier that is a type, in order; no type: none is left.
  Type TakeType();
  bool AllTaken() const;
  // One of its types is a floating-point one.
  bool IsFloating() const;
  // It is about numbers of 16 bits with a point.
  bool IsShortFloating() const;
  // Whether it ends with this one.
  bool IsLast(std::string_view modifier) const { return parts_.back() == modifier; }
  // The first that is left, for people.
  std::string_view FirstLeft() const;
  Space TakeSpace();

  std::vector<Written> operands;
  Instruction instruction;
  Routine* routine = nullptr;

  // Fills `out` and `in` from plain operands: one result, then `count` sources of the type.
  bool Plain(size_t count, Type type);
  // As a source of the type: immediates are converted to it.
  bool Source(size_t index, Type type, Operand* operand) const;
  bool Result(size_t index, Operand* operand) const;
  // An address, into in[0] and offset.
  bool Address(size_t index);
  // The elements of a vector, or the one operand, into Routine::vectors.
  bool Elements(size_t index, size_t count, Type type, bool result);
  bool Use(Handler handler) {
    instruction.run = handler;
    return handler != nullptr;
  }
  // The threads that come here wait; those of a warp do this together.
  bool UseExchange(Exchange exchange);
  // The same, of all its threads.
  bool UseWholeWarp(Exchange exchange);

 private:
  static bool Fit(const Written& written, Type type, Operand* operand);

  std::vector<std::string_view> parts_;
  std::vector<bool> taken_;
};

using Selector = bool (*)(Selection*);

// By family; null: the opcode is none of it.
Selector FindInteger(std::string_view name);
Selector FindFloating(std::string_view name);
Selector FindShortFloating(std::string_view name);
Selector FindLogic(std::string_view name);
Selector FindCompare(std::string_view name);
Selector FindConvert(std::string_view name);
Selector FindAccess(std::string_view name);
Selector FindAtomic(std::string_view name);
Selector FindControl(std::string_view name);
// Whether the thread goes no further in its routine, whatever it holds.
bool EndsTheThread(const Instruction& i);
Selector FindWarp(std::string_view name);
Selector FindMatrix(std::string_view name);
Selector FindWarpgroup(std::string_view name);

// Of any family.
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
