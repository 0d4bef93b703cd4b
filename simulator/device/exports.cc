#include "simulator/device/exports.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

namespace vramstow::simulator {
namespace {

constexpr uint64_t kExportsMagic = 0x3174656b63697476;  // "vticket1"
constexpr uint32_t kExportSlots = 65536;
constexpr size_t kTableBytes = kExportSlots * sizeof(ExportSlot);

int OpenForeign(int64_t process, int descriptor, int flags) {
  char path[64];
  snprintf(path, sizeof(path), "/proc/%lld/fd/%d", static_cast<long long>(process), descriptor);
  return open(path, flags | O_CLOEXEC);
}

}  // namespace

uint64_t ProcessStart(int64_t process) {
  char path[64];
  snprintf(path, sizeof(path), "/proc/%lld/stat", static_cast<long long>(process));
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return 0;
  char text[1024];
  const ssize_t size = read(file, text, sizeof(text) - 1);
  close(file);
  if (size <= 0) return 0;
  text[size] = '\0';
  // In /proc/PID/stat the program's name stands in parentheses and may contain any character. The
  // process state is the field after the name, and the start time is field 22.
  const char* end = strrchr(text, ')');
  char state = 0;
  unsigned long long start = 0;
  if (end == nullptr ||
      sscanf(end + 1,
             " %c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d %*d %llu",
             &state, &start) != 2) {
    return 0;
  }
  const bool ended = state == 'Z' || state == 'X';
  return ended ? 0 : start;
}

bool Exports::Open() {
  if (slots_ != nullptr) return true;
  file_ = memfd_create("vramstow-exports", MFD_CLOEXEC);
  if (file_ < 0) return false;
  void* at = MAP_FAILED;
  if (ftruncate(file_, kTableBytes) == 0) {
    at = mmap(nullptr, kTableBytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, file_, 0);
  }
  process_start_ = ProcessStart(getpid());
  if (at == MAP_FAILED || process_start_ == 0) {
    if (at != MAP_FAILED) munmap(at, kTableBytes);
    close(file_);
    file_ = -1;
    return false;
  }
  slots_ = static_cast<ExportSlot*>(at);
  return true;
}

bool Exports::Offer(ExportKind kind, int card, Ticket* ticket) {
  if (!Open()) return false;
  // Searches from the slot after the one that was used last, so that a free slot is reused as late
  // as possible.
  for (uint32_t i = 0; i < kExportSlots; ++i) {
    const uint32_t slot = next_slot_;
    next_slot_ = (next_slot_ + 1) % kExportSlots;
    if (slots_[slot].id != 0) continue;
    slots_[slot].recorded = 0;
    slots_[slot].reached = 0;
    slots_[slot].recorder = 0;
    slots_[slot].id = ++last_id_;
    *ticket = {.magic = kExportsMagic,
               .kind = kind,
               .card = static_cast<uint16_t>(card),
               .slot = slot,
               .process = getpid(),
               .process_start = process_start_,
               .id = last_id_,
               .table_file = file_};
    return true;
  }
  return false;
}

void Exports::Withdraw(const Ticket& ticket) {
  if (slots_ != nullptr && slots_[ticket.slot].id == ticket.id) slots_[ticket.slot].id = 0;
}

bool IsOwn(const Ticket& ticket) {
  return ticket.magic == kExportsMagic && ticket.process == getpid();
}

bool IsOffered(const Ticket& ticket) {
  if (ticket.magic != kExportsMagic || ticket.slot >= kExportSlots || ticket.id == 0) return false;
  if (ProcessStart(ticket.process) != ticket.process_start) return false;
  const int table = OpenForeign(ticket.process, ticket.table_file, O_RDONLY);
  if (table < 0) return false;
  uint64_t id = 0;
  const bool read = pread(table, &id, sizeof(id),
                          static_cast<off_t>(ticket.slot * sizeof(ExportSlot))) == sizeof(id);
  close(table);
  return read && id == ticket.id;
}

int OpenMemory(const Ticket& ticket) {
  return OpenForeign(ticket.process, ticket.memory_file, O_RDWR);
}

std::shared_ptr<ExportSlot> OpenSlot(const Ticket& ticket) {
  if (!IsOffered(ticket)) return nullptr;
  const int table = OpenForeign(ticket.process, ticket.table_file, O_RDWR);
  if (table < 0) return nullptr;
  void* at =
      mmap(nullptr, kTableBytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, table, 0);
  close(table);
  if (at == MAP_FAILED) return nullptr;
  auto* slots = static_cast<ExportSlot*>(at);
  return {&slots[ticket.slot], [at](ExportSlot*) { munmap(at, kTableBytes); }};
}

}  // namespace vramstow::simulator
