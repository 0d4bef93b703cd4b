#include "simulator/kernels/ptx/select.h"

#include <algorithm>

#include "simulator/kernels/ptx/handlers.h"

namespace vramstow::simulator::ptx {

Selection::Selection(std::string_view opcode) {
  while (true) {
    const size_t dot = opcode.find('.');
    parts_.push_back(opcode.substr(0, dot));
    if (dot == std::string_view::npos) break;
    opcode.remove_prefix(dot + 1);
  }
  taken_.resize(parts_.size());
  taken_[0] = true;
}

bool Selection::Take(std::string_view modifier) {
  for (size_t i = 1; i < parts_.size(); ++i) {
    if (!taken_[i] && parts_[i] == modifier) {
      taken_[i] = true;
      return true;
    }
  }
  return false;
}

bool Selection::ParseAny(std::initializer_list<std::string_view> modifiers) {
  return std::any_of(modifiers.begin(), modifiers.end(),
                     [this](std::string_view modifier) { return Take(modifier); });
}

Type Selection::ParseTypeModifier() {
  for (size_t i = 1; i < parts_.size(); ++i) {
    const Type type = taken_[i] ? Type() : ParseType(parts_[i]);
    if (!type) continue;
    taken_[i] = true;
    return type;
  }
  return {};
}

bool Selection::AllTaken() const {
  return std::find(taken_.begin(), taken_.end(), false) == taken_.end();
}

bool Selection::IsFloating() const {
  return std::any_of(parts_.begin() + 1, parts_.end(),
                     [](std::string_view part) { return ParseType(part).kind == 'f'; });
}

bool Selection::IsShortFloating() const {
  const std::string_view last = parts_.back();
  return last == "f16" || last == "bf16" || last == "f16x2" || last == "bf16x2";
}

std::string_view Selection::FirstLeft() const {
  const auto left = std::find(taken_.begin(), taken_.end(), false);
  return left == taken_.end() ? std::string_view() : parts_[left - taken_.begin()];
}

Space Selection::ParseSpace() {
  if (ParseAny({"global", "const"})) return Space::kGlobal;
  if (ParseAny({"shared", "shared::cta"})) return Space::kShared;
  if (ParseAny({"local", "param", "param::entry", "param::func"})) return Space::kLocal;
  return Space::kGeneric;
}

size_t Selection::ParseVectorCount() {
  if (Take("v2")) return 2;
  if (Take("v8")) return 8;
  return Take("v4") ? 4 : 1;
}

bool Selection::Fit(const Written& written, Type type, Operand* operand) {
  if (written.label || written.address || written.is_vector || written.paired) return false;
  *operand = written.operand;
  if (operand->kind == Operand::kNone) return false;
  if (operand->kind != Operand::kImmediate) return true;
  const Literal literal = {written.literal, operand->value};
  if (type.kind == 'f' && literal.kind == Literal::kInteger) return false;
  if (type.kind == 'f' && type.bits == 32) operand->value = ToSingle(literal).bits;
  if (type.kind == 'f' && type.bits == 64) operand->value = ToDouble(literal).bits;
  return true;
}

bool Selection::Source(size_t index, Type type, Operand* operand) const {
  return index < operands.size() && Fit(operands[index], type, operand);
}

bool Selection::Result(size_t index, Operand* operand) const {
  if (index >= operands.size()) return false;
  const Written& written = operands[index];
  *operand = written.operand;
  return !written.address && !written.is_vector && !written.paired && !operand->negated &&
         operand->kind == Operand::kRegister;
}

bool Selection::Plain(size_t count, Type type) {
  if (operands.size() != count + 1 || count > 4 || !Result(0, &instruction.out)) return false;
  for (size_t i = 0; i < count; ++i) {
    if (!Source(i + 1, type, &instruction.in[i])) return false;
  }
  return true;
}

bool Selection::Address(size_t index) {
  if (index >= operands.size() || !operands[index].address) return false;
  const Written& written = operands[index];
  if (written.operand.kind == Operand::kNone || written.label) return false;
  instruction.in[0] = written.operand;
  instruction.offset = written.offset;
  // If the instruction does not name a state space, the variable in its address determines the
  // state space.
  if (written.operand.space != Space::kGeneric && instruction.space == Space::kGeneric) {
    instruction.space = written.operand.space;
  }
  return true;
}

bool Selection::Elements(size_t index, size_t count, Type type, bool result) {
  if (index >= operands.size()) return false;
  const Written& written = operands[index];
  if (written.is_vector ? written.elements.size() != count : count != 1) return false;
  instruction.vector = static_cast<uint32_t>(routine->vectors.size());
  instruction.count = static_cast<uint8_t>(count);
  for (size_t i = 0; i < count; ++i) {
    const Written& element = written.is_vector ? written.elements[i] : written;
    Operand operand;
    if (!Fit(element, type, &operand)) return false;
    if (result && (operand.kind != Operand::kRegister || operand.negated)) return false;
    routine->vectors.push_back(operand);
  }
  return true;
}

bool Selection::UseExchange(Exchange exchange) {
  routine->waits = true;
  instruction.exchange = exchange;
  return exchange != nullptr && Use(WaitHere);
}

bool Selection::UseWholeWarp(Exchange exchange) {
  instruction.in[3] = {.kind = Operand::kImmediate, .value = 0xffffffff};
  return UseExchange(exchange);
}

Selector FindSelector(const Selection& selection) {
  using Find = Selector (*)(std::string_view);
  constexpr Find kFamilies[] = {FindAccess,  FindInteger, FindLogic, FindCompare, FindConvert,
                                FindControl, FindAtomic,  FindWarp,  FindMatrix,  FindWarpgroup};
  if (selection.IsShortFloating()) {
    if (const Selector selector = FindShortFloating(selection.name())) return selector;
  }
  if (selection.IsFloating()) {
    if (const Selector selector = FindFloating(selection.name())) return selector;
  }
  for (const Find find : kFamilies) {
    if (const Selector selector = find(selection.name())) return selector;
  }
  return nullptr;
}

}  // namespace vramstow::simulator::ptx
