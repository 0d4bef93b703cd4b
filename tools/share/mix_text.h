// MixText: the report of a mix as a table and as JSON.
//
// Ownership: the results are copies. Threads: pure functions, callable from any thread. Errors:
// none. Units: the JSON has seconds of the simulated GPU and bytes.
#ifndef VRAMSTOW_TOOLS_SHARE_MIX_TEXT_H_
#define VRAMSTOW_TOOLS_SHARE_MIX_TEXT_H_

#include <string>

#include "tools/json/json_value.h"
#include "tools/share/mix.h"

namespace vramstow {

std::string TextOf(const MixReport& report);
JsonValue JsonOf(const MixReport& report);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_SHARE_MIX_TEXT_H_
