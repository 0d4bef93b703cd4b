// What a trace says about the process, the settings, the driver and the devices: the list of facts
// in docs/architecture.md.
//
// Ownership: the recorder copies. Threads: called by the one that made the trace. Errors: what
// cannot be found out is left out. No heap; the driver is asked only what is legal directly after
// cuInit. Units: in the facts' names.
#ifndef VRAMSTOW_INTERPOSE_CORE_RECORD_FACTS_H_
#define VRAMSTOW_INTERPOSE_CORE_RECORD_FACTS_H_

#include <sys/types.h>

#include <cstdint>

#include "base/options.h"
#include "interpose/core/runtime/driver.h"
#include "tracer/recorder.h"

namespace vramstow {

// The last part of the executable's name. Lives as long as the process.
const char* ProgramName();

// The process's number in a job of many, as its launcher says it; null where none does.
const char* RankText();
// The same of its number on its machine.
const char* LocalRankText();

// When a process began, in clock ticks since boot; 0 where that cannot be read.
uint64_t ProcessStart(pid_t process);

// Asks the C library for the time zone, which reads files and takes its lock: once, at the start.
void FindUtcOffset();
// What the trace of this process is called, without ".stow" (trace_name.h). `is_shown`: whether it
// may say what the program runs.
void NameTrace(bool is_shown, char* stem, size_t size);

void DescribeProcess(Recorder* recorder, const Options& options);
void DescribeDriver(Recorder* recorder, const Driver& driver);

}  // namespace vramstow

#endif  // VRAMSTOW_INTERPOSE_CORE_RECORD_FACTS_H_
