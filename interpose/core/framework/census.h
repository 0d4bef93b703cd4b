// Who holds a framework's memory: the third table of include/vramstow/framework.h.
//
// Ownership: static storage; texts are copied. Threads: any, without locks of the framework that an
// allocation takes. Errors: codes of vramstow.h. Units: bytes.
#ifndef VRAMSTOW_INTERPOSE_CORE_FRAMEWORK_CENSUS_H_
#define VRAMSTOW_INTERPOSE_CORE_FRAMEWORK_CENSUS_H_

#include <cstddef>

struct vramstow_table;

namespace vramstow {

// Null: nothing is traced here.
const vramstow_table* CensusTable();

// Takes a census, if somebody can: a failure was told of by an observer, or a library beside the
// framework had no memory of the driver; it is in the trace.
void TakeCensusAfterFailure(int device);
// The same because the program wants one, or, `told`, vramstow ctl. Writes one line of JSON that
// ends with as many of the groups as there is room for; a code of vramstow.h.
int TakeCensus(char* text, size_t size);
int TakeCensusFor(bool told, char* text, size_t size);

// In a forked child, async-signal-safe: nobody can take one there.
void AbandonCensusAfterFork();

}  // namespace vramstow

#endif  // VRAMSTOW_INTERPOSE_CORE_FRAMEWORK_CENSUS_H_
