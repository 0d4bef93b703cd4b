// DefaultInput: the input of a command that was given none: the newest trace of the current folder.
//
// Ownership: none. Threads: used by one thread at a time. Errors: a sentence on stderr. Units:
// none.
#ifndef VRAMSTOW_TOOLS_COMMANDS_DEFAULT_INPUT_H_
#define VRAMSTOW_TOOLS_COMMANDS_DEFAULT_INPUT_H_

#include <string>
#include <vector>

#include "tools/pipeline/analyze.h"

namespace vramstow {

// Adds the newest trace to an empty `files`, and prints its name on stderr. Returns false if there
// is none, after writing one sentence.
bool FindDefaultInput(const std::string& command, std::vector<std::string>* files);

// Prints on stderr which files of folders are not in the input.
void PrintLeftOut(const std::string& command, const InputSet& inputs);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_COMMANDS_DEFAULT_INPUT_H_
