// Log writes one line for the user to stderr, with "vramstow: " in front. It never writes to
// stdout, which belongs to the program.
//
// Ownership: copies nothing. Threads: any; each line is one write(). Errors: a failed write is
// ignored. No heap. Units: none.
#ifndef VRAMSTOW_INTERPOSE_CORE_RUNTIME_LOG_H_
#define VRAMSTOW_INTERPOSE_CORE_RUNTIME_LOG_H_

namespace vramstow {

// Formats like printf and adds the end of the line; longer lines are cut at 1000 characters.
[[gnu::format(printf, 1, 2)]] void Log(const char* format, ...);

}  // namespace vramstow

#endif  // VRAMSTOW_INTERPOSE_CORE_RUNTIME_LOG_H_
