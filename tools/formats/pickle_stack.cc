#include "tools/formats/pickle_stack.h"

#include "tools/formats/pickle_builder.h"

namespace vramstow {

bool PickleStack::CloseOpenContainers(PickleBuilder* builder) {
  while (has_mark()) {
    const size_t first = PopMark();
    if (first > fence()) {
      const PickleValue target = values_[first - 1];
      if (target.is(PickleKind::kDict)) FoldOpenDict(first, builder);
      const bool open = target.is(PickleKind::kDict) || target.is(PickleKind::kList);
      if (open && !builder->Extend(target.items(), From(first))) return false;
    }
    Cut(first);
  }
  // An empty list or dict at the bottom of the stack is not worth returning.
  if (values_.empty()) return false;
  const PickleItems* items = values_.front().identity();
  return items != nullptr && items->size != 0;
}

// Keys and values alternate in a dict that is still open. If a value that is not a text stands
// where a key is expected, and a list is before it, the pickle would have appended the value to
// that list. This function appends it now.
void PickleStack::FoldOpenDict(size_t first, PickleBuilder* builder) {
  size_t kept = first;
  for (size_t key = first; key + 1 < values_.size();) {
    size_t end = key + 2;
    while (end < values_.size() && !values_[end].is(PickleKind::kText)) ++end;
    for (size_t child = end - 1; child > key + 1; --child) {
      const PickleValue parent = values_[child - 1];
      if (parent.is(PickleKind::kList)) {
        builder->Extend(parent.items(), std::span(values_).subspan(child, 1));
      }
    }
    values_[kept++] = values_[key];
    values_[kept++] = values_[key + 1];
    key = end;
  }
  Cut(kept);
}

}  // namespace vramstow
