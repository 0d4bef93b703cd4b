// GrowthWords: what the two pieces of advice about growing memory share, one by iteration and one
// by the hour.
//
// Ownership: the results are copies. Threads: pure functions, callable from any thread. Errors:
// none. Units: bytes.
#ifndef VRAMSTOW_TOOLS_ANALYSIS_ADVICE_GROWTH_WORDS_H_
#define VRAMSTOW_TOOLS_ANALYSIS_ADVICE_GROWTH_WORDS_H_

#include <string>

#include "tools/analysis/advice/evidence.h"
#include "tools/analysis/facts/facts.h"

namespace vramstow {

// Returns the bytes that call sites left behind from iteration to iteration; 0 if the iterations
// are not known, or if it is not worth advice.
uint64_t GrownByIterations(const Evidence& evidence);
// Returns a sentence, after a space, that says when the GPU is full if memory goes on growing as in
// the last quarters of the run. The text is empty if that is unknown or far away.
std::string WhenFull(const Facts& facts);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_ANALYSIS_ADVICE_GROWTH_WORDS_H_
