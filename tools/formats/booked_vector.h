// BookOneMore makes room for one more value in a vector, if the budget of an arena has the memory.
#ifndef VRAMSTOW_TOOLS_FORMATS_BOOKED_VECTOR_H_
#define VRAMSTOW_TOOLS_FORMATS_BOOKED_VECTOR_H_

#include <cstddef>
#include <vector>

#include "tools/formats/arena.h"

namespace vramstow {

// Doubles the capacity of a full vector. This is a separate function, so that the compiler inlines
// BookOneMore.
template <typename T>
[[gnu::noinline]] bool BookTwice(Arena* arena, std::vector<T>* values) {
  const size_t wanted = values->empty() ? 64 : values->size() * 2;
  if (!arena->Book((wanted - values->size()) * sizeof(T))) return false;
  values->reserve(wanted);
  return true;
}

// Makes room for one more value in the vector, and books its memory in the arena. Returns false if
// the budget is too small.
template <typename T>
inline bool BookOneMore(Arena* arena, std::vector<T>* values) {
  return values->size() < values->capacity() || BookTwice(arena, values);
}

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_FORMATS_BOOKED_VECTOR_H_
