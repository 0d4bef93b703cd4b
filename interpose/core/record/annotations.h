// Annotations records the marks, ranges and iterations that the application sets by the C API.
//
// Idea: an annotation is an event like any other, so it is ordered among the allocations. Before
// the program uses CUDA there is no trace: EarlyMarks keeps what contains the first memory.
//
// Ownership: texts are copied. Threads: any. Errors: the codes of include/vramstow/vramstow.h;
// VRAMSTOW_NOT_ACTIVE if there is no trace. Units: none.
#ifndef VRAMSTOW_INTERPOSE_CORE_RECORD_ANNOTATIONS_H_
#define VRAMSTOW_INTERPOSE_CORE_RECORD_ANNOTATIONS_H_

#include <cstddef>
#include <cstdint>

#include "base/event.h"
#include "base/typed_event.h"
#include "interpose/core/runtime/core.h"

namespace vramstow {

class Annotations {
 public:
  constexpr explicit Annotations(Trace& trace) : trace_(trace) {}
  Annotations(const Annotations&) = delete;
  Annotations& operator=(const Annotations&) = delete;

  int Mark(const char* text) const;
  int PushRange(const char* text) const;
  int PopRange() const;
  int BeginIteration(uint64_t number) const;
  int Dump(char* path, size_t size) const;

 private:
  int Record(MarkKind kind, const char* text, uint64_t number) const;

  Trace& trace_;
};

}  // namespace vramstow

#endif  // VRAMSTOW_INTERPOSE_CORE_RECORD_ANNOTATIONS_H_
