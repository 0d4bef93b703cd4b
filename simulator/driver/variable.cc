#include "simulator/driver/variable.h"

#include <string.h>

#include <algorithm>

namespace vramstow::simulator {
namespace {

// Bytes of a variable whose size is unknown because the image is compressed.
constexpr uint64_t kUnknownBytes = 4096;

uint64_t SizeOf(const Program& program, const DeclaredVariable& declared, const std::string& name) {
  if (declared.bytes > 0) return declared.bytes;
  const auto known = program.image.variables.find(name);
  return known == program.image.variables.end() ? kUnknownBytes : known->second;
}

CUresult AllocateVariable(State* state, Context* context, uint64_t bytes, Global* global) {
  Block* block = nullptr;
  const Result result = state->machine->memory.Allocate(
      context->device, std::max<uint64_t>(bytes, 1), BlockKind::kGlobal, context, &block);
  if (result != Result::kSuccess) return ToDriver(result);
  *global = {block->address, bytes};
  return CUDA_SUCCESS;
}

// Writes the initial values of a variable's declaration. They may contain addresses of other
// variables, which must have their memory already.
void FillVariable(State* state, Context* context, Program* program,
                  const DeclaredVariable& declared, const Global& global) {
  if (declared.initial.empty() || !state->machine->spec().keep_contents) return;
  std::vector<char> bytes = declared.initial;
  bytes.resize(std::min<uint64_t>(bytes.size(), global.bytes));
  for (const DeclaredVariable::Address& address : declared.addresses) {
    const uint64_t value = program->globals[{address.variable, context}].address + address.addend;
    if (address.offset + sizeof(value) <= bytes.size()) {
      memcpy(bytes.data() + address.offset, &value, sizeof(value));
    }
  }
  void* to = state->machine->contents.Translate(global.address, bytes.size(), true);
  if (to != nullptr) memcpy(to, bytes.data(), bytes.size());
}

}  // namespace

CUresult FindGlobal(State* state, Context* context, Program* program, const std::string& name,
                    Global* global) {
  std::vector<std::string> wanted = {name};
  std::vector<std::pair<DeclaredVariable, Global>> made;
  while (!wanted.empty()) {
    const std::string next = std::move(wanted.back());
    wanted.pop_back();
    Global& found = program->globals[{next, context}];
    if (found.address != 0) continue;
    DeclaredVariable declared;
    const bool known = FindDeclaredVariable(program, next, &declared);
    const CUresult result =
        AllocateVariable(state, context, SizeOf(*program, declared, next), &found);
    if (result != CUDA_SUCCESS) return result;
    if (!known) continue;
    for (const DeclaredVariable::Address& address : declared.addresses) {
      wanted.push_back(address.variable);
    }
    made.emplace_back(std::move(declared), found);
  }
  for (const auto& [declared, place] : made) FillVariable(state, context, program, declared, place);
  *global = program->globals[{name, context}];
  return CUDA_SUCCESS;
}

}  // namespace vramstow::simulator
