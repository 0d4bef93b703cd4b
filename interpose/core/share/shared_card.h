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
  uint64_t number = 0;  // in the table; made of the UUID, never 0
  char name[kDeviceUuidBytes] = {};
};

// Returns the identity of the GPU that is `device` in this process.
SharedCard IdentifyCard(const Driver& driver, int device);

// Opens the table in the folder that the user chose, and takes a place in it. If it returns false,
// the table may be open, and the caller closes it.
bool JoinTable(const ShareSetting& setting, ShareTable* table, char* why, size_t why_size);

// The time for which the processes of other groups have used their GPUs, the least of all of them,
// so that a new process does not have the GPU alone until it has used as much time as they. The
// table is locked.
uint64_t LeastUsedTime(const ShareTable& table);

}  // namespace vramstow

#endif  // VRAMSTOW_INTERPOSE_CORE_SHARE_SHARED_CARD_H_
