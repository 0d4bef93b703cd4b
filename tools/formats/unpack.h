// Contents of gzip and zip files, unpacked within limits.
//
// Idea: deflate shrinks up to a thousand times, so that a small file can unpack to more than a
// machine has. Snapshots and traces shrink ten to fifty times; three hundred times is refused.
//
// Ownership: results are copies. Threads: no shared state. Errors: kResourceExhausted where a limit
// is passed, kDataLoss for damage (with what was readable where that is said), kInvalidArgument for
// what is not of the format. Units: bytes.
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
  uint64_t max_bytes = uint64_t{32} << 30;   // in all
  uint64_t max_ratio = 300;                  // unpacked ÷ packed,
  uint64_t free_bytes = uint64_t{64} << 20;  // once this much was unpacked
  uint64_t MostFor(uint64_t packed_bytes) const {
    if (packed_bytes > max_bytes / max_ratio) return max_bytes;
    return std::min(max_bytes, std::max(free_bytes, packed_bytes * max_ratio));
  }
};

// Reads gzip (one member or several) piece by piece. After the end, status() says whether it was
// the end.
class GzipStream : public std::streambuf {
 public:
  GzipStream(std::string_view packed, const UnpackLimits& limits);
  ~GzipStream() override;
  GzipStream(const GzipStream&) = delete;
  GzipStream& operator=(const GzipStream&) = delete;

  const absl::Status& status() const { return status_; }
  // How much was unpacked so far.
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

// All of a gzip file, or its first `at_most` bytes (then damage behind them is not seen). Damage
// after some bytes: *damage says so, and the result has what was readable.
absl::StatusOr<std::string> UnpackGzip(std::string_view packed, const UnpackLimits& limits,
                                       uint64_t at_most, std::string* damage);

// The pickle in a zip file: the entry named data.pkl, as torch.save names it, or else the only one
// whose name ends in .pickle or .pkl, or else the only entry.
absl::StatusOr<std::string> UnpackPickleFromZip(std::string_view packed,
                                                const UnpackLimits& limits);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_FORMATS_UNPACK_H_
