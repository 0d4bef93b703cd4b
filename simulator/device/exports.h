// Exports memory and events of this process, and opens those of other processes.
//
// Idea: a handle that crosses processes is a ticket of 64 bytes: the process, the slot in its table
// of exports, and the position of the bytes in a file that the process holds open. The other
// process opens that file, and the table, through /proc/PID/fd, which the kernel allows only to the
// same user. The slot has a number that is used once, so a ticket of an object that no longer
// exists is detected. The slot of an event counts its records and how many of them have been
// reached; a process that waits for the event reads these counts.
//
// Ownership: the table lives until its process ends; a mapping of another process's table lives as
// long as the imported object. Threads: slots are atomic; the rest is under the driver's lock.
// Errors: returns false, null or -1. Units: bytes.
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
  std::atomic<uint64_t> id;        // 0: the slot is free
  std::atomic<uint64_t> recorded;  // number of records of the event, by any process
  std::atomic<uint64_t> reached;   // the latest record that has been reached
  std::atomic<int64_t> recorder;   // the process of the latest record
};

struct Ticket {
  uint64_t magic = 0;
  ExportKind kind = ExportKind::kNone;
  uint16_t card = 0;  // number of the GPU in the machine
  uint32_t slot = 0;
  int64_t process = 0;
  uint64_t process_start = 0;  // distinguishes the process from a later one with the same number
  uint64_t id = 0;
  int32_t table_file = -1;   // a descriptor of the exporting process
  int32_t memory_file = -1;  // a descriptor of that process, for memory
  uint64_t offset = 0;
  uint64_t size = 0;
};
static_assert(sizeof(Ticket) == 64, "as large as the handles of the driver's API");

// The table of the memory and events that this process exports.
class Exports {
 public:
  Exports() = default;
  Exports(const Exports&) = delete;
  Exports& operator=(const Exports&) = delete;

  // Makes a ticket (a handle that other processes can open) of this kind with a fresh slot. The
  // caller fills in the position of the memory.
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

// True if the ticket's process is alive and still offers the object.
bool IsOffered(const Ticket& ticket);
bool IsOwn(const Ticket& ticket);

// Returns a descriptor of the file that holds the ticket's memory, or -1 if it cannot be opened.
int OpenMemory(const Ticket& ticket);

// Returns the slot of an event of another process, or null if it cannot be mapped.
std::shared_ptr<ExportSlot> OpenSlot(const Ticket& ticket);

// Returns the start time of a process in clock ticks since the boot, as the kernel counts it, or 0
// if the process does not run.
uint64_t ProcessStart(int64_t process);

}  // namespace vramstow::simulator

#endif  // VRAMSTOW_SIMULATOR_DEVICE_EXPORTS_H_
