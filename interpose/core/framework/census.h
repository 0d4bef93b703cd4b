// The census (a reference scan) finds the objects that hold a framework's memory: the third table
// of include/vramstow/framework.h.
//
// Ownership: static storage; texts are copied. Threads: any, without locks of the framework that an
// allocation takes. Errors: codes of vramstow.h. Units: bytes.
#ifndef VRAMSTOW_INTERPOSE_CORE_FRAMEWORK_CENSUS_H_
#define VRAMSTOW_INTERPOSE_CORE_FRAMEWORK_CENSUS_H_

#include <cstddef>

struct vramstow_table;

namespace vramstow {

// Returns null if nothing is traced here.
const vramstow_table* CensusTable();

// Takes a census into the trace, if a census taker is installed. Called in two cases: an observer
// reported a failed request, or the driver had no memory for a library other than the framework.
void RunCensusAfterFailure(int device);
// Takes a census because the program requests it or, if `told` is true, because a user of `vramstow
// ctl` requests it. Writes one line of JSON, in which groups that do not fit are only counted.
// Returns a code of vramstow.h.
int RunCensus(char* text, size_t size);
int RunCensusFor(bool told, char* text, size_t size);

// Called in a forked child, async-signal-safe: no census can be taken there.
void AbandonCensusAfterFork();

}  // namespace vramstow

#endif  // VRAMSTOW_INTERPOSE_CORE_FRAMEWORK_CENSUS_H_
