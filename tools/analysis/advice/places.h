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

// Returns the deepest source line of the program that is in the call stacks of most of these
// blocks. If that is the call of main() at module level, returns the line of main() that allocated
// most. With `stops_at_model` it is the line that calls the model, not a line of the model.
std::string CommonPlace(const Detail& detail, const std::vector<const Life*>& lives,
                        bool stops_at_model = false);
// Returns the deepest source line that these blocks have in common, as CommonPlace does. If there
// is no such line, returns the line of the first block. For blocks of backward passes, returns the
// line that called the last backward pass. `lives` must not be empty.
std::string PlaceInProgram(const FailureMoment& moment, const std::vector<const Life*>& lives);
// Returns the line of the program where the holder stored these blocks; empty if there is none. The
// holder is a chain of references, which begins with a function or a class and may end with a
// property. The result is the deepest line in the blocks' call stacks that is in that function,
// class or property.
std::string PlaceOfHolder(const Detail& detail, const std::vector<const Life*>& lives,
                          const std::string& holder);
// Returns the innermost line of the program in the site's call stack, or else the name of the site.
std::string PlaceOf(const Detail& detail, uint32_t site);
// Returns the line of the program that made the failed request. In a backward pass this is the line
// that called it. If there is no such line, returns the name of the site.
std::string PlaceOfRequest(const FailureMoment& moment);
// Returns the three source lines that allocated the most bytes, each with its bytes.
std::string LargestPlaces(const Detail& detail, const std::vector<const Life*>& lives);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_ANALYSIS_ADVICE_PLACES_H_
