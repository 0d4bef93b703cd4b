#include "interpose/core/record/annotations.h"

#include <cerrno>

#include "interpose/core/record/trace.h"

#define VRAMSTOW_IMPLEMENTATION
#include "include/vramstow/vramstow.h"

namespace vramstow {

int Annotations::Record(MarkKind kind, const char* text, uint64_t number) const {
  return trace_.Mark(kind, text, number) != 0 ? VRAMSTOW_OK : VRAMSTOW_NOT_ACTIVE;
}

int Annotations::Mark(const char* text) const {
  return text == nullptr ? VRAMSTOW_INVALID : Record(MarkKind::kMoment, text, 0);
}

int Annotations::PushRange(const char* text) const {
  return text == nullptr ? VRAMSTOW_INVALID : Record(MarkKind::kRangeBegins, text, 0);
}

int Annotations::PopRange() const { return Record(MarkKind::kRangeEnds, "", 0); }

int Annotations::BeginIteration(uint64_t number) const {
  return Record(MarkKind::kMoment, "iteration", number);
}

int Annotations::Dump(char* path, size_t size) const {
  if (path == nullptr || size == 0) return VRAMSTOW_INVALID;
  const int error = trace_.WriteCopy(path, size);
  if (error == 0) return VRAMSTOW_OK;
  return error == EBADF ? VRAMSTOW_NOT_ACTIVE : VRAMSTOW_NO_FILE;
}

}  // namespace vramstow
