#include "simulator/device/tenancy.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>

namespace vramstow::simulator {
namespace {

constexpr uint64_t kTenancyMagic = 0x32647261636d7276;  // "vrmcard2"
constexpr unsigned kTenancySlots = 256;
constexpr char kPrefix[] = "vramstow-cards-";
constexpr char kNamePrefix[] = "name ";  // of groups that the SPEC names
// Offsets of the bytes that are locked. There is one byte for each slot, and one more, called the
// making byte, which a process locks while it creates the file.
constexpr off_t kSlotBytes = 1 << 20;
constexpr off_t kMakingByte = kSlotBytes + kTenancySlots;

struct Slot {
  std::atomic<int64_t> process;
  std::atomic<uint64_t> time_ns;  // virtual
  std::atomic<uint64_t> used[kDevicesMax];
};

std::string Folder() {
  if (access("/dev/shm", W_OK | X_OK) == 0) return "/dev/shm/";
  const char* temporary = getenv("TMPDIR");
  if (temporary != nullptr && *temporary != '\0') return std::string(temporary) + "/";
  return "/tmp/";
}

uint64_t Hash(const std::string& text) {  // FNV-1a, 64 bits
  uint64_t hash = 0xcbf29ce484222325;
  for (const char letter : text) {
    hash = (hash ^ static_cast<unsigned char>(letter)) * 0x100000001b3;
  }
  return hash;
}

// Locks or unlocks one byte for this process.
bool LockByte(int file, off_t at, short type, int command) {
  struct flock lock = {};
  lock.l_type = type;
  lock.l_whence = SEEK_SET;
  lock.l_start = at;
  lock.l_len = 1;
  int result = 0;
  do {
    result = fcntl(file, command, &lock);
  } while (result != 0 && errno == EINTR);
  return result == 0;
}

bool IsLocked(int file, off_t start, off_t length) {
  struct flock lock = {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  lock.l_start = start;
  lock.l_len = length;
  return fcntl(file, F_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
}

}  // namespace

namespace {

// A lock in the file, shared between processes. If a process dies while it holds the lock, the
// counters are still right, because each is changed by one store.
class VRAMSTOW_CAPABILITY("mutex") FileMutex {
 public:
  bool Make() {
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
    pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
    const bool made = pthread_mutex_init(&mutex_, &attributes) == 0;
    pthread_mutexattr_destroy(&attributes);
    return made;
  }
  void Lock() VRAMSTOW_ACQUIRE() {
    if (pthread_mutex_lock(&mutex_) == EOWNERDEAD) pthread_mutex_consistent(&mutex_);
  }
  void Unlock() VRAMSTOW_RELEASE() { pthread_mutex_unlock(&mutex_); }

 private:
  pthread_mutex_t mutex_;
};

class VRAMSTOW_SCOPED_CAPABILITY TableLock {
 public:
  explicit TableLock(FileMutex* mutex) VRAMSTOW_ACQUIRE(mutex) : mutex_(mutex) { mutex_->Lock(); }
  ~TableLock() VRAMSTOW_RELEASE() { mutex_->Unlock(); }
  TableLock(const TableLock&) = delete;
  TableLock& operator=(const TableLock&) = delete;

 private:
  FileMutex* mutex_;
};

}  // namespace

struct Tenancy::Table {
  std::atomic<uint64_t> magic;  // set last
  std::atomic<uint64_t> machine;
  std::atomic<uint32_t> gone;   // the name has been removed, so new processes make another file
  std::atomic<uint32_t> slots;  // number of slots that were ever used
  FileMutex mutex;              // protects `slots` and the search for an empty slot
  Slot slot[kTenancySlots];
};

namespace {

void RemoveIfStale(const std::string& path) {
  const int file = open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW);
  if (file < 0) return;
  // The making byte is the byte that a process locks while it creates or removes the file. While
  // this process holds that lock, no other process can claim a slot in the file. A process that
  // claims a slot later checks whether the file still has its name.
  struct stat state;
  if (LockByte(file, kMakingByte, F_WRLCK, F_SETLK) && fstat(file, &state) == 0 &&
      state.st_uid == geteuid() && state.st_nlink > 0 &&
      !IsLocked(file, kSlotBytes, kTenancySlots)) {
    unlink(path.c_str());
  }
  close(file);
}

// Removes files that processes of this user left behind because they were killed or ended with
// _exit. Never opens the file that is in use here: closing it even once would drop this process's
// lock.
void RemoveStale(const std::string& own) {
  const std::string folder = Folder();
  DIR* directory = opendir(folder.c_str());
  if (directory == nullptr) return;
  while (const dirent* entry = readdir(directory)) {
    const std::string path = folder + entry->d_name;
    if (strncmp(entry->d_name, kPrefix, strlen(kPrefix)) != 0 || path == own) continue;
    RemoveIfStale(path);
  }
  closedir(directory);
}

}  // namespace

std::string TenancyGroup(const Spec& spec, const char* run_id) {
  if (spec.share == "none") return {};
  // Ranks of a job share GPUs only on the same machine.
  const World& world = spec.world;
  const std::string node =
      world.running.empty()
          ? std::string()
          : " node " + std::to_string(world.running.front() / world.ranks_per_node());
  if (!spec.share.empty()) return kNamePrefix + spec.share + node;
  return run_id == nullptr || *run_id == '\0' ? std::string() : "run " + std::string(run_id) + node;
}

Tenancy::Tenancy(const Spec& spec, const std::string& group)
    : is_named_(spec.share.find('/') != std::string::npos) {
  // A different GPU, size or count means a different machine.
  const std::string machine = std::string(" ") + spec.card.key + " " +
                              std::to_string(spec.memory_bytes) + " " + std::to_string(spec.count);
  if (is_named_) {
    path_ = group.substr(strlen(kNamePrefix));
    machine_ = Hash(machine);
    return;
  }
  machine_ = Hash(group + machine);
  char name[64];
  snprintf(name, sizeof(name), "%s%u-%016llx", kPrefix, geteuid(),
           static_cast<unsigned long long>(machine_));
  path_ = Folder() + name;
}

Tenancy::~Tenancy() { Leave(); }

void Tenancy::Close() {
  if (table_ != nullptr) munmap(table_, sizeof(Table));
  if (file_ >= 0) close(file_);
  table_ = nullptr;
  file_ = -1;
  slot_ = -1;
}

const char* Tenancy::FindFault() const {
  struct stat state;
  if (fstat(file_, &state) != 0) return strerror(errno);
  if (state.st_uid != geteuid()) return "it belongs to another user";
  if (!is_named_) return nullptr;
  // A file of size 0 is one that a process has just created.
  const bool is_table =
      S_ISREG(state.st_mode) && (state.st_size == 0 || state.st_size == off_t{sizeof(Table)});
  return is_table ? nullptr : "it is not a file of shared GPUs of this version";
}

// Initializes a new file. Returns what is wrong with the file, or null. The caller has locked the
// making byte of the file, so no other process initializes it at the same time. If a process dies
// here, the file has no magic number, and the next process initializes it again.
const char* Tenancy::Prepare() {
  if (table_->magic != kTenancyMagic) {
    if (is_named_ && table_->magic != 0) return "it is not a file of shared GPUs of this version";
    if (!table_->mutex.Make()) return "its lock cannot be made";
    table_->machine = machine_;
    table_->magic = kTenancyMagic;
  }
  if (table_->machine == machine_) return nullptr;
  if (IsLocked(file_, kSlotBytes, kTenancySlots)) {
    return "its processes simulate other GPUs or another size of memory";
  }
  table_->machine = machine_;
  return nullptr;
}

bool Tenancy::Open(bool create, std::string* error) {
  constexpr mode_t kOwnerOnly = 0600;
  file_ = open(path_.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW | (create ? O_CREAT : 0), kOwnerOnly);
  if (file_ < 0) {
    *error = path_ + " cannot be opened: " + strerror(errno);
    return false;
  }
  const char* fault = FindFault();
  if (fault == nullptr && create && !LockByte(file_, kMakingByte, F_WRLCK, F_SETLKW)) {
    fault = strerror(errno);
  }
  if (fault == nullptr) fault = Map(create);
  if (fault == nullptr) return true;
  *error = path_ + " cannot be used: " + fault;
  Close();
  return false;
}

const char* Tenancy::Map(bool create) {
  struct stat state;
  if (create) {
    // The pages must be allocated now. Otherwise, if the file system is full, a process that writes
    // to them would be killed.
    const int result = posix_fallocate(file_, 0, sizeof(Table));
    if (result != 0) return strerror(result);
  } else if (fstat(file_, &state) != 0 || state.st_size < off_t{sizeof(Table)}) {
    return "it is too small";
  }
  void* at = mmap(nullptr, sizeof(Table), PROT_READ | PROT_WRITE, MAP_SHARED, file_, 0);
  if (at == MAP_FAILED) return strerror(errno);
  table_ = static_cast<Table*>(at);
  if (create) return Prepare();
  const bool is_ours = table_->magic == kTenancyMagic && table_->machine == machine_;
  return is_ours ? nullptr : "it is of other GPUs";
}

bool Tenancy::EnterSlot() {
  const TableLock lock(&table_->mutex);
  if (table_->gone != 0) return false;
  for (unsigned i = 0; i < kTenancySlots; ++i) {
    if (!LockByte(file_, kSlotBytes + i, F_WRLCK, F_SETLK)) continue;
    Slot& slot = table_->slot[i];
    for (auto& used : slot.used) used = 0;
    slot.time_ns = 0;
    slot.process = getpid();
    table_->slots = std::max(table_->slots.load(), i + 1);
    slot_ = static_cast<int>(i);
    return true;
  }
  return false;
}

bool Tenancy::Enter(std::string* error) {
  const MutexLock guard(&mutex_);
  if (slot_ >= 0) return true;
  constexpr int kTries = 100;  // the file may be removed between opening and entering it
  for (int i = 0; i < kTries; ++i) {
    Close();  // a process that only read has opened it without the lock
    if (!Open(true, error)) return false;
    struct stat state;
    if (fstat(file_, &state) == 0 && state.st_nlink == 0) continue;
    if (EnterSlot()) {
      LockByte(file_, kMakingByte, F_UNLCK, F_SETLK);
      if (slot_ == 0 && !is_named_) RemoveStale(path_);
      return true;
    }
    if (table_->gone == 0) break;
  }
  Close();
  *error = path_ + " has no room for another process";
  return false;
}

bool Tenancy::IsAlive(unsigned slot) const {
  return static_cast<int>(slot) == slot_ || IsLocked(file_, kSlotBytes + slot, 1);
}

void Tenancy::SweepDead() {
  const unsigned slots = table_->slots;
  for (unsigned i = 0; i < slots; ++i) {
    Slot& slot = table_->slot[i];
    if (slot.process == 0 || IsAlive(i)) continue;
    for (auto& used : slot.used) used = 0;
    slot.process = 0;
  }
}

uint64_t Tenancy::Sum(int card) const {
  uint64_t sum = 0;
  const unsigned slots = table_->slots;
  for (unsigned i = 0; i < slots; ++i) sum += table_->slot[i].used[card];
  return sum;
}

bool Tenancy::Take(int card, uint64_t bytes, uint64_t capacity) {
  const MutexLock guard(&mutex_);
  if (slot_ < 0 || bytes > capacity) return false;
  const TableLock lock(&table_->mutex);
  if (Sum(card) > capacity - bytes) {
    SweepDead();
    if (Sum(card) > capacity - bytes) return false;
  }
  table_->slot[slot_].used[card] += bytes;
  return true;
}

void Tenancy::Give(int card, uint64_t bytes) {
  const MutexLock guard(&mutex_);
  if (slot_ >= 0) table_->slot[slot_].used[card] -= bytes;
}

// Opens the current file, if there is one, for a process that only reads and has no slot.
void Tenancy::Refresh() {
  if (slot_ >= 0) return;
  if (table_ != nullptr && table_->gone != 0) Close();
  std::string error;
  if (table_ == nullptr) Open(false, &error);
}

uint64_t Tenancy::Used(int card) {
  const MutexLock guard(&mutex_);
  Refresh();
  if (table_ == nullptr) return 0;
  const TableLock lock(&table_->mutex);
  SweepDead();
  return Sum(card);
}

std::vector<Tenant> Tenancy::Tenants(int card) {
  const MutexLock guard(&mutex_);
  std::vector<Tenant> tenants;
  Refresh();
  if (table_ == nullptr) return tenants;
  const TableLock lock(&table_->mutex);
  SweepDead();
  const unsigned slots = table_->slots;
  for (unsigned i = 0; i < slots; ++i) {
    const Slot& slot = table_->slot[i];
    if (slot.used[card] == 0) continue;
    tenants.push_back({static_cast<pid_t>(slot.process.load()), slot.used[card]});
  }
  return tenants;
}

void Tenancy::PublishTime(uint64_t time_ns) {
  const MutexLock guard(&mutex_);
  if (slot_ >= 0) table_->slot[slot_].time_ns = time_ns;
}

uint64_t Tenancy::LatestTime() {
  const MutexLock guard(&mutex_);
  uint64_t latest = 0;
  Refresh();
  if (table_ == nullptr) return latest;
  const TableLock lock(&table_->mutex);
  SweepDead();
  const unsigned slots = table_->slots;
  for (unsigned i = 0; i < slots; ++i) {
    if (table_->slot[i].process != 0) latest = std::max(latest, table_->slot[i].time_ns.load());
  }
  return latest;
}

void Tenancy::Leave() {
  const MutexLock guard(&mutex_);
  if (table_ != nullptr && slot_ >= 0) {
    const TableLock lock(&table_->mutex);
    for (auto& used : table_->slot[slot_].used) used = 0;
    table_->slot[slot_].process = 0;
    SweepDead();
    bool empty = true;
    const unsigned slots = table_->slots;
    for (unsigned i = 0; i < slots; ++i) empty &= table_->slot[i].process == 0;
    if (empty && !is_named_ && table_->gone == 0) {
      table_->gone = 1;
      unlink(path_.c_str());
    }
  }
  Close();
}

}  // namespace vramstow::simulator
