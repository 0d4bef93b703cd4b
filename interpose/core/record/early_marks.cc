#include "interpose/core/record/early_marks.h"

#include <cstring>

namespace vramstow {

void EarlyMarks::Remove(size_t place) {
  --count_;
  for (size_t i = place; i < count_; ++i) entries_[i] = entries_[i + 1];
}

// Forgets the innermost range. Returns false if none is kept.
bool EarlyMarks::EndRange() {
  for (size_t i = count_; i-- > 0;) {
    if (entries_[i].kind != MarkKind::kRangeBegins) continue;
    Remove(i);
    return true;
  }
  return false;
}

bool EarlyMarks::Keep(const void* thread, MarkKind kind, const char* text, uint64_t number) {
  const void* nobody = nullptr;
  if (!owner_.compare_exchange_strong(nobody, thread, std::memory_order_relaxed) &&
      nobody != thread) {
    return false;
  }
  if (kind == MarkKind::kRangeEnds) return EndRange();
  const size_t length = std::strlen(text);
  if (length >= sizeof Entry::text) return false;
  if (kind == MarkKind::kMoment) {
    // A later iteration takes the place of an earlier one.
    for (size_t i = 0; i < count_; ++i) {
      const Entry& entry = entries_[i];
      if (entry.kind != kind || std::strcmp(entry.text, text) != 0) continue;
      Remove(i);
      break;
    }
  }
  if (count_ == kMost) return false;
  Entry& entry = entries_[count_++];
  entry.kind = kind;
  entry.number = number;
  std::memcpy(entry.text, text, length + 1);
  return true;
}

}  // namespace vramstow
