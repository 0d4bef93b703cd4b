// Refuses the calls that a stand-in does not simulate: returns the library's own status "not
// supported", and prints each function's name once on stderr.
//
// The entry points are in common/refusals.S, one weak definition for each name in the library's
// table of names. If a source file of the library defines the function, that definition replaces
// the weak one.
//
// Ownership: none. Threads: any. Errors: none; a failing write to stderr is ignored. Nothing is
// allocated. Units: none.
#ifndef VRAMSTOW_SIMULATOR_RUNTIME_LIBRARIES_COMMON_REFUSAL_H_
#define VRAMSTOW_SIMULATOR_RUNTIME_LIBRARIES_COMMON_REFUSAL_H_

namespace vramstow::simulator {

// Facts about a library; each stand-in defines one object of this type.
struct LibraryIdentity {
  const char* name;          // the product's name, such as "cuBLAS"
  int refusal;               // the status of a call that is not simulated
  const char* refusal_name;  // that status as the header spells it
};
extern const LibraryIdentity kLibrary;  // NOLINT(readability-identifier-naming): constant

// Writes one line on stderr that explains what a stand-in cannot do.
void LogOnStderr(const char* sentence);

}  // namespace vramstow::simulator

#endif  // VRAMSTOW_SIMULATOR_RUNTIME_LIBRARIES_COMMON_REFUSAL_H_
