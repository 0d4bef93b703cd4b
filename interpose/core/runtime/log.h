// What vramstow says to a person: whole lines on stderr, each with "vramstow: " in front. Never
// stdout, which belongs to the program.
//
// Ownership: copies nothing. Threads: any; a line is written with one write(). Errors: none are
// told; there is nowhere to tell them. No heap. Units: none.
#ifndef VRAMSTOW_INTERPOSE_CORE_RUNTIME_LOG_H_
#define VRAMSTOW_INTERPOSE_CORE_RUNTIME_LOG_H_

namespace vramstow {

// As printf, for one line without its end; cut at 1000 characters.
[[gnu::format(printf, 1, 2)]] void Log(const char* format, ...);

}  // namespace vramstow

#endif  // VRAMSTOW_INTERPOSE_CORE_RUNTIME_LOG_H_
