// ContextRequest: recognises a failed request for a context, which has no size of its own.
//
// Ownership: none. Threads: pure functions, callable from any thread. Errors: none. Units: none.
#ifndef VRAMSTOW_TOOLS_ANALYSIS_FACTS_CONTEXT_REQUEST_H_
#define VRAMSTOW_TOOLS_ANALYSIS_FACTS_CONTEXT_REQUEST_H_

#include "tools/analysis/facts/failure_facts.h"

namespace vramstow {

// True if the driver refused to create a context. The driver decides how much memory it takes.
inline bool IsForContext(const OutOfMemoryFacts& failure) {
  return failure.requested_bytes == 0 && (failure.call.starts_with("cuDevicePrimaryCtxRetain") ||
                                          failure.call.starts_with("cuCtxCreate"));
}

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_ANALYSIS_FACTS_CONTEXT_REQUEST_H_
