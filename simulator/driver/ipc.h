// Device memory that other processes open, and theirs that this one opens.
//
// Ownership: what was opened belongs to the opener until it is closed; memory lives as long as
// somebody has it. Threads: the driver's lock. Errors: CUresult. Units: bytes.
#ifndef VRAMSTOW_SIMULATOR_DRIVER_IPC_H_
#define VRAMSTOW_SIMULATOR_DRIVER_IPC_H_

#include "simulator/device/exports.h"
#include "simulator/driver/call.h"

namespace vramstow::simulator {

// The device that one of the machine's cards is in this process; -1: it does not see the card.
int DeviceOfCard(const Spec& spec, int card);

// Shows the memory behind a ticket in this process, as a block of `device`. Null: it is gone, or
// there is no room for it.
Block* ShowTicket(Machine* machine, const Ticket& ticket, int device, const void* owner);

// The end of an imported block: its addresses are given back, the memory is its maker's.
void EndImport(Machine* machine, Block* block);

// A block of this process is about to end: handles to it are stale from now on.
void WithdrawBlock(const Block& block);

}  // namespace vramstow::simulator

#endif  // VRAMSTOW_SIMULATOR_DRIVER_IPC_H_
