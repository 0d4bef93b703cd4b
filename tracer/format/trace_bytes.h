// TraceBytes reads the bytes of a trace, from a file or from memory.
//
// Idea: a file is read piece by piece and not mapped. The process that writes the file may shorten
// it meanwhile. An access to a mapping would then raise SIGBUS, as it would for a bad disk.
//
// Ownership: the file is held open; the caller owns memory. Threads: one at a time. Errors: bytes
// that cannot be read are missing. Units: bytes.
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

  // Returns 0 or an errno. A file that is not regular counts as empty.
  int OpenFile(const char* path);
  void OpenMemory(std::string_view bytes) { memory_ = bytes; }

  bool is_file() const { return fd_ >= 0; }
  // Reads the file's length again. Returns true if the file has grown.
  bool Grow();

  uint64_t size() const { return fd_ >= 0 ? file_size_ : memory_.size(); }
  // Reads up to `size` bytes from `offset` on. Returns the number of bytes read.
  size_t Read(uint64_t offset, void* to, size_t size) const;

  // Returns the first offset of `pattern` in [from, to), in which the whole pattern has to lie, or
  // `to` if there is none.
  uint64_t Find(uint64_t from, uint64_t to, std::string_view pattern) const;
  // Returns the offset of the first byte at or after `from` that is not zero, or size() if there is
  // none.
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
