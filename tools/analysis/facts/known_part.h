// KnownPart: which part of a program's run a recording covers.
//
// Ownership: none. Threads: pure functions, callable from any thread. Errors: none. Units: none.
#ifndef VRAMSTOW_TOOLS_ANALYSIS_FACTS_KNOWN_PART_H_
#define VRAMSTOW_TOOLS_ANALYSIS_FACTS_KNOWN_PART_H_

#include <cstdint>
#include <string>

#include "tools/analysis/facts/facts.h"

namespace vramstow {

enum class KnownPart : uint8_t {
  kWhole,      // to the end of the process
  kUntilOpen,  // up to where the process was killed, or up to now
  kBeginning,  // the recording ended, and the program went on
  kNewest,     // older events were overwritten, as the trace was to keep a limited size
  kWithGaps,   // events are missing somewhere
};

// Returns the part that the recording covers. For a file that is not a trace of vramstow, the
// result is kWhole, or kWithGaps if the file is damaged.
KnownPart KnownPartOf(const Facts& facts);

// True if the recording is complete, so that everything that happened is in it.
inline bool IsCertain(const Facts& facts) {
  const KnownPart known = KnownPartOf(facts);
  return known == KnownPart::kWhole || known == KnownPart::kUntilOpen;
}

// True if events were lost, so that the peak may have been higher than the recorded one.
bool MayHidePeak(const Facts& facts);

// True if only the memory of PyTorch's allocator was recorded, from some moment on, because the
// process was not started under vramstow. Then the use of the GPU is not known.
bool SeesOnlyFramework(const Facts& facts);

// Returns "up to 350 ms; what came later is not known"; empty for kWhole.
std::string KnownPartInWords(const Facts& facts);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_ANALYSIS_FACTS_KNOWN_PART_H_
