// Exports: what a process lets other processes open, and how they reach it.
//
// Idea: a handle that crosses processes is a ticket of 64 bytes: which process, which slot of its
// table of exports, and where the bytes lie in a file that it holds open. The other process opens
// that file, and the table, through /proc/PID/fd, which the kernel allows to the same user only.
// The slot has a number that is given once, so a ticket of something that is gone is seen to be
// stale. An event's slot counts its records and how many of them have been reached; whoever waits
// looks at it.
//
// Ownership: the table lives until its process ends; a mapping of another's table as long as the
// object. Threads: slots are atomic; the rest under the owner's lock. Errors: false, null or -1.
// Units: bytes.
#ifndef VRAMSTOW_SIMULATOR_DEVICE_EXPORTS_H_
#define VRAMSTOW_SIMULATOR_DEVICE_EXPORTS_H_

#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

namespace vramstow::simulator {

enum class ExportKind : uint16_t { kNone, kMemory, kEvent, kPool, kPoolPointer };

struct ExportSlot {
  std::atomic<uint64_t> id;        // 0: nothing is here
  std::atomic<uint64_t> recorded;  // of an event: its records, by any process
  std::atomic<uint64_t> reached;   // the latest record that has been reached
  std::atomic<int64_t> recorder;   // the process of the latest record
};

struct Ticket {
  uint64_t magic = 0;
  ExportKind kind = ExportKind::kNone;
  uint16_t card = 0;  // the machine's number
  uint32_t slot = 0;
  int64_t process = 0;
  uint64_t process_start = 0;  // of the process, so that a number used again is told apart
  uint64_t id = 0;
  int32_t table_file = -1;   // descriptors of that process
  int32_t memory_file = -1;  // of memory: where it lies
  uint64_t offset = 0;
  uint64_t size = 0;
};
static_assert(sizeof(Ticket) == 64, "as large as the handles of the driver's API");

// This process's own.
class Exports {
 public:
  Exports() = default;
  Exports(const Exports&) = delete;
  Exports& operator=(const Exports&) = delete;

  // A ticket of this kind with a fresh slot; the caller fills in where the memory lies.
  bool Offer(ExportKind kind, int card, Ticket* ticket);
  void Withdraw(const Ticket& ticket);
  ExportSlot* Slot(uint32_t slot) { return &slots_[slot]; }

 private:
  bool Open();

  int file_ = -1;
  ExportSlot* slots_ = nullptr;
  uint64_t process_start_ = 0;
  uint64_t last_id_ = 0;
  uint32_t next_slot_ = 0;
};

// Is this a ticket of a process that lives and still offers it?
bool IsOffered(const Ticket& ticket);
bool IsOwn(const Ticket& ticket);

// A descriptor for the file that holds the ticket's memory; -1: it cannot be had.
int OpenMemory(const Ticket& ticket);

// The slot of another process's event; null: it cannot be had.
std::shared_ptr<ExportSlot> OpenSlot(const Ticket& ticket);

// When a process was started, in the kernel's ticks; 0: there is none that runs.
uint64_t ProcessStart(int64_t process);

}  // namespace vramstow::simulator

#endif  // VRAMSTOW_SIMULATOR_DEVICE_EXPORTS_H_
