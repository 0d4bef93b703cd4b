// What a stand-in does with the calls that it does not simulate: it refuses, with the library's own
// status "not supported", and says so once on stderr for each function.
//
// The entry points themselves come from common/refusals.S, one weak definition for each name in the
// library's table of names; a function that a source file of the library defines takes its place.
//
// Ownership: none. Threads: any. Errors: none; a failing write to stderr is ignored. Nothing is
// allocated. Units: none.
#ifndef VRAMSTOW_SIMULATOR_RUNTIME_LIBRARIES_COMMON_REFUSAL_H_
#define VRAMSTOW_SIMULATOR_RUNTIME_LIBRARIES_COMMON_REFUSAL_H_

namespace vramstow::simulator {

// What a library says of itself; each stand-in defines the one object.
struct LibraryIdentity {
  const char* name;          // as people call it: "cuBLAS"
  int refusal;               // the status of a call that is not simulated
  const char* refusal_name;  // the same as the header spells it
};
extern const LibraryIdentity kLibrary;  // NOLINT(readability-identifier-naming): constant

// Writes one line on stderr: a stand-in's only way to speak, for what it cannot do as asked.
void LogOnStderr(const char* sentence);

}  // namespace vramstow::simulator

#endif  // VRAMSTOW_SIMULATOR_RUNTIME_LIBRARIES_COMMON_REFUSAL_H_
