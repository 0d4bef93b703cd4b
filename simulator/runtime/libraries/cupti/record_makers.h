// What was learnt, as CUPTI's records.
//
// Ownership: records are copied to where records.h keeps them. Threads: any. Errors: none: a kind
// that is not enabled is not made. Units: as CUPTI's records.
#ifndef VRAMSTOW_SIMULATOR_RUNTIME_LIBRARIES_CUPTI_RECORD_MAKERS_H_
#define VRAMSTOW_SIMULATOR_RUNTIME_LIBRARIES_CUPTI_RECORD_MAKERS_H_

#include <cstdint>

#include "simulator/runtime/profiler_place.h"

namespace vramstow::simulator {

// Kernels, copies and fills that have ended.
void AddWorkRecord(const ProfiledWork& work);
// A call of the driver gave or took memory.
void AddMemoryRecord(const ProfiledCall& call, uint64_t address, uint64_t bytes);
// Synchronisation, recorded events, stream-ordered pools. `end`: the client's time.
void AddDriverRecords(const ProfiledCall& call, uint64_t end);
// The time that handing out buffers took.
void AddFlushOverhead(uint64_t start, uint64_t end);

}  // namespace vramstow::simulator

#endif  // VRAMSTOW_SIMULATOR_RUNTIME_LIBRARIES_CUPTI_RECORD_MAKERS_H_
