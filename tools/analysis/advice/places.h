// Places: finds the source lines of the program that blocks have in common.
//
// Ownership: the results are copies. Threads: pure functions, callable from any thread. Errors:
// none; the text is empty if no line is known. Units: bytes.
#ifndef VRAMSTOW_TOOLS_ANALYSIS_ADVICE_PLACES_H_
#define VRAMSTOW_TOOLS_ANALYSIS_ADVICE_PLACES_H_

#include <string>
#include <vector>

#include "tools/analysis/explain/failure_moment.h"
#include "tools/analysis/facts/detail.h"

namespace vramstow {

// Returns the deepest line of the program through which most of these blocks were allocated. With
// `stops_at_model` it is the line that calls the model, not one inside of it.
std::string CommonPlace(const Detail& detail, const std::vector<const Life*>& lives,
                        bool stops_at_model = false);
// Like CommonPlace, but if there is no common line, returns the line of the first block; for blocks
// of backward passes, the line that called the last of these passes. `lives` must not be empty.
std::string PlaceInProgram(const FailureMoment& moment, const std::vector<const Life*>& lives);
// Returns the line of the program where the holder stored these blocks: the deepest line in their
// call stacks that is in the function or class with which the holder's chain begins, or in the
// property with which it ends. Empty if there is none.
std::string PlaceOfHolder(const Detail& detail, const std::vector<const Life*>& lives,
                          const std::string& holder);
// Returns the innermost line of the program in the site's call stack, or else the name of the site.
std::string PlaceOf(const Detail& detail, uint32_t site);
// Returns the line of the program that made the failed request. In a backward pass this is the line
// that called it. If there is no such line, returns the name of the site.
std::string PlaceOfRequest(const FailureMoment& moment);
// Returns the three lines with the most bytes, with these bytes.
std::string LargestPlaces(const Detail& detail, const std::vector<const Life*>& lives);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_ANALYSIS_ADVICE_PLACES_H_
