// SharedCard is what the processes that share a GPU must agree on: its identity and their table.
//
// Ownership: none. Threads: any. Errors: false, and a sentence in `why`. Units: none.
#ifndef VRAMSTOW_INTERPOSE_CORE_SHARE_SHARED_CARD_H_
#define VRAMSTOW_INTERPOSE_CORE_SHARE_SHARED_CARD_H_

#include <cstddef>
#include <cstdint>

#include "base/host_mapping.h"
#include "base/options.h"
#include "base/share_table.h"
#include "interpose/core/runtime/core.h"

namespace vramstow {

struct SharedCard {
  uint64_t number = 0;  // in the table; made of the UUID and of a simulated GPU's group, never 0
  char name[kDeviceUuidBytes] = {};
};

// Finds the identity of the GPU that is `device` in this process. Returns false if the driver does
// not report it.
bool IdentifyCard(const Driver& driver, int device, SharedCard* card);

// Opens the table in the folder that the user chose, and takes a place in it. If it returns false,
// the table may be open, and the caller closes it.
bool JoinTable(const ShareSetting& setting, ShareTable* table, char* why, size_t why_size);

// Returns the least time for which a group but `group` has used its GPUs, of those that have work:
// they wait, hold the turn or run. Returns 0 if there is none. Without this time a new process
// would have the GPU alone until it has used as much time as they. The table is locked.
uint64_t LeastUsedTime(const ShareTable& table, uint64_t group);

}  // namespace vramstow

#endif  // VRAMSTOW_INTERPOSE_CORE_SHARE_SHARED_CARD_H_
