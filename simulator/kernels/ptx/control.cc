// Implements branches, calls and exits.
#include "simulator/kernels/ptx/handlers.h"
#include "simulator/kernels/ptx/select.h"

namespace vramstow::simulator::ptx {
namespace {

bool Branch(const Instruction& i, Thread& thread) { return thread.Jump(i.target); }

bool BranchByTable(const Instruction& i, Thread& thread) {
  const std::vector<uint32_t>& table = thread.routine().tables[i.target];
  const auto index = thread.Get<uint32_t>(i.in[0]);
  return index < table.size() ? thread.Jump(table[index]) : thread.Fail(Ending::kTrap);
}

bool Call(const Instruction& i, Thread& thread) {
  return thread.Call(thread.routine().calls[i.target]);
}

bool Return(const Instruction& /*i*/, Thread& thread) { return thread.Return(); }
bool Exit(const Instruction& /*i*/, Thread& thread) { return thread.Exit(); }
bool Trap(const Instruction& /*i*/, Thread& thread) { return thread.Fail(Ending::kTrap); }
bool Assert(const Instruction& /*i*/, Thread& thread) { return thread.Fail(Ending::kAssertion); }

// The target of the branch is resolved later, when all labels are known.
bool SelectBranch(Selection* s) {
  s->Take("uni");
  return s->operands.size() == 1 && s->operands[0].label && s->Use(Branch);
}

bool SelectTable(Selection* s) {
  s->Take("uni");
  return s->Take("idx") && s->operands.size() == 2 && s->operands[1].label &&
         s->Source(0, {'u', 32}, &s->instruction.in[0]) && s->Use(BranchByTable);
}

// Converts a list of operands to parts of the routine's frame (its parameters and results).
bool ParseFrameParts(const Written& list, std::vector<FramePart>* parts) {
  for (const Written& element : list.elements) {
    if (element.operand.kind != Operand::kFrame || element.bytes == 0) return false;
    parts->push_back({static_cast<uint32_t>(element.operand.value), element.bytes});
  }
  return true;
}

bool SelectCall(Selection* s) {
  s->Take("uni");
  CallSite site;
  size_t next = 0;
  if (next < s->operands.size() && s->operands[next].is_vector) {
    if (!ParseFrameParts(s->operands[next++], &site.results)) return false;
  }
  if (next >= s->operands.size() || !s->operands[next].label) return false;  // an address
  site.callee = s->operands[next++].name;
  if (next < s->operands.size() && s->operands[next].is_vector) {
    if (!ParseFrameParts(s->operands[next++], &site.arguments)) return false;
  }
  if (next != s->operands.size()) return false;
  if (site.callee == "__assertfail") return s->Use(Assert);
  s->instruction.target = static_cast<uint32_t>(s->routine->calls.size());
  s->routine->calls.push_back(std::move(site));
  return s->Use(Call);
}

template <Handler kHandler>
bool SelectBare(Selection* s) {
  s->Take("uni");
  return s->operands.empty() && s->Use(kHandler);
}

}  // namespace

bool EndsTheThread(const Instruction& i) {
  return (i.run == Return || i.run == Exit) && i.guard.kind == Operand::kNone;
}

Selector FindControl(std::string_view name) {
  static constexpr SelectorRow kRows[] = {
      {"bra", SelectBranch},
      {"brx", SelectTable},
      {"call", SelectCall},
      {"ret", SelectBare<Return>},
      {"exit", SelectBare<Exit>},
      {"trap", SelectBare<Trap>},
      {"brkpt", SelectBare<DoNothing>},
  };
  return FindIn(kRows, name);
}

}  // namespace vramstow::simulator::ptx
