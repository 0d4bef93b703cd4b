// BookOneMore: lets a vector grow only where an arena's budget has the memory.
#ifndef VRAMSTOW_TOOLS_FORMATS_BOOKED_VECTOR_H_
#define VRAMSTOW_TOOLS_FORMATS_BOOKED_VECTOR_H_

#include <cstddef>
#include <vector>

#include "tools/formats/arena.h"

namespace vramstow {

// Doubles the room of a full vector; a function of its own, so that BookOneMore is inlined.
template <typename T>
[[gnu::noinline]] bool BookTwice(Arena* arena, std::vector<T>* values) {
  const size_t wanted = values->empty() ? 64 : values->size() * 2;
  if (!arena->Book((wanted - values->size()) * sizeof(T))) return false;
  values->reserve(wanted);
  return true;
}

// Room in the vector for one more value, booked in the arena. False: the budget does not have it.
template <typename T>
inline bool BookOneMore(Arena* arena, std::vector<T>* values) {
  return values->size() < values->capacity() || BookTwice(arena, values);
}

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_FORMATS_BOOKED_VECTOR_H_
