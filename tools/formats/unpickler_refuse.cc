#include "tools/formats/pickle_opcodes.h"
#include "tools/formats/text_helpers.h"
#include "tools/formats/unpickler_machine.h"

namespace vramstow {
namespace {

// Returns what an opcode requests beyond plain data, as words for a sentence. Returns null for a
// byte that is not an opcode.
const char* WhatItAsksFor(uint8_t opcode) {
  switch (opcode) {
    case pickle::kGlobal:
    case pickle::kStackGlobal:
      return "to import";
    case pickle::kInstance:
      return "to build an instance of";
    case pickle::kReduce:
      return "to call a function (REDUCE)";
    case pickle::kBuild:
      return "to set an object's state (BUILD)";
    case pickle::kObject:
      return "to build an object (OBJ)";
    case pickle::kNewObject:
      return "to build an object (NEWOBJ)";
    case pickle::kNewObjectEx:
      return "to build an object (NEWOBJ_EX)";
    case pickle::kPersistentId:
    case pickle::kBinPersistentId:
      return "for an object outside the file (a persistent id, as tensors have in a checkpoint)";
    case pickle::kExtension1:
    case pickle::kExtension2:
    case pickle::kExtension4:
      return "for an object by an extension code";
    case pickle::kNextBuffer:
    case pickle::kReadonlyBuffer:
      return "for a buffer outside the file";
    default:
      return nullptr;
  }
}

}  // namespace

Unpickler::Step Unpickler::Refuse(uint8_t opcode) {
  const char* what = WhatItAsksFor(opcode);
  if (what == nullptr) {
    return Damaged(Concat(HexText(opcode), " is not a valid opcode of a pickle there"));
  }
  std::string name;
  if (opcode == pickle::kGlobal || opcode == pickle::kInstance) {
    std::string_view module;
    std::string_view object;
    if (!bytes_.ReadLine(&module) || !bytes_.ReadLine(&object)) return EndsEarly();
    name = Concat(" ", Quoted(Concat(module, ".", object)));
  } else if (opcode == pickle::kStackGlobal) {
    std::string_view parts[2] = {"?", "?"};
    for (size_t i = 0; i < 2 && stack_.Has(2); ++i) {
      const PickleValue part = stack_[stack_.size() - 2 + i];
      if (part.is(PickleKind::kText)) parts[i] = builder_.TextOf(part);
    }
    name = Concat(" ", Quoted(Concat(parts[0], ".", parts[1])));
  }
  refusal_ = absl::PermissionDeniedError(
      Concat("at byte ", opcode_offset_, " the pickle asks ", what, name,
             "; a memory snapshot consists of numbers, texts, lists and dicts only, so nothing of "
             "the file was used"));
  return Step::kFailed;
}

Unpickler::Step Unpickler::Damaged(std::string_view what) {
  damage_ = Concat("the pickle is damaged at byte ", opcode_offset_, ": ", what);
  return Step::kFailed;
}

Unpickler::Step Unpickler::EndsEarly() {
  damage_ = Concat("the pickle ends after ", bytes_.size(),
                   " bytes, in the middle of an opcode at byte ", opcode_offset_);
  return Step::kFailed;
}

Unpickler::Step Unpickler::OutOfMemory() {
  refusal_ = absl::ResourceExhaustedError(
      Concat("at byte ", opcode_offset_, " of ", bytes_.size(), " the pickle would need more than ",
             builder_.arena()->max_bytes(),
             " bytes of memory, which is too much for a memory snapshot of its length"));
  return Step::kFailed;
}

}  // namespace vramstow
