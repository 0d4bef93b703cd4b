// Makes a copy of the trace while its file is still being written.
//
// The file is a valid trace at each moment, but a copy is not made in one moment. So the ring is
// locked meanwhile. A slot's chunk may grow or be followed by another chunk while it is read. So
// the header is read first: if the slot still contains the same chunk afterwards, all bytes that
// the header counted have been read. A chunk may also move from its slot into the file meanwhile.
// Such a chunk is copied with its slot, which comes first.
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstring>

#include "base/descriptor.h"
#include "tracer/format/layout.h"
#include "tracer/system_calls.h"
#include "tracer/trace_file.h"

namespace vramstow {
namespace {

constexpr unsigned kMaxNames = 10000;
constexpr int kMaxTries = 100;

// Masks all signals while an object of this class exists. Otherwise a signal handler could
// interrupt this thread while it has locked the ring, and wait for the lock for ever.
class WithoutSignals {
 public:
  WithoutSignals() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~WithoutSignals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  WithoutSignals(const WithoutSignals&) = delete;
  WithoutSignals& operator=(const WithoutSignals&) = delete;

 private:
  sigset_t before_;
};

// Reads up to `size` bytes, fewer at the end of the file. Returns -1 and sets errno after an error.
ssize_t ReadAt(int fd, void* bytes, size_t size, uint64_t offset) {
  size_t done = 0;
  while (done < size) {
    const ssize_t count =
        pread(fd, static_cast<char*>(bytes) + done, size - done, static_cast<off_t>(offset + done));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return -1;
    if (count == 0) break;
    done += static_cast<size_t>(count);
  }
  return static_cast<ssize_t>(done);
}

bool IsBeingWritten(const ChunkHeader& header) {
  return std::memcmp(header.magic, kChunkMagic, sizeof kChunkMagic) == 0 &&
         header.state == kChunkOpen;
}

// Reads the block of one slot's size at `offset` into `block`. Returns the number of bytes read, or
// -1 and sets errno.
ssize_t ReadBlock(int fd, uint64_t offset, uint8_t* block) {
  const uint64_t at = offset == 0 ? kFileHeaderBytes : 0;  // the first slot begins with the header
  ssize_t got = 0;
  for (int i = 0; i < kMaxTries; ++i) {
    ChunkHeader before = {};
    ChunkHeader after = {};
    if (ReadAt(fd, &before, sizeof before, offset + at) < 0) return -1;
    got = ReadAt(fd, block, kSlotBytes, offset);
    if (got < static_cast<ssize_t>(at + sizeof before) || !IsBeingWritten(before)) return got;
    if (ReadAt(fd, &after, sizeof after, offset + at) < 0) return -1;
    if (after.number == before.number && IsBeingWritten(after)) {
      std::memcpy(block + at, &before, sizeof before);
      return got;
    }
  }
  // The slot's chunk has been appended to the file by now.
  ChunkHeader* const header = reinterpret_cast<ChunkHeader*>(block + at);
  header->state = kChunkPreparing;
  header->capacity = static_cast<uint32_t>(kSlotBytes - at);
  return got;
}

// Copies the file block by block. Each thread fills two slots alternately, and the slots are copied
// one after the other. The slot that is copied second must contain the older chunk, which is
// complete by then. If it contains the newer chunk, the slot that was copied first may have changed
// meanwhile, and is copied again.
class BlockCopier {
 public:
  // Makes a copier. `block` has room for one slot; `slots` has kBuffers elements, which are zero.
  struct Slot {
    uint64_t offset;  // the offset plus one; 0 if there is none yet
    uint32_t buffer;
    uint32_t turn;
  };
  static constexpr uint32_t kBuffers = 4096;  // further buffers share these slots

  BlockCopier(int from, int to, const std::atomic<uint64_t>& end, uint8_t* block, Slot* slots)
      : from_(from), to_(to), end_(end), block_(block), slots_(slots) {}

  // Copies slots and chunks alike. The end of the file is read again after each block, because the
  // file may grow meanwhile: a chunk that was appended before its slot was copied lies behind the
  // earlier end. Returns 0 or an errno.
  int CopyAll() {
    for (uint64_t offset = 0; offset < end(); offset += kSlotBytes) {
      ChunkHeader header = {};
      ssize_t got = 0;
      int error = CopyBlock(offset, &header, &got);
      if (error == 0) error = CopyOther(offset, header);
      if (error != 0) return error;
      if (got == 0) break;
    }
    return 0;
  }

 private:
  uint64_t end() const { return end_.load(std::memory_order_acquire); }

