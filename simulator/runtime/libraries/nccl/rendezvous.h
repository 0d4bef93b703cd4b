// Rendezvous connects the ranks that were given the same unique id.
//
// Idea: the id is a random name. Rank 0 listens at the abstract unix socket of that name, and the
// other ranks connect and send their numbers. When all have connected, rank 0 sends each the shared
// memory of the communicator. Such sockets have no file and end with their process, so nothing is
// left behind. They work within a network namespace, which is one machine. Only processes of the
// same user are accepted.
//
// Ownership: the returned descriptor belongs to the caller. Threads: any. Errors: returns -1 and
// one sentence in *problem. Units: milliseconds.
#ifndef VRAMSTOW_SIMULATOR_RUNTIME_LIBRARIES_NCCL_RENDEZVOUS_H_
#define VRAMSTOW_SIMULATOR_RUNTIME_LIBRARIES_NCCL_RENDEZVOUS_H_

#include <cstddef>
#include <functional>
#include <string>

#include "simulator/runtime/libraries/nccl/nccl.h"

namespace vramstow::simulator {

// Makes a new id. Returns false if the system gives no random numbers.
bool MakeUniqueId(ncclUniqueId* id);
// True if `id` came from MakeUniqueId or DeriveUniqueId.
bool IsUniqueId(const ncclUniqueId& id);
// Returns the id of a new communicator that is made from the communicator with `id`. `number`
// counts the communicators made from it. The ranks with the same `color` get the same id.
ncclUniqueId DeriveUniqueId(const ncclUniqueId& id, uint64_t number, int64_t color);

struct Rendezvous {
  ncclUniqueId id;
  int rank = 0;
  int ranks = 1;
  size_t slot_bytes = 0;  // the value of rank 0 is used
  int timeout_ms = 0;
  std::function<bool()> given_up;
};

// Waits until all ranks have connected. Returns the descriptor of the shared memory
// (shared_segment.h).
int ConnectRanks(const Rendezvous& rendezvous, std::string* problem);

}  // namespace vramstow::simulator

#endif  // VRAMSTOW_SIMULATOR_RUNTIME_LIBRARIES_NCCL_RENDEZVOUS_H_
