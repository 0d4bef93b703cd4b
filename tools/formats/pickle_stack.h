// PickleStack holds the values that a pickle has made and not yet put into a container. It also
// holds marks, which the opcode MARK sets.
//
// Idea: a mark is set where a container begins. Values below the last mark belong to an outer
// container and must not be changed until the mark is removed.
//
// Ownership: books its memory in the arena, which must outlive it. Threads: one. Errors: returns
// false if the budget is spent. Units: values, counted from the bottom.
//
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
  // True if at least `count` values are above the last mark.
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
  // Removes the value at the index `first` and all values above it.
  void Cut(size_t first) { values_.resize(first); }

  bool has_mark() const { return !marks_.empty(); }
  // The index of the first value above the last mark; there must be a mark.
  size_t mark() const { return marks_.back(); }
  bool SetMark() {
    if (!BookOneMore(arena_, &marks_)) return false;
    marks_.push_back(values_.size());
    return true;
  }
  // Removes the last mark and returns it.
  size_t PopMark() {
    const size_t first = marks_.back();
    marks_.pop_back();
    return first;
  }

  // Closes the lists and dicts that are still open, so that the bottom value contains all that was
  // read. Returns false if nothing useful was read.
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
