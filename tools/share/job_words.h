// JobWords: the command line of a job, as one text → the words of its command.
//
// Idea: a text without characters that a shell would interpret is split at its spaces. So the
// command itself is known, and vramstow finds its Python. Every other text is left to `sh -c`.
//
// Ownership: the results are copies. Threads: pure functions, callable from any thread. Errors:
// none. Units: none.
#ifndef VRAMSTOW_TOOLS_SHARE_JOB_WORDS_H_
#define VRAMSTOW_TOOLS_SHARE_JOB_WORDS_H_

#include <string>
#include <vector>

namespace vramstow {

// True if only a shell can run the text: it has quotes, variables, pipes or the like, or sets a
// variable first.
bool NeedsShell(const std::string& text);

// Returns the command of a job: its words, or "sh -c TEXT". Returns no word for a text of spaces.
std::vector<std::string> WordsOfJob(const std::string& text);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_SHARE_JOB_WORDS_H_
