// Rendezvous: how the ranks that were given the same unique id find each other.
//
// Idea: the id is a random name. Rank 0 listens at the abstract unix socket of that name, the
// others connect and say who they are, and when all are there each is sent the shared memory of the
// communicator. Such sockets have no file and end with their process, so nothing is left behind;
// they reach as far as the network namespace, which is one machine. Only processes of the same user
// are let in.
//
// Ownership: the descriptor that is returned is the caller's. Threads: any. Errors: -1 and one
// sentence in *problem. Units: milliseconds.
#ifndef VRAMSTOW_SIMULATOR_RUNTIME_LIBRARIES_NCCL_RENDEZVOUS_H_
#define VRAMSTOW_SIMULATOR_RUNTIME_LIBRARIES_NCCL_RENDEZVOUS_H_

#include <cstddef>
#include <functional>
#include <string>

#include "simulator/runtime/libraries/nccl/nccl.h"

namespace vramstow::simulator {

// A new id. False: the system gives no random numbers.
bool MakeUniqueId(ncclUniqueId* id);
// True if `id` came from MakeUniqueId or DeriveUniqueId.
bool IsUniqueId(const ncclUniqueId& id);
// The id of the communicator that is the `number`th to be made of the one with `id`, for those of
// its ranks that have `color` in common.
ncclUniqueId DeriveUniqueId(const ncclUniqueId& id, uint64_t number, int64_t color);

struct Rendezvous {
  ncclUniqueId id;
  int rank = 0;
  int ranks = 1;
  size_t slot_bytes = 0;  // rank 0's counts
  int timeout_ms = 0;
  std::function<bool()> given_up;
};

// Waits until all ranks have come. Returns the shared memory (board.h).
int Meet(const Rendezvous& meeting, std::string* problem);

}  // namespace vramstow::simulator

#endif  // VRAMSTOW_SIMULATOR_RUNTIME_LIBRARIES_NCCL_RENDEZVOUS_H_
