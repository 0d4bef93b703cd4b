// HeldTraces: finds the traces that a process writes, from its data in /proc.
//
// Idea: a process has its trace mapped and open, so that /proc lists its path. A trace is created
// without a name, and gets its name later. Many file systems (for example ext4) then list it
// forever under the name that it never had, "/folder/#4711 (deleted)". Such a trace is found among
// the files of that folder by its device and inode.
// Of the files without a name, only those that are open count: a trace that has ended may stay
// mapped.
//
// Ownership: the results are copies. Threads: callable from any thread. Errors: what /proc or a
// folder does not show is left out. Units: none. Cost: a folder is listed only if the process has a
// file there that was created without a name; the number of folders and of entries is bounded.
#ifndef VRAMSTOW_TOOLS_TOP_HELD_TRACES_H_
#define VRAMSTOW_TOOLS_TOP_HELD_TRACES_H_

#include <sys/types.h>

#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace vramstow {

inline constexpr std::string_view kTraceEnding = ".stow";

// Returns the traces that a process has mapped or open.
std::set<std::string> TracesHeldBy(pid_t process);

// Returns the traces that a process has mapped or open, and those in its trace folder whose names
// end with its process id.
std::vector<std::string> TracesOfProcess(pid_t process);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_TOP_HELD_TRACES_H_
