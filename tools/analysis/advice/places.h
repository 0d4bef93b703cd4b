// Places: the lines of the program that blocks have in common.
//
// Ownership: copies. Threads: pure functions. Errors: none; where no line is known the text is
// empty. Units: bytes.
#ifndef VRAMSTOW_TOOLS_ANALYSIS_ADVICE_PLACES_H_
#define VRAMSTOW_TOOLS_ANALYSIS_ADVICE_PLACES_H_

#include <string>
#include <vector>

#include "tools/analysis/explain/failure_moment.h"
#include "tools/analysis/facts/detail.h"

namespace vramstow {

// The deepest line of the program through which most of these blocks were allocated.
// `stops_at_model`: the line that calls the model, not one inside of it.
std::string CommonPlace(const Detail& detail, const std::vector<const Life*>& lives,
                        bool stops_at_model = false);
// The same; where they have none in common, the place of the first block, and of what backward
// passes made the line that called the last of them. Not for no blocks.
std::string PlaceInProgram(const FailureMoment& moment, const std::vector<const Life*>& lives);
// The deepest of the program's lines through which these blocks were allocated that stands in the
// function, or in a method of the class, with which the holder's chain begins, or in the property
// with which it ends; empty: there is none. That is where the program took what it keeps.
std::string PlaceOfHolder(const Detail& detail, const std::vector<const Life*>& lives,
                          const std::string& holder);
// The innermost line of the program in the site's call stack; else the site's name.
std::string PlaceOf(const Detail& detail, uint32_t site);
// Where the failed request was made: the program's line; of a backward pass the line that called
// it, and of nobody else's code. Else the site's name.
std::string PlaceOfRequest(const FailureMoment& moment);
// The three places with most of it, with their bytes.
std::string LargestPlaces(const Detail& detail, const std::vector<const Life*>& lives);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_ANALYSIS_ADVICE_PLACES_H_
