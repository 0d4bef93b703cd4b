// Tenancy: how much of each card every process that shares it holds.
//
// Idea: a card belongs to a machine, not to a process. Processes that share cards keep one small
// file of counters, a slot each; the sum of the slots is what a card has in use. A slot is its
// process's for as long as that holds a lock on the slot's own byte (a POSIX record lock, which the
// kernel drops with the process, however it ends), so what a killed process held is free again as
// soon as somebody looks. The last process to leave removes the file; what a killed one left is
// removed by whoever makes the next. Whoever only looks takes no slot.
//
// Ownership: holds the file until the end of the process, or until Leave. Threads: any; a robust
// mutex in the file orders the processes. Errors: false, and one sentence. Units: bytes.
#ifndef VRAMSTOW_SIMULATOR_DEVICE_TENANCY_H_
#define VRAMSTOW_SIMULATOR_DEVICE_TENANCY_H_

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "simulator/device/spec.h"

namespace vramstow::simulator {

// One process on one card.
struct Tenant {
  pid_t process = 0;
  uint64_t bytes = 0;
};

class Tenancy {
 public:
  // `group`: the name of those who share; never empty. Opens nothing yet.
  Tenancy(const Spec& spec, const std::string& group);
  ~Tenancy();
  Tenancy(const Tenancy&) = delete;
  Tenancy& operator=(const Tenancy&) = delete;

  // Takes a slot for this process. Needed before Take.
  bool Enter(std::string* error);

  // `bytes` of a card with `capacity` bytes. False: the processes together have not enough left.
  bool Take(int card, uint64_t bytes, uint64_t capacity);
  void Give(int card, uint64_t bytes);

  // By all living processes. Opens the file if somebody has made it.
  uint64_t Used(int card);
  std::vector<Tenant> Tenants(int card);

  // The slot is given back; the file too if nobody else is in it.
  void Leave();

  const std::string& path() const { return path_; }

 private:
  struct Table;

  // With `create` the making byte is locked afterwards.
  bool Open(bool create, std::string* error) VRAMSTOW_REQUIRES(mutex_);
  bool Prepare() VRAMSTOW_REQUIRES(mutex_);
  void Close() VRAMSTOW_REQUIRES(mutex_);
  bool EnterSlot() VRAMSTOW_REQUIRES(mutex_);
  bool IsAlive(unsigned slot) const VRAMSTOW_REQUIRES(mutex_);
  void SweepDead() VRAMSTOW_REQUIRES(mutex_);
  uint64_t Sum(int card) const VRAMSTOW_REQUIRES(mutex_);
  void Refresh() VRAMSTOW_REQUIRES(mutex_);

  std::string path_;
  Mutex mutex_;  // taken before the file's
  int file_ VRAMSTOW_GUARDED_BY(mutex_) = -1;
  Table* table_ VRAMSTOW_GUARDED_BY(mutex_) = nullptr;
  int slot_ VRAMSTOW_GUARDED_BY(mutex_) = -1;
};

// Who shares cards with this process: what share= says, else the run that `run_id` names, else
// nobody (empty). A null `run_id` is none.
std::string TenancyGroup(const Spec& spec, const char* run_id);

}  // namespace vramstow::simulator

#endif  // VRAMSTOW_SIMULATOR_DEVICE_TENANCY_H_
