#include "simulator/kernels/ptx/body.h"

#include <algorithm>
#include <utility>

#include "base/rounding.h"
#include "simulator/kernels/ptx/special.h"

namespace vramstow::simulator::ptx {
namespace {

constexpr uint32_t kRegistersMax = 1u << 16;
constexpr uint64_t kBodyFrameMax = 512ull << 10;
constexpr size_t kInstructionsMax = 1u << 20;
constexpr size_t kScopesMax = 1u << 16;
constexpr size_t kScopeDepthMax = 64;
constexpr size_t kFamiliesMax = 64;  // the most families of registers in one scope
constexpr uint32_t kNoParent = UINT32_MAX;

}  // namespace

bool BodyParser::Refuse(std::string what) {
  if (routine_->refusal.empty()) routine_->refusal = std::move(what);
  return false;
}

void BodyParser::Parse() {
  scopes_.emplace_back();
  parents_.push_back(kNoParent);
  for (size_t k = 0; k < routine_->parameters.size() + routine_->results.size(); ++k) {
    const bool result = k >= routine_->parameters.size();
    const size_t index = result ? k - routine_->parameters.size() : k;
    const FramePart& part = result ? routine_->results[index] : routine_->parameters[index];
    AddSymbol(
        result ? routine_->result_names[index] : routine_->parameter_names[index],
        {{.kind = Operand::kFrame, .space = Space::kLocal, .value = part.offset}, part.bytes});
  }
  bool ended = false;
  while (!ended) {
    if (tokens_.ended()) {
      Refuse("an end within the body");
      return;
    }
    if (!ParseLine(&ended)) return;
  }
  Resolve();
}

bool BodyParser::ParseLine(bool* ended) {
  if (tokens_.Take(";")) return true;
  if (tokens_.Take("{")) {
    if (parents_.size() >= kScopesMax || scopes_.size() >= kScopeDepthMax)
      return Refuse("more blocks than are kept");
    Scope scope;
    scope.number = static_cast<uint32_t>(parents_.size());
    parents_.push_back(scopes_.back().number);
    scopes_.push_back(std::move(scope));
    return true;
  }
  if (tokens_.Take("}")) {
    scopes_.pop_back();
    *ended = scopes_.empty();
    return true;
  }
  bool found = false;
  if (!ParseLabel(&found) || found) return found;
  if (tokens_.token().starts_with('.')) return ParseDirective();
  return ParseInstruction();
}

// Parses a label, which is a name and a colon.
bool BodyParser::ParseLabel(bool* found) {
  Tokens ahead = tokens_;
  ahead.Next();
  if (!tokens_.IsWord() || ahead.token() != ":") return true;
  *found = true;
  const std::string_view label = tokens_.token();
  tokens_.Next();
  tokens_.Next();
  if (tokens_.Take(".branchtargets")) return ParseTable(label);
  if (tokens_.token() == ".callprototype" || tokens_.token() == ".calltargets") {
    tokens_.SkipStatement();  // only calls by address use it
    return true;
  }
  const LabelKey key(scopes_.back().number, label);
  if (!labels_.emplace(key, static_cast<uint32_t>(routine_->code.size())).second) {
    return Refuse("the label " + std::string(label) + " twice");
  }
  return true;
}

bool BodyParser::ParseTable(std::string_view label) {
  const uint32_t scope = scopes_.back().number;
  const auto number = static_cast<int>(routine_->tables.size());
  uint32_t entries = 0;
  do {
    references_.push_back({scope, tokens_.token(), entries++, number, false});
    tokens_.Next();
  } while (tokens_.Take(","));
  routine_->tables.emplace_back(entries);
  tables_.emplace(LabelKey(scope, label), number);
  return tokens_.Take(";") || Refuse("a table of labels that is not understood");
}

bool BodyParser::ParseDirective() {
  tokens_.SplitAtDot();
  if (tokens_.Take(".reg")) return ParseRegisters();
  if (tokens_.Take(".shared")) return ParseMemory(true);
  if (tokens_.Take(".local") || tokens_.Take(".param")) return ParseMemory(false);
  if (tokens_.Take(".loc")) {
    SkipLocation();
    return true;
  }
  if (tokens_.token() == ".pragma") {
    tokens_.SkipStatement();
    return true;
  }
  return Refuse(std::string(tokens_.token()));
}

// Skips ".loc 1 20 5", which may be followed by ", function_name NAME, inlined_at 1 30 7". This
// statement ends at the end of its line and not with a semicolon, so each part of it is parsed.
void BodyParser::SkipLocation() {
  uint64_t number = 0;
  while (tokens_.TakeNumber(&number)) continue;
  while (tokens_.Take(",")) {
    if (tokens_.Take("function_name")) {
      tokens_.Next();
      if (tokens_.Take("+")) tokens_.TakeNumber(&number);
    } else if (tokens_.Take("inlined_at")) {
      while (tokens_.TakeNumber(&number)) continue;
    }
  }
}

// Parses a declaration such as ".reg .b32 %r<10>, %x;".
bool BodyParser::ParseRegisters() {
  const Type type =
      tokens_.token().starts_with('.') ? ParseType(tokens_.token().substr(1)) : Type();
  if (!type || type.bits > 64) return Refuse("registers of type " + std::string(tokens_.token()));
  tokens_.Next();
  do {
    const std::string_view name = tokens_.token();
    if (!tokens_.IsWord()) return Refuse("registers that are not understood");
    tokens_.Next();
    if (tokens_.Take("<")) {
      Family family = {name, 0};
      if (!tokens_.TakeNumber(&family.count) || !tokens_.Take(">") ||
          scopes_.back().families.size() >= kFamiliesMax) {
        return Refuse("registers that are not understood");
      }
      scopes_.back().families.push_back(family);
    } else if (!AddRegister(name, &scopes_.back())) {
      return false;
    }
  } while (tokens_.Take(","));
  return tokens_.Take(";") || Refuse("registers that are not understood");
}

bool BodyParser::AddSymbol(std::string_view name, const Symbol& symbol) {
  scopes_.back().symbols.insert_or_assign(name, symbol);
  return true;
}

bool BodyParser::AddRegister(std::string_view name, Scope* scope) {
  if (routine_->registers >= kRegistersMax) return Refuse("more registers than are kept");
  scope->symbols.insert_or_assign(
      name, Symbol{{.kind = Operand::kRegister, .index = routine_->registers++}, 0});
  return true;
}

bool BodyParser::AddPart(const Variable& declared) {
  const uint64_t at = RoundUp(routine_->frame_bytes, declared.alignment);
  if (declared.bytes > kBodyFrameMax || at > kBodyFrameMax - declared.bytes) {
    return Refuse("more local memory than a thread has");
  }
  routine_->frame_bytes = static_cast<uint32_t>(at + declared.bytes);
  return AddSymbol(declared.name, {{.kind = Operand::kFrame, .space = Space::kLocal, .value = at},
                                   static_cast<uint32_t>(declared.bytes)});
}

bool BodyParser::ParseMemory(bool shared) {
  Variable declared;
  if (!ParseVariable(&tokens_, &declared)) return Refuse("a variable that is not understood");
  if (!shared) {
    if (!AddPart(declared)) return false;
  } else {
    Operand operand = {.kind = Operand::kImmediate, .space = Space::kShared};
    if (!program_->AddShared(declared.bytes, declared.alignment, &operand.value)) {
      return Refuse("more shared memory than a block has");
    }
    AddSymbol(declared.name, {operand, 0});
  }
  return tokens_.Take(";") ||
         Refuse("a variable that is not understood: " + std::string(declared.name));
}

bool BodyParser::ParseInstruction() {
  if (routine_->code.size() >= kInstructionsMax) return Refuse("more instructions than are kept");
  Operand guard;
  if (tokens_.Take("@")) {
    Written written;
    if (!ParseOperand(&written, 0)) return false;
    if (written.operand.kind != Operand::kRegister) return Refuse("a guard that is no predicate");
    guard = written.operand;
  }
  const std::string_view opcode = tokens_.token();
  if (!tokens_.IsWord()) return Refuse("text that is no instruction: " + std::string(opcode));
  tokens_.Next();
  Selection selection(opcode);
  selection.routine = routine_;
  const Tokens operands = tokens_;
  if (!ParseOperands(&selection.operands)) {
    return LeaveOut(operands, std::exchange(routine_->refusal, {}));
  }
  const Selector selector = FindSelector(selection);
  if (selector == nullptr || !selector(&selection) || !selection.AllTaken()) {
    return LeaveOut(operands, "the instruction " + std::string(opcode));
  }
  selection.instruction.guard = guard;
  const auto number = static_cast<uint32_t>(routine_->code.size());
  for (const Written& written : selection.operands) {
    const bool is_target = selection.name() == "bra" || selection.name() == "brx";
    if (!written.label || !is_target) continue;
    references_.push_back(
        {scopes_.back().number, written.name, number, -1, selection.name() == "brx"});
  }
  routine_->code.push_back(selection.instruction);
  return true;
}

// Continues after the instruction whose operands begin at `operands`. The kernel will be refused,
// but what its other instructions write can be found out.
bool BodyParser::LeaveOut(const Tokens& operands, const std::string& what) {
  if (routine_->left_out.empty()) routine_->left_out = what;
  tokens_ = operands;
  while (!tokens_.ended() && !tokens_.Take(";")) tokens_.Next();
  return true;
}

bool BodyParser::ParseOperands(std::vector<Written>* operands) {
  if (tokens_.Take(";")) return true;
  do {
    if (!ParseOperand(&operands->emplace_back(), 0)) return false;
  } while (tokens_.Take(","));
  return tokens_.Take(";") ||
         Refuse("operands that are not understood, at " + std::string(tokens_.token()));
}

bool BodyParser::ParseOperand(Written* written, int depth) {
  if (tokens_.Take("[")) return ParseAddress(written);
  if (depth == 0 && tokens_.Take("{")) return ParseList("}", written, depth + 1);
  if (depth == 0 && tokens_.Take("(")) return ParseList(")", written, depth + 1);
  Literal literal;
  if (ParseLiteral(&tokens_, &literal)) {
    written->operand = {.kind = Operand::kImmediate, .value = literal.bits};
    written->literal = literal.kind;
    return true;
  }
  const bool negated = tokens_.Take("!");
  if (!ParseName(written)) return false;
  written->operand.negated = negated;
  const bool is_address = written->operand.space != Space::kGeneric;
  if (is_address && tokens_.Take("+")) {
    if (!ParseLiteral(&tokens_, &literal)) return Refuse("an address that is not understood");
    written->operand.value += literal.bits;
    return true;
  }
  if (!tokens_.Take("|")) return true;
  written->paired = true;
  return ParseName(&written->elements.emplace_back());
}

bool BodyParser::ParseList(std::string_view end, Written* written, int depth) {
  written->is_vector = true;
  if (tokens_.Take(end)) return true;
  do {
    if (!ParseOperand(&written->elements.emplace_back(), depth)) return false;
  } while (tokens_.Take(","));
  return tokens_.Take(end) || Refuse("a list that does not end");
}

// Parses an address after its opening bracket: "name+8]", "name]" or "1024]".
bool BodyParser::ParseAddress(Written* written) {
  Literal literal;
  if (ParseLiteral(&tokens_, &literal)) {
    written->operand = {.kind = Operand::kImmediate, .value = literal.bits};
  } else if (!ParseName(written)) {
    return false;
  }
  written->address = true;
  if (tokens_.Take("+") && !ParseLiteral(&tokens_, &literal)) {
    return Refuse("an address that is not understood");
  }
  if (literal.kind != Literal::kInteger) return Refuse("an address with a fraction");
  if (written->operand.kind != Operand::kImmediate || written->operand.space != Space::kGeneric) {
    written->offset = literal.bits;
  }
  return tokens_.Take("]") || Refuse("an address that is not understood");
}

bool BodyParser::ParseName(Written* written) {
  const std::string_view name = tokens_.token();
  if (!tokens_.IsWord()) return Refuse("an operand that is not understood: " + std::string(name));
  tokens_.Next();
  Symbol symbol;
  if (FindName(name, &symbol)) {
    written->operand = symbol.operand;
    written->bytes = symbol.bytes;
    return routine_->refusal.empty();
  }
  if (name.starts_with('%')) return Refuse("the register " + std::string(name));
  written->label = true;
  written->name = name;
  return true;
}

bool BodyParser::FindName(std::string_view name, Symbol* symbol) {
  if (name == "_") {
    *symbol = {{.kind = Operand::kRegister}, 0};  // register 0 receives unused results
    return true;
  }
  for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope) {
    auto found = scope->symbols.find(name);
    if (found == scope->symbols.end()) {
      const bool member =
          std::any_of(scope->families.begin(), scope->families.end(), [name](const Family& family) {
            uint64_t number = 0;
            const std::string_view digits =
                name.substr(std::min(family.prefix.size(), name.size()));
            return name.starts_with(family.prefix) && ParseNumber(digits, &number) &&
                   number < family.count;
          });
      if (!member) continue;
      if (!AddRegister(name, &*scope)) return true;  // the routine is refused
      found = scope->symbols.find(name);
    }
    *symbol = found->second;
    return true;
  }
  Special special = Special::kZero;
  if (FindSpecial(name, &special)) {
    *symbol = {{.kind = Operand::kSpecial, .index = static_cast<uint32_t>(special)}, 0};
    return true;
  }
  if (!program_->FindSymbol(routine_->unit, name, &symbol->operand)) return false;
  if (symbol->operand.kind == Operand::kVariable) {
    routine_->variables.push_back(symbol->operand.index);
  }
  return true;
}

// Finds the label in the scope of the reference or in the scopes around it.
bool BodyParser::FindLabel(const std::map<LabelKey, uint32_t>& labels, const Reference& reference,
                           uint32_t* target) const {
  for (uint32_t scope = reference.scope; scope != kNoParent; scope = parents_[scope]) {
    const auto found = labels.find(LabelKey(scope, reference.label));
    if (found == labels.end()) continue;
    *target = found->second;
    return true;
  }
  return false;
}

bool BodyParser::Resolve() {
  for (const Reference& reference : references_) {
    uint32_t target = 0;
    if (!FindLabel(reference.by_table ? tables_ : labels_, reference, &target)) {
      return Refuse("the label " + std::string(reference.label) + ", which is not there");
    }
    if (reference.table >= 0) {
      routine_->tables[reference.table][reference.instruction] = target;
    } else {
      routine_->code[reference.instruction].target = target;
    }
  }
  return true;
}

}  // namespace vramstow::simulator::ptx
