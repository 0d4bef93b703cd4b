// TraceBytes: the bytes of a trace, in a file or in memory.
//
// Idea: a file is read piece by piece and not mapped: it may be cut by its process while we look at
// it, and a mapping would answer that, or a bad disk, with SIGBUS.
//
// Ownership: holds the file open; memory stays the caller's. Threads: one at a time. Errors: what
// cannot be read is not there. Units: bytes.
#ifndef VRAMSTOW_TRACER_FORMAT_TRACE_BYTES_H_
#define VRAMSTOW_TRACER_FORMAT_TRACE_BYTES_H_

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace vramstow {

class TraceBytes {
 public:
  TraceBytes() = default;
  ~TraceBytes();
  TraceBytes(const TraceBytes&) = delete;
  TraceBytes& operator=(const TraceBytes&) = delete;

  // 0 or an errno. What is no regular file is empty.
  int OpenFile(const char* path);
  void OpenMemory(std::string_view bytes) { memory_ = bytes; }

  uint64_t size() const { return fd_ >= 0 ? file_size_ : memory_.size(); }
  // How many bytes from `offset` on could be read, at most `size`.
  size_t Read(uint64_t offset, void* to, size_t size) const;

  // Where `pattern` begins first, at or after `from` and before `to` in whole; `to` if nowhere.
  uint64_t Find(uint64_t from, uint64_t to, std::string_view pattern) const;
  // The first byte that is not zero, at or after `from`; size() if there is none.
  uint64_t FindNonZero(uint64_t from) const;

 private:
  size_t ReadPiece(uint64_t from, uint64_t to) const;

  int fd_ = -1;
  uint64_t file_size_ = 0;
  std::string_view memory_;
  mutable std::vector<uint8_t> buffer_;
};

}  // namespace vramstow

#endif  // VRAMSTOW_TRACER_FORMAT_TRACE_BYTES_H_