  // Copies one block; a block of zeros becomes a hole.
  int CopyBlock(uint64_t offset, ChunkHeader* header, ssize_t* got) {
    *got = ReadBlock(from_, offset, block_);
    if (*got < 0) return errno;
    if (*got == 0) return 0;
    const size_t bytes = std::min(static_cast<uint64_t>(*got), end() - offset);
    if (std::all_of(block_, block_ + bytes, [](uint8_t byte) { return byte == 0; })) return 0;
    const uint64_t at = offset == 0 ? kFileHeaderBytes : 0;
    if (bytes >= at + sizeof *header) std::memcpy(header, block_ + at, sizeof *header);
    for (size_t done = 0; done < bytes;) {
      iovec part = {block_ + done, bytes - done};
      const ssize_t written =
          CurrentSystemCalls().write_at(to_, &part, 1, static_cast<off_t>(offset + done));
      if (written < 0 && errno == EINTR) continue;
      if (written <= 0) return written == 0 || errno == EDQUOT || errno == EFBIG ? ENOSPC : errno;
      done += static_cast<size_t>(written);
    }
    return 0;
  }

  int CopyOther(uint64_t offset, const ChunkHeader& header) {
    if (!IsBeingWritten(header) || header.buffer == 0) return 0;
    Slot& other = slots_[header.buffer % kBuffers];
    Slot latest = {offset + 1, header.buffer, header.turn};
    for (int i = 0; i < kMaxTries && other.offset != 0 && other.buffer == latest.buffer &&
                    other.offset != latest.offset && other.turn < latest.turn;
         ++i) {
      ChunkHeader again = {};
      ssize_t got = 0;
      const int error = CopyBlock(other.offset - 1, &again, &got);
      if (error != 0) return error;
      if (!IsBeingWritten(again) || again.buffer != latest.buffer) break;
      const Slot now = {other.offset, again.buffer, again.turn};
      other = latest;
      latest = now;
    }
    other = latest;
    return 0;
  }

  const int from_;
  const int to_;
  const std::atomic<uint64_t>& end_;
  uint8_t* const block_;
  Slot* const slots_;
};

// Makes the name of a copy: the name of the trace followed by `-TAG` or, from the second copy on,
// by `-TAG-N`.
int MakeName(const char* trace, const char* tag, unsigned number, char* name, size_t size) {
  constexpr int kEndBytes = 5;  // ".stow"
  const int stem = static_cast<int>(std::strlen(trace)) - kEndBytes;
  if (stem <= 0) return ENOENT;
  const int length = number == 1
                         ? std::snprintf(name, size, "%.*s-%s.stow", stem, trace, tag)
                         : std::snprintf(name, size, "%.*s-%s-%u.stow", stem, trace, tag, number);
  return length < 0 || static_cast<size_t>(length) >= size ? ENAMETOOLONG : 0;
}

// Gives the complete copy its name. Returns 0 or an errno.
int NameCopy(const char* part, const char* trace, const char* tag, bool replaces, char* name,
             size_t size) {
  int error = EEXIST;
  for (unsigned number = 1; number <= kMaxNames && error == EEXIST; ++number) {
    error = MakeName(trace, tag, number, name, size);
    if (error != 0) break;
    if (replaces) return rename(part, name) == 0 ? 0 : errno;
    error = link(part, name) == 0 ? 0 : errno;
  }
  if (error == 0) unlink(part);
  return error;
}

}  // namespace

int TraceFile::WriteCopy(const char* tag, bool replaces, char* name, size_t size) {
  if (!shared_) return ENOTSUP;
  char part[PATH_MAX];
  const char* const slash = std::strrchr(path_, '/');
  const int folder = slash == nullptr ? 0 : static_cast<int>(slash + 1 - path_);
  const int length =
      std::snprintf(part, sizeof part, "%.*s.%s.%s.part", folder, path_, path_ + folder, tag);
  if (length < 0 || static_cast<size_t>(length) >= sizeof part) return ENAMETOOLONG;
  // The trace may be closed while it is copied, and its number used for something else.
  const vramstow::Descriptor own(DuplicateDescriptor(Descriptor()));
  const int from = own.get();
  if (from < 0) return errno;
  if (!IsOurs(from)) return EBADF;
  const WithoutSignals guard;
  const int to =
      MoveDescriptorUp(open(part, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (to < 0) return errno;
  struct stat status;
  if (fstat(from, &status) == 0) fchmod(to, status.st_mode & 0777);  // copies the permissions
  constexpr size_t kRoom = kSlotBytes + BlockCopier::kBuffers * sizeof(BlockCopier::Slot);
  void* const room =
      mmap(nullptr, kRoom, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  int error = room == MAP_FAILED ? ENOMEM : 0;
  if (error == 0) {
    const int me = 0;
    if (ring_lock_.Lock(&me)) {
      auto* const block = static_cast<uint8_t*>(room);
      auto* const slots = reinterpret_cast<BlockCopier::Slot*>(block + kSlotBytes);
      error = BlockCopier(from, to, end_, block, slots).CopyAll();
      ring_lock_.Unlock();
    }
    munmap(room, kRoom);
  }
  close(to);
  if (error == 0) error = NameCopy(part, path_, tag, replaces, name, size);
  if (error != 0) unlink(part);
  return error;
}

}  // namespace vramstow
