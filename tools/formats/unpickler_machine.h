// Unpickler is the virtual machine behind Unpickle(): it reads opcodes and executes them.
//
// Idea: each opcode is one short method; those of the text protocol (0) are in unpickler_text.cc,
// and refused ones in unpickler_refuse.cc. The machine has a stack, a memo, a cursor over the
// remaining bytes, and a builder of values, each a class of its own. A method that fails stores the
// reason, and the loop ends.
//
// Ownership: points into the bytes and owns the tree until it is finished. Threads: one. Errors:
// see unpickler.h.
#ifndef VRAMSTOW_TOOLS_FORMATS_UNPICKLER_MACHINE_H_
#define VRAMSTOW_TOOLS_FORMATS_UNPICKLER_MACHINE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tools/formats/byte_cursor.h"
#include "tools/formats/pickle_builder.h"
#include "tools/formats/pickle_memo.h"
#include "tools/formats/pickle_stack.h"
#include "tools/formats/pickle_value.h"

namespace vramstow {

class Unpickler {
 public:
  Unpickler(std::string_view bytes, uint64_t max_memory_bytes);
  // The object is not copyable, because the stack and the memo point to the builder's arena.
  Unpickler(const Unpickler&) = delete;
  Unpickler& operator=(const Unpickler&) = delete;

  absl::StatusOr<PickleTree> Run();

 private:
  // The result of an opcode. kStopped means that the pickle is complete.
  enum class Step { kNext, kStopped, kFailed };

  Step One(uint8_t opcode);
  Step Scalar(uint8_t opcode);
  Step TextOrBytes(uint8_t opcode);
  Step Container(uint8_t opcode);
  Step StackOrMemo(uint8_t opcode);
  Step Protocol();
  Step TextProtocol(uint8_t opcode);  // unpickler_text.cc
  Step Refuse(uint8_t opcode);        // unpickler_refuse.cc

  // Records that the bytes are not a pickle, or no longer one. The part that was read so far may be
  // used.
  Step Damaged(std::string_view what);
  Step EndsEarly();
  Step OutOfMemory();

  Step Push(PickleValue value) { return stack_.Push(value) ? Step::kNext : OutOfMemory(); }
  Step Push(std::optional<PickleValue> value) { return value ? Push(*value) : OutOfMemory(); }
  Step PushItems(PickleKind kind, size_t first);  // moves values from `first` to a new container
  Step AddToTop(PickleKind kind, size_t count);   // moves the top `count` values into the one below
  Step AddFromMark(PickleKind kind);
  Step Put(uint64_t index);
  Step Get(uint64_t index);

  ByteCursor bytes_;
  uint64_t opcode_offset_ = 0;
  PickleBuilder builder_;
  PickleStack stack_;
  PickleMemo memo_;
  absl::Status refusal_;
  std::string damage_;
};

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_FORMATS_UNPICKLER_MACHINE_H_
