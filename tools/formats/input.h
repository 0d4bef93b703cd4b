// Input: a file that somebody hands us, opened, unwrapped and recognised.
//
// Idea: a plain file is mapped. What gzip, zip or a page of PyTorch's viewer holds is unpacked into
// memory, within limits that no real file reaches and every bomb does; of a gzip file with JSON
// only the beginning is unpacked (GzipStream reads the rest while it is parsed).
//
// Ownership: an Input owns the mapping or the unpacked bytes; `bytes()` lives as long. Threads:
// const calls are free. Errors: one sentence each, that begins with the file's path: kNotFound,
// kInvalidArgument for what cannot be read as a file, kResourceExhausted for what unpacks to too
// much, kDataLoss for packed data that is damaged. Units: bytes.
// A file that somebody cuts shorter while it is mapped ends the program (SIGBUS); files that are
// still being written are not for this class.
#ifndef VRAMSTOW_TOOLS_FORMATS_INPUT_H_
#define VRAMSTOW_TOOLS_FORMATS_INPUT_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "tools/formats/sniff.h"
#include "tools/formats/unpack.h"

namespace vramstow {

class Input {
 public:
  static absl::StatusOr<Input> Open(const std::string& path, const UnpackLimits& limits = {});
  // Bytes that lie in memory already and outlive the input; `name` is for sentences.
  static absl::StatusOr<Input> OfBytes(std::string name, std::string_view bytes,
                                       const UnpackLimits& limits = {});

  // The content, after unpacking.
  const Sniffed& sniffed() const { return sniffed_; }
  const std::string& path() const { return path_; }
  // The contents, unpacked. For gzip with text in it: the packed bytes (see is_packed_text).
  std::string_view bytes() const { return unpacked_ ? std::string_view(*unpacked_) : raw_; }
  // bytes() is gzip, to be read with GzipStream.
  bool is_packed_text() const { return is_packed_text_; }
  // One sentence where packed data were damaged and bytes() has what was readable; or empty.
  const std::string& damage() const { return damage_; }
  const UnpackLimits& limits() const { return limits_; }

 private:
  struct Unmap {
    uint64_t size;
    void operator()(const char* start) const;
  };

  absl::Status Unwrap();
  absl::Status UnwrapGzip();
  absl::Status UnwrapZip();
  absl::Status UnwrapPage();
  absl::Status InFile(const absl::Status& status) const;

  std::string path_;
  UnpackLimits limits_;
  std::unique_ptr<const char, Unmap> mapping_{nullptr, Unmap{0}};
  std::unique_ptr<std::string> unpacked_;
  std::string_view raw_;
  Sniffed sniffed_;
  std::string damage_;
  bool is_packed_text_ = false;
};

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_FORMATS_INPUT_H_
