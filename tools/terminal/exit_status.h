// The exit statuses that all commands share.
//
// Ownership: none. Threads: constants. Errors: none. Units: none.
#ifndef VRAMSTOW_TOOLS_TERMINAL_EXIT_STATUS_H_
#define VRAMSTOW_TOOLS_TERMINAL_EXIT_STATUS_H_

namespace vramstow {

inline constexpr int kExitOk = 0;
inline constexpr int kExitCannotWrite = 1;  // the result could not be written
// Whoever read the result has read enough: as shells have it, 128 and the number of SIGPIPE.
inline constexpr int kExitBrokenPipe = 128 + 13;
inline constexpr int kExitUsage = 2;  // wrong arguments, or input that cannot be used

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_TERMINAL_EXIT_STATUS_H_
