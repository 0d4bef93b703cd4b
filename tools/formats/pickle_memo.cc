#include "tools/formats/pickle_memo.h"

#include "tools/formats/booked_vector.h"

namespace vramstow {
namespace {

// A number is stored in the plain table if it exceeds the table's size by at most this much.
constexpr uint64_t kGap = 64;
constexpr uint64_t kSparseEntryBytes = 48;

}  // namespace

bool PickleMemo::Put(uint64_t index, PickleValue value) {
  if (index > dense_.size() + kGap) {
    if (!arena_->Book(kSparseEntryBytes)) return false;
    if (sparse_.insert_or_assign(index, value).second) ++count_;
    return true;
  }
  while (dense_.size() <= index) {
    if (!BookOneMore(arena_, &dense_)) return false;
    dense_.emplace_back();
    is_set_.push_back(false);
  }
  if (!is_set_[index]) ++count_;
  dense_[index] = value;
  is_set_[index] = true;
  return true;
}

const PickleValue* PickleMemo::GetSparse(uint64_t index) const {
  const auto found = sparse_.find(index);
  return found == sparse_.end() ? nullptr : &found->second;
}

}  // namespace vramstow
