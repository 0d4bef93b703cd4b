// Provides the third table of include/vramstow/framework.h. By this table an adapter records the
// census (a reference scan): which objects reference a framework's memory.
//
// Ownership: static storage; texts are copied. Threads: any, without locks of the framework that an
// allocation takes. Errors: codes of vramstow.h. Units: bytes.
#ifndef VRAMSTOW_INTERPOSE_CORE_FRAMEWORK_CENSUS_H_
#define VRAMSTOW_INTERPOSE_CORE_FRAMEWORK_CENSUS_H_

#include <cstddef>

struct vramstow_table;

namespace vramstow {

// Returns the table, or null if the settings are invalid or ask for no trace.
const vramstow_table* CensusTable();

// Writes a census (a reference scan) into the trace, if an adapter has installed a census taker.
// Called in two cases: an observer reported a failed request, or the driver had no memory for a
// library other than the framework.
void RunCensusAfterFailure(int device);
// These functions carry out a census (a reference scan) on request: RunCensus for the program, and
// RunCensusFor for the program or, if `told` is true, for a user of `vramstow ctl`. They write the
// result to `text` as one line of JSON; groups that do not fit are only counted. They return a code
// of vramstow.h.
int RunCensus(char* text, size_t size);
int RunCensusFor(bool by_command, char* text, size_t size);

// Removes the census taker, because no census can be carried out in a forked child. Called in the
// child; async-signal-safe.
void AbandonCensusAfterFork();

}  // namespace vramstow

#endif  // VRAMSTOW_INTERPOSE_CORE_FRAMEWORK_CENSUS_H_
