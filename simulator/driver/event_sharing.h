// Events that several processes know.
//
// Idea: such an event has a slot in the table of exports of the process that made it
// (simulator/device/exports.h). Whoever records it counts the record there, and counts it as
// reached when it is. A stream that waits for another process's record waits really: a thread of
// the simulator looks at the slot. If the recording process ends first, the record counts as
// reached, so nobody waits for ever.
//
// Ownership: an event owns its share. Threads: the driver's lock, the slot itself is atomic.
// Errors: CUresult.
#ifndef VRAMSTOW_SIMULATOR_DRIVER_EVENT_SHARING_H_
#define VRAMSTOW_SIMULATOR_DRIVER_EVENT_SHARING_H_

#include "simulator/device/exports.h"
#include "simulator/driver/call.h"

namespace vramstow::simulator {

struct SharedEvent {
  std::shared_ptr<ExportSlot> slot;
  Ticket ticket;
  uint64_t own_record = 0;     // the latest by this process
  uint64_t waited_record = 0;  // by another: somebody here waits for it
  Mark waited_mark;            // with this
  ~SharedEvent();
};

// This process's table.
Exports& OwnExports();

// This process has just recorded the event: the others see when it is reached.
void PublishRecord(Call& call, Event* event);

// What must be reached for the latest record, by whichever process; reached ones are left out.
std::vector<Mark> PendingMarks(Call& call, Event* event);

// Asks once, as polling does.
bool AskEvent(Call& call, Event* event);

}  // namespace vramstow::simulator

#endif  // VRAMSTOW_SIMULATOR_DRIVER_EVENT_SHARING_H_
