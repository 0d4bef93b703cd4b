// Defines the exit statuses that all commands share.
//
// Ownership: none. Threads: constants. Errors: none. Units: none.
#ifndef VRAMSTOW_TOOLS_TERMINAL_EXIT_STATUS_H_
#define VRAMSTOW_TOOLS_TERMINAL_EXIT_STATUS_H_

namespace vramstow {

inline constexpr int kExitOk = 0;
inline constexpr int kExitCannotWrite = 1;  // the result could not be written
// The status if the reader of stdout has closed the pipe. As in shells, it is 128 plus the number
// of SIGPIPE.
inline constexpr int kExitBrokenPipe = 128 + 13;
inline constexpr int kExitUsage = 2;  // wrong arguments, or input that cannot be used

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_TERMINAL_EXIT_STATUS_H_
