// Writes messages to the user: single lines on stderr that begin with "vramstow: ". Nothing is ever
// written to stdout, and the callers repeat no message.
//
// Ownership: none. Threads: any. Errors: none; a failing write is ignored. Units: none.
#ifndef VRAMSTOW_SIMULATOR_RUNTIME_CUDART_MESSAGE_H_
#define VRAMSTOW_SIMULATOR_RUNTIME_CUDART_MESSAGE_H_

namespace vramstow::simulator::cudart {

// Writes the three parts and a newline with one write(); up to 500 characters.
void Log(const char* before, const char* name, const char* after);

}  // namespace vramstow::simulator::cudart

#endif  // VRAMSTOW_SIMULATOR_RUNTIME_CUDART_MESSAGE_H_
