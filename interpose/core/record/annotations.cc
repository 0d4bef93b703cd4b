#include "interpose/core/record/annotations.h"

#include <cerrno>

#include "interpose/core/core.h"

#define VRAMSTOW_IMPLEMENTATION
#include "include/vramstow/vramstow.h"

namespace vramstow {
namespace {

int Tell(MarkKind kind, const char* text, uint64_t number) {
  const bool is_told = TheCore().trace.Mark(kind, text, number) != 0;
  return is_told ? VRAMSTOW_OK : VRAMSTOW_NOT_ACTIVE;
}

}  // namespace

int Mark(const char* text) {
  return text == nullptr ? VRAMSTOW_INVALID : Tell(MarkKind::kMoment, text, 0);
}

int PushRange(const char* text) {
  return text == nullptr ? VRAMSTOW_INVALID : Tell(MarkKind::kRangeBegins, text, 0);
}

int PopRange() { return Tell(MarkKind::kRangeEnds, "", 0); }

int BeginIteration(uint64_t number) { return Tell(MarkKind::kMoment, "iteration", number); }

int Dump(char* path, size_t size) {
  if (path == nullptr || size == 0) return VRAMSTOW_INVALID;
  const int error = TheCore().trace.WriteCopy(path, size);
  if (error == 0) return VRAMSTOW_OK;
  return error == EBADF ? VRAMSTOW_NOT_ACTIVE : VRAMSTOW_NO_FILE;
}

}  // namespace vramstow
