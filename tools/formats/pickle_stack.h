// PickleStack: the values that a pickle has made and not yet put into a container, with marks.
//
// Idea: a mark stands where a container begins. What lies below the last mark belongs to somebody
// else and may not be touched until the mark is taken.
//
// Ownership: books its memory in the arena, which must outlive it. Threads: one. Errors: false
// where the budget is spent. Units: values, counted from the bottom.
// Source: MARK, POP and POP_MARK in Python's documentation of pickletools.
#ifndef VRAMSTOW_TOOLS_FORMATS_PICKLE_STACK_H_
#define VRAMSTOW_TOOLS_FORMATS_PICKLE_STACK_H_

#include <cstddef>
#include <span>
#include <vector>

#include "tools/formats/arena.h"
#include "tools/formats/booked_vector.h"
#include "tools/formats/pickle_value.h"

namespace vramstow {

class PickleBuilder;

class PickleStack {
 public:
  explicit PickleStack(Arena* arena) : arena_(arena) {}

  size_t size() const { return values_.size(); }
  // Whether that many values lie above the last mark.
  bool Has(size_t count) const { return values_.size() - fence() >= count; }
  PickleValue top() const { return values_.back(); }
  PickleValue operator[](size_t index) const { return values_[index]; }
  std::span<const PickleValue> From(size_t first) const {
    return std::span(values_).subspan(first);
  }

  bool Push(PickleValue value) {
    if (!BookOneMore(arena_, &values_)) return false;
    values_.push_back(value);
    return true;
  }
  // Forgets the values from `first` on.
  void Cut(size_t first) { values_.resize(first); }

  bool has_mark() const { return !marks_.empty(); }
  // The first value above the last mark; only where there is one.
  size_t mark() const { return marks_.back(); }
  bool SetMark() {
    if (!BookOneMore(arena_, &marks_)) return false;
    marks_.push_back(values_.size());
    return true;
  }
  // The mark, which is taken.
  size_t TakeMark() {
    const size_t first = marks_.back();
    marks_.pop_back();
    return first;
  }

  // Closes the lists and dicts that are still open, so that the bottom has all that was read.
  // False: nothing worth keeping was read.
  bool CloseOpenContainers(PickleBuilder* builder);

 private:
  size_t fence() const { return marks_.empty() ? 0 : marks_.back(); }
  void FoldOpenDict(size_t first, PickleBuilder* builder);

  Arena* arena_;
  std::vector<PickleValue> values_;
  std::vector<size_t> marks_;
};

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_FORMATS_PICKLE_STACK_H_
