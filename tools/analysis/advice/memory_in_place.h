// MemoryInPlace: which memory --offload can move when the GPU is full, and which stays in its
// place.
//
// Ownership: none. Threads: pure functions, callable from any thread. Errors: none. Units: bytes.
#ifndef VRAMSTOW_TOOLS_ANALYSIS_ADVICE_MEMORY_IN_PLACE_H_
#define VRAMSTOW_TOOLS_ANALYSIS_ADVICE_MEMORY_IN_PLACE_H_

#include <cstdint>

#include "tools/analysis/advice/cause.h"
#include "tools/analysis/explain/failure_moment.h"

namespace vramstow {

// True if the request is the last one that vramstow's pool refused with --offload=auto, although
// the program's own limits allowed it. Facts of the trace are about this request only.
bool IsLastWithOffload(const FailureMoment& moment);
// True if a stream was being captured when the pool refused its last request. Nothing moves
// meanwhile.
bool WasCapturing(const FailureMoment& moment);
// The memory that stayed on the GPU because captured graphs may use it, or because it belongs to
// private pools; 0 if that is not known of this request.
uint64_t BytesInPlace(const FailureMoment& moment);
// The live memory on the GPU that --offload can move.
uint64_t MovableBytes(const FailureMoment& moment);
// True if the request would have been served if the memory that stays in its place could move, and
// all other memory had moved as far as it was needed.
bool FailedByMemoryInPlace(const FailureMoment& moment);
// Returns a cause about this memory, with its size, place and evidence.
Cause OfMemoryInPlace(const FailureMoment& moment);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_ANALYSIS_ADVICE_MEMORY_IN_PLACE_H_
