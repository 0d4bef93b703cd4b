// Pprof: who allocated what and who held the peak, as a profile for pprof and its kin.
//
// Each call stack is a sample with four values: allocations and their bytes, and the blocks and
// bytes of it that were live at the peak ("inuse", shown first). Leaf first, as pprof has it.
//
// Ownership: results are the caller's. Threads: pure functions. Errors: none. Units: bytes, counts,
// nanoseconds. Source of the format: profile.proto of github.com/google/pprof.
#ifndef VRAMSTOW_TOOLS_EXPORTS_PPROF_H_
#define VRAMSTOW_TOOLS_EXPORTS_PPROF_H_

#include <string>

#include "tools/analysis/facts/detail.h"

namespace vramstow {

// Gzip'ed, as pprof expects it.
std::string PprofProfile(const Facts& facts, const Detail& detail);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_EXPORTS_PPROF_H_
