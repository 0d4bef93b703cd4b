// PickleMemo stores the values to which a pickle has assigned numbers, so that the pickle can refer
// to them again.
//
// Idea: the numbers of an ordinary pickle count up from 0, so they index a plain table. A number
// far beyond those is stored in a hash table, because a file of ten bytes must not cost a table of
// gigabytes.
//
// Ownership: books its memory in the arena, which must outlive it. Threads: one. Errors: returns
// false if the budget is spent; returns no value if nothing was stored. Units: none.
// Source: PUT, GET and MEMOIZE in Python's documentation of pickletools.
#ifndef VRAMSTOW_TOOLS_FORMATS_PICKLE_MEMO_H_
#define VRAMSTOW_TOOLS_FORMATS_PICKLE_MEMO_H_

#include <cstdint>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "tools/formats/arena.h"
#include "tools/formats/pickle_value.h"

namespace vramstow {

class PickleMemo {
 public:
  explicit PickleMemo(Arena* arena) : arena_(arena) {}

  // The number of stored values, which is the number that MEMOIZE assigns to the next value.
  uint64_t count() const { return count_; }
  bool Put(uint64_t index, PickleValue value);
  // Returns the value that is stored under this number, or null if there is none. The pointer is
  // valid until the next Put.
  const PickleValue* Get(uint64_t index) const {
    if (index < dense_.size() && is_set_[index]) return &dense_[index];
    return sparse_.empty() ? nullptr : GetSparse(index);
  }

 private:
  const PickleValue* GetSparse(uint64_t index) const;

  Arena* arena_;
  std::vector<PickleValue> dense_;
  std::vector<bool> is_set_;
  absl::flat_hash_map<uint64_t, PickleValue> sparse_;
  uint64_t count_ = 0;
};

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_FORMATS_PICKLE_MEMO_H_
