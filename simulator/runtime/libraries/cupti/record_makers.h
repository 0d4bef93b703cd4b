// Makes CUPTI's records of observed calls and work.
//
// Ownership: records are copied to the queue in records.h. Threads: any. Errors: none; no record is
// made of a kind that is not enabled. Units: those of CUPTI's records.
#ifndef VRAMSTOW_SIMULATOR_RUNTIME_LIBRARIES_CUPTI_RECORD_MAKERS_H_
#define VRAMSTOW_SIMULATOR_RUNTIME_LIBRARIES_CUPTI_RECORD_MAKERS_H_

#include <cstdint>

#include "simulator/runtime/profiler_place.h"

namespace vramstow::simulator {

// Adds the record of a kernel, copy or fill that has ended.
void AddWorkRecord(const ProfiledWork& work);
// Adds the record of a driver call that allocated or freed memory.
void AddMemoryRecord(const ProfiledCall& call, uint64_t address, uint64_t bytes);
// Adds the records of synchronization, recorded events and stream-ordered pools. `end` is a time of
// the client's clock.
void AddDriverRecords(const ProfiledCall& call, uint64_t end);
// Adds a record of the time that delivering buffers took.
void AddFlushOverhead(uint64_t start, uint64_t end);

}  // namespace vramstow::simulator

#endif  // VRAMSTOW_SIMULATOR_RUNTIME_LIBRARIES_CUPTI_RECORD_MAKERS_H_
