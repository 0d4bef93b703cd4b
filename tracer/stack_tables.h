// StackTables stores which stacks, frames and code objects are in a trace.
//
// Idea: a stack consists of its innermost frame and the stack of that frame's caller, so stacks
// with the same outer frames share the records of these frames. A whole stack is identified by its
// hash (capture/stack_capture.h). For an event with a known stack, a look-up of the hash is enough.
//
// Ownership: StackInterner's, in memory that is zero at first. Threads: all threads may look up
// `stacks`, and use `capture` and `callers`; the other members are guarded by the TableWriter's
// lock. No heap. Memory: 8 MiB if all of it is used.
#ifndef VRAMSTOW_TRACER_STACK_TABLES_H_
#define VRAMSTOW_TRACER_STACK_TABLES_H_

#include <cstdint>

#include "tracer/capture/caller.h"
#include "tracer/capture/stack_capture.h"
#include "tracer/number_table.h"

namespace vramstow {

struct StackTables {
  StackCapture capture;
  CallerTable callers;
  uint16_t libraries[kMaxCallerObjects];  // the trace's numbers, by caller index; 0 if not written
  NumberTable<262144> stacks;             // whole stacks, by their hash
  NumberTable<524288> nodes;              // a frame and its caller's stack
  NumberTable<32768> codes;               // Python's code objects, by their fingerprint
  uint32_t node_count;
  uint32_t code_count;
  uint32_t further_functions;  // the code object for functions without room; 0 if not written
  bool is_full;                // recorded as a fact
  PythonCode code;
  char text[2048];
};

}  // namespace vramstow

#endif  // VRAMSTOW_TRACER_STACK_TABLES_H_
