// What a command reads that was given no input: the newest trace of the current folder.
//
// Ownership: none. Threads: one at a time. Errors: a sentence on stderr. Units: none.
#ifndef VRAMSTOW_TOOLS_COMMANDS_DEFAULT_INPUT_H_
#define VRAMSTOW_TOOLS_COMMANDS_DEFAULT_INPUT_H_

#include <string>
#include <vector>

#include "tools/pipeline/analyze.h"

namespace vramstow {

// Puts the newest trace into an empty `files`, and says on stderr which it is. False: there is
// none; the sentence is written.
bool TakeDefaultInput(const std::string& command, std::vector<std::string>* files);

// Says on stderr what of folders is not in the input.
void TellLeftOut(const std::string& command, const InputSet& inputs);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_COMMANDS_DEFAULT_INPUT_H_
