// What the application says about itself: marks, ranges and iterations, by the C API and by NVTX.
//
// Idea: an annotation is an event like any other, so that it has its place among the allocations.
// It is kept only where there is a trace already: nothing that is said before CUDA is used has
// memory to be laid beside.
//
// Ownership: texts are copied. Threads: any. Errors: VRAMSTOW_NOT_ACTIVE while there is no trace.
// Units: none.
#ifndef VRAMSTOW_INTERPOSE_CORE_RECORD_ANNOTATIONS_H_
#define VRAMSTOW_INTERPOSE_CORE_RECORD_ANNOTATIONS_H_

#include <cstddef>
#include <cstdint>

namespace vramstow {

// The C API (include/vramstow/vramstow.h).
int Mark(const char* text);
int PushRange(const char* text);
int PopRange();
int BeginIteration(uint64_t number);
int Dump(char* path, size_t size);

}  // namespace vramstow

#endif  // VRAMSTOW_INTERPOSE_CORE_RECORD_ANNOTATIONS_H_
