// What a census of a running process found, in words: for ctl and attach.
//
// Ownership: the caller's. Threads: a pure function. Errors: what the answer lacks is 0 or empty.
// Units: bytes.
#ifndef VRAMSTOW_TOOLS_COMMANDS_CENSUS_TEXT_H_
#define VRAMSTOW_TOOLS_COMMANDS_CENSUS_TEXT_H_

#include <string>

#include "tools/json/json_value.h"

namespace vramstow {

// `census`: as docs/census.md describes the JSON.
std::string CensusText(const JsonValue& census);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_COMMANDS_CENSUS_TEXT_H_
