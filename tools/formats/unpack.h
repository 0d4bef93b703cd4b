// Unpacks gzip and zip files within limits.
//
// Idea: deflate compresses up to a thousand times, so a small file can unpack to more memory than a
// machine has. Snapshots and traces are compressed ten to fifty times; more than three hundred
// times is refused.
//
// Ownership: results are copies. Threads: no shared state. Errors: kResourceExhausted if a limit is
// exceeded, kDataLoss for damage (with what was readable, if the function says so),
// kInvalidArgument for data of another format. Units: bytes.
#ifndef VRAMSTOW_TOOLS_FORMATS_UNPACK_H_
#define VRAMSTOW_TOOLS_FORMATS_UNPACK_H_

#include <algorithm>
#include <cstdint>
#include <memory>
#include <streambuf>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace vramstow {

struct UnpackLimits {
  uint64_t max_bytes = uint64_t{32} << 30;   // of all unpacked data
  uint64_t max_ratio = 300;                  // unpacked ÷ packed,
  uint64_t free_bytes = uint64_t{64} << 20;  // max_ratio applies beyond this size
  uint64_t MostFor(uint64_t packed_bytes) const {
    if (packed_bytes > max_bytes / max_ratio) return max_bytes;
    return std::min(max_bytes, std::max(free_bytes, packed_bytes * max_ratio));
  }
};

// Reads a gzip file of one or more members piece by piece. At the end of the stream, status() says
// whether all of the data was read.
class GzipStream : public std::streambuf {
 public:
  GzipStream(std::string_view packed, const UnpackLimits& limits);
  ~GzipStream() override;
  GzipStream(const GzipStream&) = delete;
  GzipStream& operator=(const GzipStream&) = delete;

  const absl::Status& status() const { return status_; }
  // The number of bytes that were unpacked so far.
  uint64_t unpacked_bytes() const { return unpacked_bytes_; }

 protected:
  int_type underflow() override;

 private:
  struct Inflater;

  size_t Fill();

  const uint64_t most_bytes_;
  uint64_t unpacked_bytes_ = 0;
  std::unique_ptr<Inflater> inflater_;
  std::vector<char> window_;
  absl::Status status_;
};

// Unpacks a gzip file, or only its first `at_most` bytes. Damage after these bytes is not detected.
// If the data is damaged after some bytes, *damage has a sentence, and the result contains what was
// readable.
absl::StatusOr<std::string> UnpackGzip(std::string_view packed, const UnpackLimits& limits,
                                       uint64_t at_most, std::string* damage);

// Returns the pickle in a zip file: the entry named data.pkl, as torch.save names it, or else the
// only entry whose name ends in .pickle or .pkl, or else the only entry.
absl::StatusOr<std::string> UnpackPickleFromZip(std::string_view packed,
                                                const UnpackLimits& limits);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_FORMATS_UNPACK_H_
