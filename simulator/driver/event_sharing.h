// Shares events between processes.
//
// Idea: a shared event has a slot in the table of exports of the process that made it
// (simulator/device/exports.h). A process that records the event counts the record there, and
// counts it as reached later. A stream that waits for the record of another process waits in real
// time: a thread of the simulator polls the slot. If the recording process ends first, the record
// counts as reached, so no stream waits forever.
//
// Ownership: an event owns its share. Threads: the caller holds the driver's lock; the slot itself
// is atomic. Errors: returns a CUresult.
#ifndef VRAMSTOW_SIMULATOR_DRIVER_EVENT_SHARING_H_
#define VRAMSTOW_SIMULATOR_DRIVER_EVENT_SHARING_H_

#include "simulator/device/exports.h"
#include "simulator/driver/call.h"

namespace vramstow::simulator {

struct SharedEvent {
  std::shared_ptr<ExportSlot> slot;
  Ticket ticket;
  uint64_t own_record = 0;     // latest record by this process
  uint64_t waited_record = 0;  // record of another process that this one waits for
  Mark waited_mark;            // the mark that waits for it
  ~SharedEvent();
};

// Returns this process's table of exports.
Exports& OwnExports();

// Publishes the record that this process has just made to the other processes, and publishes later
// that it was reached.
void PublishRecord(Call& call, Event* event);

// Returns the marks (points in queues) that must be reached for the latest record, whichever
// process made it. PendingMarks leaves out those that are reached already.
std::vector<Mark> AwaitedMarks(Call& call, Event* event);
std::vector<Mark> PendingMarks(Call& call, Event* event);

// Returns whether the event is reached, and advances the clock as polling does.
bool AskEvent(Call& call, Event* event);

}  // namespace vramstow::simulator

#endif  // VRAMSTOW_SIMULATOR_DRIVER_EVENT_SHARING_H_
