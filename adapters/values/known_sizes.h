// KnownSizes chooses the size of an operator's result if the size depends on values that were not
// computed.
//
// Idea: if such values were not computed, the memory still contains older values or zeros, and the
// operator would get a wrong size from them. For example, a mask of several dimensions that was
// made from zeros may be true everywhere, and a program may multiply two sizes that it got from
// masks. That would yield an out-of-memory error that does not occur on a GPU. So the chosen size
// is the largest one that was computed from correct values at the same point of the program. If
// there was none, the size is at most the longest dimension of the mask. A point of the program is
// identified by the operators that its thread called last, because each training step calls the
// same operators. A program that reads a mask twice expects the same size, so the size is stored
// for the second read.
//
// Ownership: one table for the process. Threads: the simulator's lock guards the table; the point
// of the program belongs to its thread. Errors: none. Units: rows of a result.
#ifndef VRAMSTOW_ADAPTERS_VALUES_KNOWN_SIZES_H_
#define VRAMSTOW_ADAPTERS_VALUES_KNOWN_SIZES_H_

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <deque>
#include <unordered_map>

namespace vramstow::values {

// Records that this thread calls the operator `name`. The text must live as long as the process.
void NoteOperator(const char* name);
// Returns a hash that identifies this thread's present point of the program.
uint64_t CurrentPlace();

// Says how the values that an operator reads were obtained.
enum class Reads : uint8_t {
  kComputed,
  kOld,   // values of an earlier time, or derived from such values
  kLost,  // zeros in place of values
};

// The tensor that determines the size of an operator's result.
struct Source {
  explicit Source(const at::Tensor& tensor);

  c10::weak_intrusive_ptr<c10::StorageImpl> storage;
  int64_t offset = 0;
  int64_t elements = 0;
  int64_t dimensions = 0;
  int64_t longest = 0;  // the longest dimension

  bool IsLike(const Source& other) const {
    return storage == other.storage && offset == other.offset && elements == other.elements;
  }
};

class KnownSizes {
 public:
  static KnownSizes& Global();

  // Returns the size that the program gets. `computed` is the computed size, or negative if it was
  // not computed.
  int64_t SizeForProgram(uint64_t place, Reads reads, const Source& source, int64_t computed);

 private:
  static constexpr size_t kLatest = 8;
  struct MadeUp {
    Source source;
    int64_t size;
  };

  int64_t MakeUp(uint64_t place, const Source& source, int64_t computed) const;

  std::unordered_map<uint64_t, int64_t> largest_;  // exact sizes, by point of the program
  std::deque<MadeUp> made_up_;                     // the latest ones
};

}  // namespace vramstow::values

#endif  // VRAMSTOW_ADAPTERS_VALUES_KNOWN_SIZES_H_
