// LikelyName: finds the name that a user probably meant by a misspelt one.
//
// Ownership: none. Threads: callable from any thread. Errors: none. Units: none.
#ifndef VRAMSTOW_TOOLS_BASE_LIKELY_NAME_H_
#define VRAMSTOW_TOOLS_BASE_LIKELY_NAME_H_

#include <string>
#include <string_view>
#include <vector>

namespace vramstow {

// Returns the known name that is the fewest edits away from `given`; empty if none is within a
// third of its length. An edit inserts, deletes or replaces a letter, or swaps two neighbours: the
// optimal string alignment distance (Damerau 1964, Wagner and Fischer 1974).
std::string LikelyName(std::string_view given, const std::vector<std::string>& known);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_BASE_LIKELY_NAME_H_
