#include "base/share_table.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "base/descriptor.h"
#include "base/futex.h"
#include "base/monotonic_clock.h"
#include "base/user_folder.h"

namespace vramstow {
namespace {

constexpr uint64_t kMagic = 0x6572616873777673;  // "svwshare"
constexpr uint32_t kVersion = 3;
// The byte whose lock protects the contents; the bytes after it are those of the slots.
constexpr off_t kContentsByte = 0;
constexpr uint64_t kSecond = 1'000'000'000;
// How long a process that begins to share waits for the lock.
constexpr uint64_t kLongWaitNs = 5 * kSecond;

static_assert(std::atomic<uint32_t>::is_always_lock_free);

off_t ByteOf(size_t slot) { return kContentsByte + 1 + static_cast<off_t>(slot); }

// Locks or unlocks one byte of the file for this open file description. Returns false if another
// process holds the lock.
bool SetLock(int file, off_t byte, short type) {
  struct flock lock = {};
  lock.l_type = type;
  lock.l_whence = SEEK_SET;
  lock.l_start = byte;
  lock.l_len = 1;
  return fcntl(file, F_OFD_SETLK, &lock) == 0;
}

// True if another open file description holds the lock of this byte.
bool IsLocked(int file, off_t byte) {
  struct flock lock = {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  lock.l_start = byte;
  lock.l_len = 1;
  return fcntl(file, F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
}

// True if no process uses the file, and it is a table of another version, or one without contents:
// whoever made it was killed before it wrote the header.
bool IsOutdated(int file, off_t size, off_t right_size) {
  struct {
    uint64_t magic;
    uint32_t version;
  } begin = {};
  if (pread(file, &begin, sizeof begin, 0) < 12) return false;
  if (begin.magic != kMagic && begin.magic != 0) return false;
  if (begin.magic == kMagic && begin.version == kVersion && size == right_size) return false;
  for (size_t slot = 0; slot < kMaxSharers; ++slot) {
    if (IsLocked(file, ByteOf(slot))) return false;
  }
  return true;
}

// Returns the number of the namespace in which the id of this process is valid; 0 if it is unknown.
uint64_t PidSpace() {
  struct stat about = {};
  return stat("/proc/self/ns/pid", &about) == 0 ? about.st_ino : 0;
}

}  // namespace

bool ShareTable::Directory(const char* chosen, const char* runtime_dir, uid_t user, char* path,
                           size_t size) {
  return UserFolder("vramstow-share", chosen, runtime_dir, user, path, size);
}

// True if the path, of which snprintf has written this length, is complete.
bool ShareTable::Fits(int length, char* why, size_t why_size) {
  if (length > 0 && static_cast<size_t>(length) < kMaxPath) return true;
  std::snprintf(why, why_size, "the path of the table is too long");
  return false;
}

bool ShareTable::Open(const char* directory, char* why, size_t why_size) {
  if (!MakeFolder(directory)) {
    std::snprintf(why, why_size, "the folder %s cannot be made (error %d)", directory, errno);
    return false;
  }
  if (!IsPrivateFolder(directory)) {
    std::snprintf(why, why_size, "%s is not a folder that only this user can write to", directory);
    return false;
  }
  // The program may enter another folder before the file is removed.
  char current[kMaxPath] = "";
  if (*directory != '/' && getcwd(current, sizeof current) == nullptr) {
    std::snprintf(why, why_size, "the current folder is not known (error %d)", errno);
    return false;
  }
  return Fits(std::snprintf(path_, sizeof path_, "%s%s%s/gpus.share", current,
                            *current == 0 ? "" : "/", directory),
              why, why_size) &&
         OpenFile(O_CREAT, why, why_size);
}

bool ShareTable::OpenExisting(const char* path, char* why, size_t why_size) {
  return Fits(std::snprintf(path_, sizeof path_, "%s", path), why, why_size) &&
         OpenFile(0, why, why_size);
}

// Opens and maps path_. A file without contents gets a header, under the contents' lock.
bool ShareTable::OpenFile(int flags, char* why, size_t why_size) {
  file_ = MoveDescriptorUp(open(path_, O_RDWR | O_CLOEXEC | O_NOFOLLOW | flags, 0600));
  struct stat about = {};
  if (file_ < 0 || fstat(file_, &about) != 0) {
    std::snprintf(why, why_size, "%s cannot be opened (error %d)", path_, errno);
    return false;
  }
  device_ = about.st_dev;
  inode_ = about.st_ino;
  if (Lock(kLongWaitNs)) {
    const bool is_right = Map(flags, why, why_size);
    Unlock();
    if (is_right) return true;
  } else if (errno == ETIMEDOUT) {
    std::snprintf(why, why_size, "%s stayed locked, perhaps by a process that is stopped", path_);
  } else {
    std::snprintf(why, why_size, "%s cannot be locked (error %d)", path_, errno);
  }
  Close();
  return false;
}

// Maps the file, whose contents are locked. With O_CREAT in `flags`, a file that no process uses is
// made anew.
bool ShareTable::Map(int flags, char* why, size_t why_size) {
  struct stat about = {};
  if (fstat(file_, &about) != 0 || !S_ISREG(about.st_mode) || about.st_uid != geteuid()) {
    std::snprintf(why, why_size, "%s is not a table of this user", path_);
    return false;
  }
  constexpr auto kSize = static_cast<off_t>(sizeof(Shared));
  const bool is_new = flags != 0 && (about.st_size == 0 || IsOutdated(file_, about.st_size, kSize));
  if (!is_new && about.st_size != kSize) {
    std::snprintf(why, why_size, "%s is not a table of this version", path_);
    return false;
  }
  if (is_new) {
    // Without a place on the disk for each page, a write to the mapping would end the process.
    int error = ftruncate(file_, 0) == 0 ? 0 : errno;
    if (error == 0) error = posix_fallocate(file_, 0, kSize);
    if (error != 0) {
      if (ftruncate(file_, 0) != 0) error = errno;
      std::snprintf(why, why_size, "there is no room for %s (error %d)", path_, error);
      return false;
    }
  }
  void* const memory = mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED, file_, 0);
  if (memory == MAP_FAILED) {
    std::snprintf(why, why_size, "%s cannot be mapped (error %d)", path_, errno);
    return false;
  }
  shared_ = static_cast<Shared*>(memory);
  pid_space_ = PidSpace();
  return Check(is_new, why, why_size);
}

bool ShareTable::Check(bool is_new, char* why, size_t why_size) {
  ShareHeader& header = shared_->header;
  if (is_new) {
    header.version = kVersion;
    header.slot_bytes = sizeof(ShareSlot);
    // The magic number comes last: a file without it has no contents yet.
    std::atomic_ref(header.magic).store(kMagic, std::memory_order_release);
  }
  if (header.magic == kMagic && header.version == kVersion &&
      header.slot_bytes == sizeof(ShareSlot)) {
    return true;
  }
  std::snprintf(why, why_size, "%s was made by another version of vramstow", path_);
  return false;
}

bool ShareTable::IsRemoved() const {
  struct stat about = {};
  return fstat(file_, &about) != 0 || about.st_nlink == 0;
}

bool ShareTable::IsClosedByProgram() const {
  struct stat about = {};
  return fstat(file_, &about) != 0 || about.st_dev != device_ || about.st_ino != inode_;
}

// True if this path leads to the file that is open.
bool ShareTable::IsAt(const char* path) const {
  struct stat about = {};
  return lstat(path, &about) == 0 && about.st_dev == device_ && about.st_ino == inode_;
}

bool ShareTable::Join(char* why, size_t why_size) {
  constexpr int kTries = 100;
  for (int i = 0; i < kTries; ++i) {
    if (!Lock(kLongWaitNs)) {
      std::snprintf(why, why_size, "%s cannot be locked (error %d)", path_, errno);
      return false;
    }
    if (!IsRemoved()) break;
    Unlock();
    Close();
    if (!OpenFile(O_CREAT, why, why_size)) return false;
  }
  const bool has_slot = TakeSlot(why, why_size);
  Unlock();
  return has_slot;
}

bool ShareTable::Rejoin(char* why, size_t why_size) {
  const int file = MoveDescriptorUp(open(path_, O_RDWR | O_CLOEXEC | O_NOFOLLOW));
  if (file < 0 || !IsAt(path_)) {
    std::snprintf(why, why_size, "%s is not there any more", path_);
    if (file >= 0) close(file);
    return false;
  }
  file_ = file;
  slot_ = kNoSlot;
  return Join(why, why_size);
}

// Takes a free slot of the table, which is locked.
bool ShareTable::TakeSlot(char* why, size_t why_size) {
  for (size_t slot = 0; slot < kMaxSharers && slot_ == kNoSlot; ++slot) {
    if (SetLock(file_, ByteOf(slot), F_WRLCK)) slot_ = slot;
  }
  if (slot_ == kNoSlot) {
    std::snprintf(why, why_size, "all places of %s are taken", path_);
    return false;
  }
  shared_->slots[slot_] = ShareSlot{};
  shared_->slots[slot_].pid_space = pid_space_;
  ForgetTheDead();
  return true;
}

// Clears what processes have left that were killed, if no other process lives.
void ShareTable::ForgetTheDead() {
  for (size_t slot = 0; slot < kMaxSharers; ++slot) {
    if (IsLocked(file_, ByteOf(slot))) return;
  }
  ShareHeader& header = shared_->header;
  header.holder = 0;
  header.out_ns = 0;
  for (ShareClock& clock : header.clocks) clock = {};
}

void ShareTable::Leave() {
  if (slot_ == kNoSlot) return;
  constexpr uint64_t kWaitNs = kSecond / 10;
  const bool is_locked = Lock(kWaitNs);
  bool is_last = is_locked;
  for (size_t slot = 0; slot < kMaxSharers; ++slot)
    is_last = is_last && !IsLocked(file_, ByteOf(slot));
  if (is_last && IsAt(path_)) unlink(path_);
  SetLock(file_, ByteOf(slot_), F_UNLCK);
  slot_ = kNoSlot;
  if (is_locked) Unlock();
  Wake();
}

void ShareTable::Close() {
  if (shared_ != nullptr) munmap(shared_, sizeof(Shared));
  if (file_ >= 0 && !IsClosedByProgram()) close(file_);
  shared_ = nullptr;
  file_ = -1;
  slot_ = kNoSlot;
}

void ShareTable::Abandon() { Close(); }

bool ShareTable::Lock(uint64_t wait_ns) {
  const uint64_t deadline = MonotonicTime() + wait_ns;
  uint64_t pause = 2'000;
  while (!SetLock(file_, kContentsByte, F_WRLCK)) {
    if (errno != EAGAIN && errno != EACCES && errno != EINTR) return false;
    if (MonotonicTime() >= deadline) {
      errno = ETIMEDOUT;
      return false;
    }
    SleepFor(pause);
    if (pause < 1'000'000) pause *= 2;
  }
  return true;
}

void ShareTable::Unlock() { SetLock(file_, kContentsByte, F_UNLCK); }

uint64_t ShareTable::ClockOf(uint64_t card) const {
  for (const ShareClock& clock : shared_->header.clocks) {
    if (clock.card == card) return clock.time_ns;
  }
  return 0;
}

void ShareTable::AdvanceClock(uint64_t card, uint64_t time_ns) {
  ShareClock* chosen = nullptr;
  for (ShareClock& clock : shared_->header.clocks) {
    if (clock.card == card) {
      clock.time_ns = std::max(clock.time_ns, time_ns);
      return;
    }
    // Without a free clock, the one that is furthest behind is replaced.
    if (chosen == nullptr || clock.time_ns < chosen->time_ns) chosen = &clock;
  }
  *chosen = {card, time_ns};
}

bool ShareTable::IsLive(size_t number) const {
  return number == slot_ || (IsLocked(file_, ByteOf(number)) && !IsHeldByChild(number));
}

// True if the process of the slot is gone, so that only a child can still hold the lock. A process
// writes into its slot several times a second, so only the ids of silent ones are looked up.
bool ShareTable::IsHeldByChild(size_t number) const {
  constexpr uint64_t kSilentNs = 5 * kSecond;
  ShareSlot& slot = shared_->slots[number];
  const uint64_t written = std::atomic_ref(slot.member.measured_at_ns).load();
  const auto process = static_cast<pid_t>(std::atomic_ref(slot.process).load());
  const bool is_silent = written != 0 && MonotonicTime() - written > kSilentNs;
  const bool is_known = process > 0 && slot.pid_space != 0 && slot.pid_space == pid_space_;
  return is_silent && is_known && kill(process, 0) != 0 && errno == ESRCH;
}

uint64_t ShareTable::LiveSlots() const {
  static_assert(kMaxSharers == 64);
  uint64_t live = 0;
  for (size_t i = 0; i < kMaxSharers; ++i) live |= uint64_t{IsLive(i)} << i;
  return live;
}

void ShareTable::Wake() {
  shared_->header.sequence.fetch_add(1, std::memory_order_release);
  FutexWakeAll(&shared_->header.sequence, FutexScope::kShared);
}

void ShareTable::Wait(uint32_t seen, uint64_t wait_ns) const {
  FutexWaitUpTo(&shared_->header.sequence, seen, wait_ns, FutexScope::kShared);
}

}  // namespace vramstow
