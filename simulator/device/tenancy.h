// Tenancy counts how much of each GPU is used by every process that shares it.
//
// Idea: a GPU belongs to a machine, not to a process. Processes that share GPUs use one small file
// of counters with a slot for each process; the sum of the slots is the memory in use on a GPU. A
// process owns its slot as long as it holds a lock on the slot's byte (a POSIX record lock, which
// the kernel drops when the process ends in any way). So the memory of a killed process is free
// again as soon as another process looks. The last process to leave removes the file. If killed
// processes left a file behind, the next process that makes a file removes the old one. A process
// that only reads takes no slot.
//
// A file that the SPEC names (share=FILE) stays when the last process has left, and is refused if
// it is not such a file or belongs to another user. Each slot also has the virtual time of its
// process, from which a coordinator of turns finds the latest one.
//
// Ownership: holds the file until the end of the process, or until Leave. Threads: any; a robust
// mutex in the file orders the processes. Errors: returns false, and one sentence. Units: bytes,
// virtual nanoseconds.
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

// Memory of one process on one GPU.
struct Tenant {
  pid_t process = 0;
  uint64_t bytes = 0;
};

class Tenancy {
 public:
  // `group` names the group of processes that share the GPUs and is never empty. The constructor
  // opens no file.
  Tenancy(const Spec& spec, const std::string& group);
  ~Tenancy();
  Tenancy(const Tenancy&) = delete;
  Tenancy& operator=(const Tenancy&) = delete;

  // Claims a slot for this process. Must be called before Take.
  bool Enter(std::string* error);

  // Charges `bytes` to a GPU that has `capacity` bytes. Returns false if fewer bytes are free after
  // the use by all processes.
  bool Take(int card, uint64_t bytes, uint64_t capacity);
  void Give(int card, uint64_t bytes);

  // Returns the bytes that all living processes use. Opens the file if a process has made it.
  uint64_t Used(int card);
  std::vector<Tenant> Tenants(int card);

  // Shows the virtual time of this process to the others. Has no effect without a slot.
  void PublishTime(uint64_t time_ns);
  // Returns the latest time that a living process has published, or 0.
  uint64_t LatestTime();

  // Gives back the slot, and removes the file if no other process uses it and the
  // SPEC did not name it.
  void Leave();

  const std::string& path() const { return path_; }
  // True if the SPEC names the file.
  bool is_named() const { return is_named_; }

 private:
  struct Table;

  // Opens the file, or creates it if `create` is true. If `create` is true and the function returns
  // true, the file's making byte (which only the process that creates the file may lock) is locked.
  bool Open(bool create, std::string* error) VRAMSTOW_REQUIRES(mutex_);
  // Returns what is wrong with the file that is open, or null.
  const char* FindFault() const VRAMSTOW_REQUIRES(mutex_);
  const char* Map(bool create) VRAMSTOW_REQUIRES(mutex_);
  const char* Prepare() VRAMSTOW_REQUIRES(mutex_);
  void Close() VRAMSTOW_REQUIRES(mutex_);
  bool EnterSlot() VRAMSTOW_REQUIRES(mutex_);
  bool IsAlive(unsigned slot) const VRAMSTOW_REQUIRES(mutex_);
  void SweepDead() VRAMSTOW_REQUIRES(mutex_);
  uint64_t Sum(int card) const VRAMSTOW_REQUIRES(mutex_);
  void Refresh() VRAMSTOW_REQUIRES(mutex_);

  std::string path_;
  bool is_named_;
  uint64_t machine_;  // hash of the GPUs; processes of a file simulate the same ones
  Mutex mutex_;       // must be acquired before the lock in the file
  int file_ VRAMSTOW_GUARDED_BY(mutex_) = -1;
  Table* table_ VRAMSTOW_GUARDED_BY(mutex_) = nullptr;
  int slot_ VRAMSTOW_GUARDED_BY(mutex_) = -1;
};

// Returns the name of the group that shares GPUs with this process. The name is the value of share=
// if given, otherwise the run that `run_id` names, otherwise an empty string, which means no group.
// `run_id` may be null.
std::string TenancyGroup(const Spec& spec, const char* run_id);

}  // namespace vramstow::simulator

#endif  // VRAMSTOW_SIMULATOR_DEVICE_TENANCY_H_
