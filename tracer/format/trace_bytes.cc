#include "tracer/format/trace_bytes.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

namespace vramstow {
namespace {

constexpr uint64_t kBufferBytes = 1 << 20;
constexpr uint64_t kFirstPieceBytes = 1 << 10;

}  // namespace

TraceBytes::~TraceBytes() {
  if (fd_ >= 0) close(fd_);
}

int TraceBytes::OpenFile(const char* path) {
  // With O_NONBLOCK, open does not wait for a writer if the path is a pipe.
  const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return errno;
  struct stat status;
  int error = fstat(fd, &status) != 0 ? errno : S_ISDIR(status.st_mode) ? EISDIR : 0;
  if (error == 0 && S_ISREG(status.st_mode)) {
    // A file that cannot be read at all is reported here, rather than as "no trace".
    uint8_t first;
    if (pread(fd, &first, 1, 0) < 0) error = errno;
  }
  if (error != 0) {
    close(fd);
    return error;
  }
  fd_ = fd;
  file_size_ = S_ISREG(status.st_mode) ? static_cast<uint64_t>(status.st_size) : 0;
  return 0;
}

bool TraceBytes::Grow() {
  struct stat status;
  if (fd_ < 0 || fstat(fd_, &status) != 0 || !S_ISREG(status.st_mode)) return false;
  const uint64_t size = static_cast<uint64_t>(status.st_size);
  if (size <= file_size_) return false;
  file_size_ = size;
  return true;
}

size_t TraceBytes::Read(uint64_t offset, void* to, size_t size) const {
  // If there is nothing to read, `to` may be null, too.
  if (size == 0 || offset >= this->size()) return 0;
  size = static_cast<size_t>(std::min<uint64_t>(size, this->size() - offset));
  if (fd_ < 0) {
    memcpy(to, memory_.data() + offset, size);
    return size;
  }
  size_t done = 0;
  while (done < size) {
    const ssize_t count =
        pread(fd_, static_cast<char*>(to) + done, size - done, static_cast<off_t>(offset + done));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) break;
    done += static_cast<size_t>(count);
  }
  return done;
}

// Reads the next piece of bytes, in which the pattern is searched, into the buffer.
size_t TraceBytes::ReadPiece(uint64_t from, uint64_t to) const {
  if (buffer_.empty()) buffer_.resize(static_cast<size_t>(std::min(kBufferBytes, size())));
  return Read(from, buffer_.data(),
              static_cast<size_t>(std::min<uint64_t>(buffer_.size(), to - from)));
}

uint64_t TraceBytes::Find(uint64_t from, uint64_t to, std::string_view pattern) const {
  to = std::min(to, size());
  // The pieces are small at first, because a malicious file may contain the pattern every few
  // bytes.
  for (uint64_t piece = kFirstPieceBytes; from < to; piece = std::min(2 * piece, kBufferBytes)) {
    const size_t count = ReadPiece(from, std::min(to, from + piece));
    if (count < pattern.size()) break;
    const void* const found = memmem(buffer_.data(), count, pattern.data(), pattern.size());
    if (found != nullptr) {
      return from + static_cast<uint64_t>(static_cast<const uint8_t*>(found) - buffer_.data());
    }
    if (count == to - from) break;
    from += count - (pattern.size() - 1);  // the pattern may cross the end of this piece
  }
  return to;
}

uint64_t TraceBytes::FindNonZero(uint64_t from) const {
  while (from < size()) {
    const size_t count = ReadPiece(from, size());
    if (count == 0) break;
    const uint8_t* const begin = buffer_.data();
    size_t i = 0;
    for (uint64_t word; i + sizeof word <= count; i += sizeof word) {
      memcpy(&word, begin + i, sizeof word);
      if (word != 0) break;
    }
    while (i < count && begin[i] == 0) ++i;
    from += i;
    if (i < count) return from;
  }
  return size();
}

}  // namespace vramstow
