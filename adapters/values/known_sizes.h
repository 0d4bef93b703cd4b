// Known sizes: how large the results of operators were whose size depends on values.
//
// Idea: where values that such an operator reads were not computed, its size has to be made up.
// Values of an earlier time are computed with. A mask of several dimensions that was made from
// zeros may be true everywhere, and a program may multiply two of its sizes: an out-of-memory that
// no card has. So the size is the largest that was exact at the same place of the program, and
// where there was none, no more than the longest dimension of the mask. A place is known by the
// operators that its thread called last: a training step calls the same ones again. A program that
// reads a mask twice expects the same size, so it is told the same again.
//
// Ownership: one table for the process. Threads: the table belongs to the simulator's lock; a place
// to its thread. Errors: none. Units: rows of a result.
#ifndef VRAMSTOW_ADAPTERS_VALUES_KNOWN_SIZES_H_
#define VRAMSTOW_ADAPTERS_VALUES_KNOWN_SIZES_H_

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <deque>
#include <unordered_map>

namespace vramstow::values {

// This thread calls an operator of that name, which lives as long as the process.
void NoteOperator(const char* name);
// The place at which this thread is.
uint64_t CurrentPlace();

// How good the values are that an operator reads.
enum class Reads : uint8_t {
  kComputed,
  kOld,   // values of an earlier time, or what follows from them
  kLost,  // zeros in place of values
};

// The tensor that such an operator reads.
struct Source {
  explicit Source(const at::Tensor& tensor);

  c10::weak_intrusive_ptr<c10::StorageImpl> storage;
  int64_t offset = 0;
  int64_t elements = 0;
  int64_t dimensions = 0;
  int64_t longest = 0;  // dimension

  bool IsLike(const Source& other) const {
    return storage == other.storage && offset == other.offset && elements == other.elements;
  }
};

class KnownSizes {
 public:
  static KnownSizes& Global();

  // The size that the program is told. `computed`: negative: it was left out.
  int64_t Tell(uint64_t place, Reads reads, const Source& source, int64_t computed);

 private:
  static constexpr size_t kLatest = 8;
  struct MadeUp {
    Source source;
    int64_t size;
  };

  int64_t MakeUp(uint64_t place, const Source& source, int64_t computed) const;

  std::unordered_map<uint64_t, int64_t> largest_;  // by place, of exact sizes
  std::deque<MadeUp> made_up_;                     // the latest
};

}  // namespace vramstow::values

#endif  // VRAMSTOW_ADAPTERS_VALUES_KNOWN_SIZES_H_
