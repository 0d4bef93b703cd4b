#include "simulator/kernels/ptx/program.h"

#include <algorithm>
#include <set>

#include "base/rounding.h"
#include "simulator/kernels/ptx/body.h"
#include "simulator/kernels/ptx/select.h"

namespace vramstow::simulator::ptx {
namespace {

constexpr uint64_t kModuleSharedMax = 16ull << 20;
constexpr uint64_t kFrameMax = 512ull << 10;

}  // namespace

Program::Program(std::string text) : text_(std::move(text)) {
  ParseText();
  ResolveAddresses();
}

void Program::ParseText() {
  Tokens tokens(text_);
  Linkage linkage;
  while (!tokens.ended()) {
    if (ParseLinkage(&tokens, &linkage)) continue;
    if (tokens.Take(".version")) {
      ++unit_;
    } else if (tokens.Take(".entry")) {
      ParseRoutine(&tokens, linkage, true);
    } else if (tokens.Take(".func")) {
      ParseRoutine(&tokens, linkage, false);
    } else if (tokens.Take(".global") || tokens.Take(".const")) {
      ParseGlobal(&tokens, linkage);
    } else if (tokens.Take(".shared")) {
      ParseShared(&tokens, linkage);
    } else if (tokens.Take("{")) {
      tokens.SkipBlock();
    } else {
      tokens.Next();
    }
    linkage = Linkage();
  }
}

bool Program::ParseLinkage(Tokens* tokens, Linkage* linkage) {
  if (tokens->Take(".visible")) {
    linkage->visible = true;
  } else if (tokens->Take(".extern")) {
    linkage->outside = true;
  } else if (tokens->Take(".weak") || tokens->Take(".common")) {
    linkage->weak = true;
  } else {
    return false;
  }
  return true;
}

void Program::ParseGlobal(Tokens* tokens, const Linkage& linkage) {
  Variable declared;
  if (!ParseVariable(tokens, &declared)) return;
  const Key key(linkage.IsShared() ? kAllUnits : unit_, declared.name);
  const auto [known, is_new] = symbols_.try_emplace(key);
  if (is_new) {
    const auto index = static_cast<uint32_t>(variables_.size());
    known->second = {.kind = Operand::kVariable, .space = Space::kGlobal, .index = index};
    std::string name = key.second;
    if (!variable_names_.try_emplace(name, index).second) name += "@" + std::to_string(unit_);
    variable_names_.try_emplace(name, index);
    variables_.emplace_back().name = std::move(name);
  }
  if (known->second.kind != Operand::kVariable) return;
  const uint32_t index = known->second.index;
  GlobalVariable& variable = variables_[index];
  if (linkage.outside || variable.understood) return;  // a declaration, or a second .weak one
  InitialValue initial;
  variable.understood = !tokens->Take("=") || ParseInitialValue(tokens, declared, &initial);
  variable.bytes = std::max<uint64_t>(declared.bytes, initial.bytes.size());
  variable.initial = std::move(initial.bytes);
  for (AddressValue& value : initial.addresses) {
    pending_.push_back({index, unit_, std::move(value)});
  }
}

bool Program::AddShared(uint64_t bytes, uint64_t alignment, uint64_t* offset) {
  if (bytes > kModuleSharedMax || alignment > kModuleSharedMax) return false;
  *offset = RoundUp(shared_bytes_, alignment);
  if (*offset + bytes > kModuleSharedMax) return false;
  shared_bytes_ = RoundUp(*offset + bytes, 16);  // the launch's own shared memory begins after it
  return true;
}

void Program::ParseShared(Tokens* tokens, const Linkage& linkage) {
  Variable declared;
  if (!ParseVariable(tokens, &declared)) return;
  const Key key(linkage.IsShared() ? kAllUnits : unit_, declared.name);
  if (linkage.outside) {
    symbols_.try_emplace(key, Operand{.kind = Operand::kDynamicShared, .space = Space::kShared});
    return;
  }
  Operand operand = {.kind = Operand::kImmediate, .space = Space::kShared};
  if (AddShared(declared.bytes, declared.alignment, &operand.value)) {
    symbols_.insert_or_assign(key, operand);
  }
}

// Parses a list such as "(.param .b32 a, .param .align 8 .b8 b[16])", after its opening bracket.
bool Program::ParseFrame(Tokens* tokens, Routine* routine, bool results) {
  uint64_t at = routine->frame_bytes;
  while (!tokens->Take(")")) {
    Variable part;
    if (!tokens->Take(".param") || !ParseVariable(tokens, &part)) return false;
    at = RoundUp(at, part.alignment);
    if (part.bytes > kFrameMax || at + part.bytes > kFrameMax) return false;
    const FramePart place = {static_cast<uint32_t>(at), static_cast<uint32_t>(part.bytes)};
    if (results) {
      routine->results.push_back(place);
      routine->result_names.push_back(part.name);
    } else {
      routine->parameters.push_back(place);
      routine->alignments.push_back(static_cast<uint32_t>(part.alignment));
      routine->parameter_names.push_back(part.name);
    }
    at += part.bytes;
    if (!tokens->Take(",") && tokens->token() != ")") return false;
  }
  routine->frame_bytes = static_cast<uint32_t>(at);
  return true;
}

// Parameters come first in the frame, so that a kernel's parameters have the offsets that a launch
// uses.
void Program::ParseRoutine(Tokens* tokens, const Linkage& linkage, bool entry) {
  Routine routine;
  routine.entry = entry;
  routine.unit = unit_;
  bool understood = true;
  Tokens results = *tokens;
  const bool has_results = tokens->Take("(");
  while (has_results && !tokens->ended() && !tokens->Take(")")) tokens->Next();
  routine.name = tokens->token();
  tokens->Next();
  if (tokens->Take("(")) understood = ParseFrame(tokens, &routine, false);
  if (has_results && results.Take("(")) {
    understood = understood && ParseFrame(&results, &routine, true);
  }
  while (!tokens->ended() && tokens->token() != ";" && tokens->token() != "{") tokens->Next();
  if (!tokens->Take("{")) return;  // a declaration
  routine.body = *tokens;
  tokens->SkipBlock();
  if (!understood) routine.refusal = "parameters that are not understood";
  const Key key(entry || linkage.IsShared() ? kAllUnits : unit_, routine.name);
  if (by_name_.contains(key)) return;  // a second .weak one
  routines_.push_back(std::move(routine));
  by_name_[key] = &routines_.back();
}

bool Program::FindSymbol(uint32_t unit, std::string_view name, Operand* operand) const {
  auto found = symbols_.find(Key(unit, name));
  if (found == symbols_.end()) found = symbols_.find(Key(kAllUnits, name));
  if (found == symbols_.end()) return false;
  *operand = found->second;
  return true;
}

const GlobalVariable* Program::FindVariable(const std::string& name) const {
  const auto found = variable_names_.find(name);
  return found == variable_names_.end() ? nullptr : &variables_[found->second];
}

void Program::ResolveAddresses() {
  for (const PendingAddress& pending : pending_) {
    Operand operand;
    GlobalVariable& variable = variables_[pending.variable];
    if (FindSymbol(pending.unit, pending.value.name, &operand) &&
        operand.kind == Operand::kVariable) {
      variable.addresses.push_back({pending.value.offset, operand.index, pending.value.addend});
    } else {
      variable.understood = false;
    }
  }
  pending_.clear();
}

Routine* Program::FindRoutine(uint32_t unit, const std::string& name) const {
  auto found = by_name_.find(Key(unit, name));
  if (found == by_name_.end()) found = by_name_.find(Key(kAllUnits, name));
  return found == by_name_.end() ? nullptr : found->second;
}

const Routine* Program::FindKernel(const std::string& name) {
  Routine* routine = FindRoutine(kAllUnits, name);
  if (routine == nullptr || !routine->entry) return nullptr;
  if (prepared_.try_emplace(routine, true).second) Prepare(routine);
  return routine;
}

bool Program::ResolveCall(const Routine& caller, CallSite* site, std::string* refusal) {
  site->routine = FindRoutine(caller.unit, site->callee);
  if (site->routine == nullptr) {
    *refusal = "a call of " + site->callee + ", which is not there";
    return false;
  }
  // If the caller expects a result that the routine does not return, the result stays zero, as with
  // C linkage.
  if (site->arguments.size() != site->routine->parameters.size()) {
    *refusal = "a call of " + site->callee + " with other parameters than it has";
    return false;
  }
  return true;
}

// Compiles all routines that the kernel can call. What these routines need (such as memory) is then
// also needed by the kernel.
void Program::Prepare(Routine* entry) {
  std::set<Routine*> reached = {entry};
  std::vector<Routine*> to_do = {entry};
  std::string refusal;
  std::string left_out;
  while (!to_do.empty() && refusal.empty()) {
    Routine* routine = to_do.back();
    to_do.pop_back();
    if (!routine->compiled) {
      routine->compiled = true;
      if (routine->refusal.empty()) BodyParser(this, routine).Parse();
      routine->idle = !routine->code.empty() && EndsTheThread(routine->code.front());
    }
    refusal = routine->refusal;
    if (left_out.empty()) left_out = routine->left_out;
    entry->waits |= routine->waits;
    entry->variables.insert(entry->variables.end(), routine->variables.begin(),
                            routine->variables.end());
    for (CallSite& site : routine->calls) {
      if (!refusal.empty() || !ResolveCall(*routine, &site, &refusal)) break;
      if (reached.insert(site.routine).second) to_do.push_back(site.routine);
    }
  }
  entry->refusal = refusal;
  AddVariables(entry);
  if (!entry->refusal.empty() || left_out.empty()) return;
  entry->refusal = left_out;
  entry->examinable = true;
}

// Adds variables that the kernel uses indirectly: their addresses are initial values of variables
// that it uses.
void Program::AddVariables(Routine* entry) {
  std::set<uint32_t> named(entry->variables.begin(), entry->variables.end());
  std::vector<uint32_t> to_do(named.begin(), named.end());
  while (!to_do.empty()) {
    const GlobalVariable& variable = variables_[to_do.back()];
    to_do.pop_back();
    if (!variable.understood && entry->refusal.empty()) {
      entry->refusal = "the variable " + variable.name + ", whose values are not known";
    }
    for (const GlobalVariable::Address& address : variable.addresses) {
      if (named.insert(address.variable).second) to_do.push_back(address.variable);
    }
  }
  entry->variables.assign(named.begin(), named.end());
}

}  // namespace vramstow::simulator::ptx
