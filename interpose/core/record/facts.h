// Writes the facts about the process, the settings, the driver and the devices into a trace.
// docs/contracts.md lists them.
//
// Ownership: the recorder copies the facts. Threads: called by the thread that made the trace.
// Errors: facts that cannot be found are omitted. No heap. Only those functions of the driver are
// called that are legal directly after cuInit. Units: in the facts' names.
#ifndef VRAMSTOW_INTERPOSE_CORE_RECORD_FACTS_H_
#define VRAMSTOW_INTERPOSE_CORE_RECORD_FACTS_H_

#include <sys/types.h>

#include <cstdint>

#include "base/options.h"
#include "interpose/core/runtime/driver.h"
#include "tracer/recorder.h"

namespace vramstow {

// Returns the last part of the executable's path. The text lives as long as the process.
const char* ProgramName();

// Returns the rank of the process in its job as the launcher set it, or null if no launcher did.
const char* RankText();
// Returns the rank of the process on this machine as the launcher set it, or null if no launcher
// did.
const char* LocalRankText();

// Returns the start time of a process in clock ticks since boot, or 0 if it cannot be read.
uint64_t ProcessStart(pid_t process);

// Asks the C library for the time zone. This reads files and takes a lock of the library, so it is
// done once, at the start.
void FindUtcOffset();
// Writes the name of this process's trace, without ".stow" (trace_name.h), to `stem`. `is_shown` is
// true if the name may contain the script that the program runs.
void NameTrace(bool is_shown, char* stem, size_t size);

void DescribeProcess(Recorder* recorder, const Options& options);
void DescribeDriver(Recorder* recorder, const Driver& driver);

}  // namespace vramstow

#endif  // VRAMSTOW_INTERPOSE_CORE_RECORD_FACTS_H_
