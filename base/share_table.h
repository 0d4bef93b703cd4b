// ShareTable: the table through which the processes that share GPUs know of one another (--share).
//
// Idea: the table is a file in a folder of the user, mapped by each process. It has a slot for each
// process. There is no server: every process reads all slots and follows the same rules
// (share_turns.h). A process holds a lock on a byte of the file while it lives, so the kernel
// releases its slot however it ends, and process ids of other containers do not matter. Another
// byte's lock protects the contents; it is held for microseconds.
//
// Ownership: the mapping and the descriptor, until Close. The last process that leaves removes the
// file. Threads: one, except for Wake and sequence. Errors: false, and a sentence in `why`. After a
// fork the child calls Abandon. Units: bytes, nanoseconds of CLOCK_MONOTONIC. No heap.
#ifndef VRAMSTOW_BASE_SHARE_TABLE_H_
#define VRAMSTOW_BASE_SHARE_TABLE_H_

#include <sys/types.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/host_mapping.h"
#include "base/share_turns.h"

namespace vramstow {

inline constexpr size_t kMaxSharers = 64;

struct ShareSlot {
  ShareMember member;
  int64_t process;     // as the process itself sees it
  uint64_t pid_space;  // the number of the namespace in which this id is valid; 0 if unknown
  uint64_t turns;
  uint64_t waited_ns;
  uint64_t out_bytes;  // moved to the host for others, and back
  uint64_t in_bytes;
  uint64_t turn_ns;  // of the present turn, by the clock of its GPU
  char name[64];     // of the program, with its zero byte
  char card_name[kDeviceUuidBytes];
};

// The latest time of the clock of a simulated GPU at the end of a turn.
struct ShareClock {
  uint64_t card;  // 0 if this clock is unused
  uint64_t time_ns;
};

inline constexpr uint64_t kNoShortfall = ~uint64_t{0};

struct ShareHeader {
  uint64_t magic;
  uint32_t version;
  uint32_t slot_bytes;
  // Changes when something has changed that another process may wait for.
  std::atomic<uint32_t> sequence;
  uint32_t reserved;
  uint64_t holder;  // the group whose turn it is, or 0 if all run
  uint64_t out_ns;  // for how long others have moved memory to the host for this turn
  // The least bytes that the holder lacked and that were not free, since it last lacked nothing
  // (kNoShortfall before that), and since when.
  uint64_t shortfall_bytes;
  uint64_t changed_at_ns;
  ShareClock clocks[8];
};

class ShareTable {
 public:
  constexpr ShareTable() = default;
  ShareTable(const ShareTable&) = delete;
  ShareTable& operator=(const ShareTable&) = delete;

  // Writes the folder of the tables to `path`: `chosen` if it is not empty, otherwise
  // "vramstow-share-UID" in `runtime_dir` (XDG_RUNTIME_DIR), or in /tmp if that is null or empty.
  // Returns false if the path is too long.
  static bool Directory(const char* chosen, const char* runtime_dir, uid_t user, char* path,
                        size_t size);

  // Opens the table in the folder, and makes folder and file if they do not exist. Refuses files of
  // other users and files of another size or version.
  bool Open(const char* directory, char* why, size_t why_size);
  // Opens an existing table to read it. Returns false if there is none.
  bool OpenExisting(const char* path, char* why, size_t why_size);
  // Takes a free slot.
  bool Join(char* why, size_t why_size);
  // Takes a slot again, of the same table, after the program closed the descriptor. What the slot
  // contained is lost.
  bool Rejoin(char* why, size_t why_size);
  // Gives the slot up. Removes the file if no other process has a slot.
  void Leave();
  void Close();
  // Closes what belongs to the parent. Called in a forked child; async-signal-safe.
  void Abandon();
  // The absolute path of the file.
  const char* path() const { return path_; }
  bool is_open() const { return shared_ != nullptr; }

  // Locks the contents; waits up to `wait_ns`. A process that is stopped at this moment (SIGSTOP)
  // may hold the lock for longer; then false is returned, with ETIMEDOUT in errno. If the file
  // cannot be locked at all, false is returned at once, with the cause in errno.
  bool Lock(uint64_t wait_ns);
  void Unlock();

  // --- While the table is locked
  ShareHeader& header() { return shared_->header; }
  uint64_t holder() const { return shared_->header.holder; }
  ShareSlot& own() { return shared_->slots[slot_]; }
  size_t own_number() const { return slot_; }
  const ShareSlot& At(size_t number) const { return shared_->slots[number]; }
  // Returns the slot of any process, to settle its account at the end of a turn.
  ShareSlot& SlotToSettle(size_t number) { return shared_->slots[number]; }
  // The time of the clock of this GPU; 0 if it is not known.
  uint64_t ClockOf(uint64_t card) const;
  // Advances the clock of this GPU to `time_ns`, never back.
  void AdvanceClock(uint64_t card, uint64_t time_ns);

  // --- Without the lock
  // True if the file was removed after it was opened, so that processes that start now do not find
  // it.
  bool IsRemoved() const;
  // True if the program closed the descriptor, so that other processes take this one for dead.
  bool IsClosedByProgram() const;
  // True if the process of this slot lives. A child that was made without the handlers of fork
  // keeps the lock of its parent; the parent counts as dead once it is gone.
  bool IsLive(size_t number) const;
  // The slots of all living processes, a bit for each. It takes many system calls, so it is called
  // before Lock: a process that is stopped while it holds the lock stops all others.
  uint64_t LiveSlots() const;
  uint32_t sequence() const { return shared_->header.sequence.load(std::memory_order_acquire); }
  // Wakes all processes that wait.
  void Wake();
  // Waits until sequence() is not `seen`, at most `wait_ns`.
  void Wait(uint32_t seen, uint64_t wait_ns) const;

 private:
  struct Shared {
    ShareHeader header;
    ShareSlot slots[kMaxSharers];
  };
  static constexpr size_t kNoSlot = kMaxSharers;
  static constexpr size_t kMaxPath = 512;

  static bool Fits(int length, char* why, size_t why_size);
  bool OpenFile(int flags, char* why, size_t why_size);
  bool Map(int flags, char* why, size_t why_size);
  bool Check(bool is_new, char* why, size_t why_size);
  bool TakeSlot(char* why, size_t why_size);
  void ForgetTheDead();
  bool IsAt(const char* path) const;
  bool IsHeldByChild(size_t number) const;

  Shared* shared_ = nullptr;
  int file_ = -1;
  size_t slot_ = kNoSlot;
  // The identity of the file. A program may close the descriptor, and use its number for a file of
  // its own.
  dev_t device_ = 0;
  ino_t inode_ = 0;
  uint64_t pid_space_ = 0;
  char path_[kMaxPath] = {};
};

}  // namespace vramstow

#endif  // VRAMSTOW_BASE_SHARE_TABLE_H_
