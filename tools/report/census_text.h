// CensusText: describes in words the result of a census (a reference scan) of a running process,
// for `vramstow ctl` and `vramstow attach`.
//
// Ownership: the caller owns the result. Threads: a pure function, callable from any thread.
// Errors: a value that is missing in the answer is 0 or empty. Units: bytes.
#ifndef VRAMSTOW_TOOLS_REPORT_CENSUS_TEXT_H_
#define VRAMSTOW_TOOLS_REPORT_CENSUS_TEXT_H_

#include <string>

#include "tools/json/json_value.h"

namespace vramstow {

// Returns the description. `census` is the JSON that docs/census.md describes.
std::string CensusText(const JsonValue& census);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_REPORT_CENSUS_TEXT_H_
