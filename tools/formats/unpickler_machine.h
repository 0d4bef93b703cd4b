// Unpickler: the machine behind Unpickle(): a stack, marks in it, a memo, and the bytes to come.
//
// Idea: each opcode is one short method; those of the text protocol (0) live in unpickler_text.cc,
// what is refused in unpickler_refuse.cc. A method that fails says why through Fail, and the loop
// ends.
//
// Ownership: points into the bytes and into its tree. Threads: one. Errors: see unpickler.h.
#ifndef VRAMSTOW_TOOLS_FORMATS_UNPICKLER_MACHINE_H_
#define VRAMSTOW_TOOLS_FORMATS_UNPICKLER_MACHINE_H_

#include <bit>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tools/formats/pickle_value.h"

namespace vramstow {

static_assert(std::endian::native == std::endian::little, "pickles are little-endian");

class Unpickler {
 public:
  Unpickler(std::string_view bytes, uint64_t max_memory_bytes);

  absl::StatusOr<PickleTree> Run();

 private:
  // How an opcode ended. kStopped: the pickle is complete.
  enum class Step { kNext, kStopped, kFailed };

  Step One(uint8_t opcode);
  Step Scalar(uint8_t opcode);
  Step TextOrBytes(uint8_t opcode);
  Step Container(uint8_t opcode);
  Step StackOrMemo(uint8_t opcode);
  Step TextProtocol(uint8_t opcode);  // unpickler_text.cc
  Step Refuse(uint8_t opcode);        // unpickler_refuse.cc

  // Damage: the bytes are not (or no longer) a pickle; what was read so far may be kept.
  Step Damaged(std::string_view what);
  Step EndsEarly();
  Step OutOfMemory();

  // Reads a little-endian number; false where the bytes end.
  template <typename T>
  bool Read(T* number) {
    if (static_cast<size_t>(end_ - next_) < sizeof(T)) return false;
    std::memcpy(number, next_, sizeof(T));
    next_ += sizeof(T);
    return true;
  }
  bool ReadBytes(uint64_t size, std::string_view* bytes) {
    if (size > static_cast<uint64_t>(end_ - next_)) return false;
    *bytes = {next_, static_cast<size_t>(size)};
    next_ += size;
    return true;
  }
  bool ReadLine(std::string_view* line);
  uint64_t opcode_offset() const { return static_cast<uint64_t>(opcode_start_ - begin_); }

  // The first value of the stack that may be touched: what lies below the last mark may not.
  size_t fence() const { return marks_.empty() ? 0 : marks_.back(); }
  bool Has(size_t count) const { return stack_.size() - fence() >= count; }

  Step Push(PickleValue value);
  Step PushInteger(int64_t number);
  Step PushUnsigned(uint64_t number);
  Step PushLong(std::string_view digits);  // little-endian two's complement
  Step PushFloat(double number);
  // `stable`: lives as long as the bytes; otherwise the text is copied.
  Step PushText(std::string_view text, bool stable);
  Step PushBytes();
  Step PushItems(PickleKind kind, size_t first);  // pops stack_[first…] into a new container
  bool Extend(PickleItems* items, const PickleValue* values, size_t count);
  Step AddToTop(PickleKind kind, size_t count);  // the top `count` values into what lies below
  Step AddFromMark(PickleKind kind);
  Step Float();
  Step Protocol();

  Step Put(uint64_t index);
  Step Get(uint64_t index);

  // Closes what is still open, so that the bottom of the stack has all that was read.
  bool Salvage();
  void FoldOpenValues(size_t first);

  // Room in a vector for one more, booked in the arena.
  template <typename T>
  bool Grow(std::vector<T>* values) {
    if (values->size() < values->capacity()) return true;
    const size_t wanted = values->empty() ? 64 : values->size() * 2;
    if (!tree_.arena_.Book((wanted - values->size()) * sizeof(T))) return false;
    values->reserve(wanted);
    return true;
  }

  const char* const begin_;
  const char* const end_;
  const char* next_;
  const char* opcode_start_;
  PickleTree tree_;
  std::vector<PickleValue> stack_;
  std::vector<size_t> marks_;
  std::vector<PickleValue> memo_;
  std::vector<bool> memo_set_;
  absl::flat_hash_map<uint64_t, PickleValue> sparse_memo_;  // indices far beyond those seen
  uint64_t memo_count_ = 0;                                 // what MEMOIZE counts
  absl::Status refusal_;
  std::string damage_;
};

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_FORMATS_UNPICKLER_MACHINE_H_
