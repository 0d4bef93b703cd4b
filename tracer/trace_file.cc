#include "tracer/trace_file.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <linux/magic.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cstring>

#include "base/descriptor.h"
#include "base/rounding.h"
#include "tracer/format/layout.h"
#include "tracer/system_calls.h"

namespace vramstow {
namespace {

constexpr unsigned kMaxAttempts = 10000;  // names tried before giving up
constexpr uint64_t kLeastPageBytes = 4096;

// Writes `text` at `out`. Returns false if that would reach `end`.
bool AppendText(char** out, const char* end, const char* text) {
  const size_t length = std::strlen(text);
  if (length >= static_cast<size_t>(end - *out)) return false;
  std::memcpy(*out, text, length + 1);
  *out += length;
  return true;
}

bool AppendNumber(char** out, const char* end, unsigned number) {
  char digits[12];
  char* first = digits + sizeof digits - 1;
  *first = '\0';
  do {
    *--first = static_cast<char>('0' + number % 10);
    number /= 10;
  } while (number != 0);
  return AppendText(out, end, first);
}

// Switches copy-on-write off, which Btrfs allows while a file is empty. A file that copies on write
// needs new disk space each time the kernel writes a mapped page back, and SIGBUS is the only way
// to report that there is none.
void ForbidCopyOnWrite(int fd) {
  struct statfs where;
  if (fstatfs(fd, &where) != 0 || where.f_type != BTRFS_SUPER_MAGIC) return;
  int flags = 0;
  if (ioctl(fd, FS_IOC_GETFLAGS, &flags) != 0) return;
  flags |= FS_NOCOW_FL;
  ioctl(fd, FS_IOC_SETFLAGS, &flags);
}

// True if a write up to `end` would exceed the limit for the size of a file. Such a write would not
// only fail, but also raise SIGXFSZ, which kills the process.
bool OverFileSizeLimit(uint64_t end) {
  rlimit limit;
  if (getrlimit(RLIMIT_FSIZE, &limit) != 0) return false;
  return limit.rlim_cur != RLIM_INFINITY && end > limit.rlim_cur;
}

bool MeansNoRoom(int error) { return error == EDQUOT || error == EFBIG; }

// Calls pwritev until all bytes are written; it changes the array `parts`. Returns 0 or an errno.
int WriteAll(int fd, iovec* parts, int count, uint64_t offset) {
  for (;;) {
    while (count > 0 && parts->iov_len == 0) ++parts, --count;
    if (count == 0) return 0;
    const ssize_t written =
        CurrentSystemCalls().write_at(fd, parts, count, static_cast<off_t>(offset));
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return MeansNoRoom(errno) ? ENOSPC : errno;
    if (written == 0) return ENOSPC;
    offset += static_cast<uint64_t>(written);
    for (size_t rest = static_cast<size_t>(written); rest > 0;) {
      const size_t step = rest < parts->iov_len ? rest : parts->iov_len;
      parts->iov_base = static_cast<char*>(parts->iov_base) + step;
      parts->iov_len -= step;
      rest -= step;
      if (parts->iov_len == 0) ++parts, --count;
    }
  }
}

}  // namespace

// Sets path_ to DIRECTORY/STEM-ATTEMPT.stow, or to .STEM-PID.part for attempt 0. Returns 0 or an
// errno.
int TraceFile::MakePath(const char* directory, const char* stem, unsigned attempt) {
  char* out = path_;
  const char* const end = path_ + sizeof path_;
  *out = '\0';
  if (directory[0] != '/' && getcwd(path_, sizeof path_) != nullptr) {
    out += std::strlen(path_);
    if (!AppendText(&out, end, "/")) return ENAMETOOLONG;
  }
  bool fits = AppendText(&out, end, directory) &&
              AppendText(&out, end, attempt == 0 ? "/." : "/") && AppendText(&out, end, stem);
  const unsigned number = attempt == 0 ? static_cast<unsigned>(getpid()) : attempt;
  if (attempt != 1) fits = fits && AppendText(&out, end, "-") && AppendNumber(&out, end, number);
  fits = fits && AppendText(&out, end, attempt == 0 ? ".part" : ".stow");
  return fits ? 0 : ENAMETOOLONG;
}

int TraceFile::Create(const Creation& creation) {
  const bool has_name = creation.has_name;
  int error = MakePath(creation.directory, creation.stem, 0);
  if (error == 0 && has_name) std::memcpy(part_, path_, sizeof part_);
  path_[0] = '\0';
  if (error != 0) return error;
  int fd;
  do {
    fd = has_name ? open(part_, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600)
                  : CurrentSystemCalls().open_unnamed(creation.directory);
  } while (fd < 0 && errno == EINTR);
  if (fd < 0) {
    error = errno;
    part_[0] = '\0';
    // Older kernels, and file systems that do not support files without a name, return these
    // errors.
    return !has_name && (error == EISDIR || error == EINVAL) ? EOPNOTSUPP : error;
  }
  // If fchmod fails, only the file's owner can read the file.
  if (creation.for_group) fchmod(fd, 0640);
  fd = MoveDescriptorUp(fd);
  fd_.store(fd, std::memory_order_relaxed);
  struct stat status;
  if (fstat(fd, &status) != 0) {
    error = errno;
    Remove();
    return error;
  }
  device_ = status.st_dev;
  inode_ = status.st_ino;
  ForbidCopyOnWrite(fd);
  return 0;
}

int TraceFile::Publish(const char* directory, const char* stem) {
  int error = EEXIST;
  for (unsigned attempt = 1; attempt <= kMaxAttempts && error == EEXIST; ++attempt) {
    error = MakePath(directory, stem, attempt);
    if (error == 0 && CurrentSystemCalls().name(Descriptor(), part_, path_) != 0) error = errno;
  }
  if (error != 0) {
    path_[0] = '\0';
    return error;
  }
  part_[0] = '\0';
  return 0;
}

bool TraceFile::IsOurs(int fd) const {
  struct stat status;
  return fd >= 0 && fstat(fd, &status) == 0 && status.st_dev == device_ && status.st_ino == inode_;
}

// Returns the file's descriptor, which may be a new one; -1 and sets errno if the file cannot be
// opened again.
int TraceFile::Descriptor() {
  int fd = fd_.load(std::memory_order_acquire);
  if (IsOurs(fd)) [[likely]]
    return fd;
  if (is_abandoned_.load(std::memory_order_relaxed)) {
    errno = EBADF;
    return -1;
  }
  int again = open(path_, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
  if (again < 0) return -1;
  if (!IsOurs(again)) {
    close(again);
    errno = ESTALE;
    return -1;
  }
  again = MoveDescriptorUp(again);
  // The old number belongs to the program now, so this descriptor is not closed here. Another
  // thread may have stored a new descriptor meanwhile.
  if (!fd_.compare_exchange_strong(fd, again, std::memory_order_acq_rel)) {
    close(again);
    return fd;
  }
  // The fork may have happened since the file was found abandoned or not.
  if (!is_abandoned_.load(std::memory_order_relaxed)) return again;
  Close();
  errno = EBADF;
  return -1;
}

// Reserves bytes at the end of the file. The first `undivided` bytes do not cross the end of a
// page.
uint64_t TraceFile::Reserve(uint64_t bytes, uint64_t alignment, uint64_t undivided) {
  uint64_t end = end_.load(std::memory_order_relaxed);
  uint64_t begin;
  do {
    begin = RoundUp(end, alignment);
    const uint64_t next_page = (begin / kLeastPageBytes + 1) * kLeastPageBytes;
    if (begin + undivided > next_page) begin = next_page;
  } while (!end_.compare_exchange_weak(end, begin + bytes, std::memory_order_relaxed));
  return begin;
}

// Allocates disk space for a slot. Returns 0 or an errno.
int TraceFile::ProvideRoom(int fd, uint64_t offset) {
  if (OverFileSizeLimit(offset + kSlotBytes)) return ENOSPC;
  int error;
  do {
    error =
        CurrentSystemCalls().allocate(fd, static_cast<off_t>(offset), kSlotBytes) == 0 ? 0 : errno;
  } while (error == EINTR);
  if (error != EOPNOTSUPP && error != ENOSYS) return MeansNoRoom(error) ? ENOSPC : error;
  // The file system does not support fallocate. Writing zeros allocates disk space as well.
  alignas(64) static constexpr uint8_t kZeros[4096] = {};
  for (uint64_t done = 0; done < kSlotBytes; done += sizeof kZeros) {
    iovec part = {const_cast<uint8_t*>(kZeros), sizeof kZeros};
    const int write_error = WriteAll(fd, &part, 1, offset + done);
    if (write_error != 0) return write_error;
  }
  return 0;
}

uint8_t* TraceFile::PlainSlot() {
  void* const bytes =
      mmap(nullptr, kSlotBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return bytes == MAP_FAILED ? nullptr : static_cast<uint8_t*>(bytes);
}

TraceFile::Slot TraceFile::NewSlot(int* error) {
  Slot slot;
  const bool first = end() == 0;
  if (shared_) {
    const int fd = Descriptor();
    if (fd < 0) {
      *error = errno;
      return slot;
    }
    // A slot's size is a multiple of the largest page size that Linux uses.
    static_assert(kSlotBytes % 65536 == 0);
    slot.offset = Reserve(kSlotBytes, kSlotBytes);
    *error = ProvideRoom(fd, slot.offset);
    if (*error != 0) return slot;
    void* const bytes =
        CurrentSystemCalls().map_shared(nullptr, kSlotBytes, fd, static_cast<off_t>(slot.offset));
    if (bytes != MAP_FAILED) {
      slot.bytes = static_cast<uint8_t*>(bytes);
      return slot;
    }
    *error = errno;
    if (!first || *error == ENOMEM) return slot;
    shared_ = false;
  } else if (first) {
    Reserve(kSlotBytes, kSlotBytes);
  }
  slot.bytes = PlainSlot();
  *error = slot.bytes == nullptr ? ENOMEM : 0;
  return slot;
}

int TraceFile::Append(iovec* parts, int count) {
  uint64_t bytes = 0;
  for (int i = 0; i < count; ++i) bytes += parts[i].iov_len;
  const int fd = Descriptor();
  if (fd < 0) return errno;
  // If the process is killed during the write, only whole pages are written. So the chunk's header
  // must not cross the end of a page, because a reader could not interpret half a header.
  const uint64_t offset = Reserve(bytes, kChunkAlignment, sizeof(ChunkHeader));
  if (OverFileSizeLimit(offset + bytes)) return ENOSPC;
  return WriteAll(fd, parts, count, offset);
}

int TraceFile::WriteFront(const void* bytes, size_t size) {
  iovec part = {const_cast<void*>(bytes), size};
  return WriteAt(&part, 1, 0);
}

int TraceFile::WriteAt(iovec* parts, int count, uint64_t offset) {
  uint64_t end = offset;
  for (int i = 0; i < count; ++i) end += parts[i].iov_len;
  const int fd = Descriptor();
  if (fd < 0) return errno;
  if (OverFileSizeLimit(end)) return ENOSPC;
  return WriteAll(fd, parts, count, offset);
}

bool TraceFile::Detach(uint8_t* slot) {
  // One call replaces the old mapping by the new one, so there is no moment at which the address is
  // not mapped.
  return MAP_FAILED != mmap(slot, kSlotBytes, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
}

uint64_t TraceFile::LengthOnDisk() {
  const int fd = Descriptor();
  struct stat status;
  return fd >= 0 && fstat(fd, &status) == 0 ? static_cast<uint64_t>(status.st_size) : 0;
}

int TraceFile::Cut(uint64_t length) {
  const int fd = Descriptor();
  if (fd < 0) return errno;
  // The file is only shortened here. Making it longer could raise SIGXFSZ.
  if (LengthOnDisk() <= length) return 0;
  return ftruncate(fd, static_cast<off_t>(length)) == 0 ? 0 : errno;
}

void TraceFile::Close() {
  const int fd = fd_.exchange(-1);
  if (IsOurs(fd)) close(fd);
}

void TraceFile::AbandonAfterFork() {
  is_abandoned_.store(true, std::memory_order_relaxed);
  Close();
}

void TraceFile::Remove() {
  for (char* const name : {path_, part_}) {
    if (name[0] != '\0') unlink(name);
    name[0] = '\0';
  }
  const int fd = fd_.exchange(-1);
  if (fd >= 0) close(fd);
  end_.store(0, std::memory_order_relaxed);
  shared_ = true;
}

}  // namespace vramstow
