// Exports the call stacks that allocated memory and those that owned the memory at the peak, as a
// profile for pprof and similar programs.
//
// Each call stack is a sample with four values: the number of its allocations and their bytes, and
// the number and bytes of its blocks that were live at the peak ("inuse", shown first). The leaf
// comes first, as in pprof.
//
// Ownership: results are the caller's. Threads: pure functions. Errors: none. Units: bytes, counts,
// nanoseconds. Source of the format: profile.proto of github.com/google/pprof.
#ifndef VRAMSTOW_TOOLS_EXPORTS_PPROF_H_
#define VRAMSTOW_TOOLS_EXPORTS_PPROF_H_

#include <string>

#include "tools/analysis/facts/detail.h"

namespace vramstow {

// Returns the profile compressed with gzip, as pprof expects it.
std::string PprofProfile(const Facts& facts, const Detail& detail);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_EXPORTS_PPROF_H_
