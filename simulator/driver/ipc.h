// Exports device memory to other processes, and opens theirs.
//
// Ownership: opened memory belongs to the opener until it is closed; the bytes live as long as any
// process has them open. Threads: the caller holds the driver's lock. Errors: returns a CUresult.
// Units: bytes.
#ifndef VRAMSTOW_SIMULATOR_DRIVER_IPC_H_
#define VRAMSTOW_SIMULATOR_DRIVER_IPC_H_

#include "simulator/device/exports.h"
#include "simulator/driver/call.h"

namespace vramstow::simulator {

// Returns the device of this process that stands for one of the machine's GPUs, or -1 if the
// process does not see the GPU.
int DeviceOfCard(const Spec& spec, int card);

// Maps the memory behind a ticket into this process, as a block of `device`. Returns null if the
// memory no longer exists or cannot be mapped.
Block* ShowTicket(Machine* machine, const Ticket& ticket, int device, const void* owner);

// Ends an imported block: unmaps its addresses; the memory belongs to the process that made it.
void EndImport(Machine* machine, Block* block);

// Makes all handles to a block stale, because the block is about to end.
void WithdrawBlock(const Block& block);

}  // namespace vramstow::simulator

#endif  // VRAMSTOW_SIMULATOR_DRIVER_IPC_H_
