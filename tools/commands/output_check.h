// OutputCheck: refuses to replace a file that a command reads, or a trace, by the command's output.
// A trace is the only record of its run.
//
// Ownership: none. Threads: a pure function. Errors: one sentence. Units: none.
#ifndef VRAMSTOW_TOOLS_COMMANDS_OUTPUT_CHECK_H_
#define VRAMSTOW_TOOLS_COMMANDS_OUTPUT_CHECK_H_

#include <string>
#include <vector>

namespace vramstow {

// Returns one sentence if the output is one of the inputs, or a trace, under any name. Otherwise
// returns an empty text. `flag` is the flag that names the output. An empty output, and "-", are
// standard output.
std::string WhyNotWrite(const std::string& output, const std::vector<std::string>& inputs,
                        const std::string& flag);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_COMMANDS_OUTPUT_CHECK_H_
