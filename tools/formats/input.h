// Input is a file from a user, opened, unpacked and recognised.
//
// Idea: a plain file is mapped. The contents of gzip, of zip or of a page of PyTorch's viewer are
// unpacked into memory, within limits that no real file reaches but decompression bombs do. Of a
// gzip file with JSON only the beginning is unpacked (GzipStream reads the rest while it is
// parsed).
//
// Ownership: an Input owns the mapping or the unpacked bytes; `bytes()` is valid as long as it
// lives. Threads: const calls are safe from any thread. Errors: one sentence each, which begins
// with the file's path: kNotFound, kInvalidArgument for a path that cannot be read as a file,
// kResourceExhausted if a file unpacks to too many bytes, kDataLoss for damaged packed data. Units:
// bytes.
// If a file is truncated while it is mapped, the program ends (SIGBUS), so this class must not be
// used for files that are still being written.
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
  // Makes an input of bytes in memory, which must outlive it; `name` is used in messages.
  static absl::StatusOr<Input> OfBytes(std::string name, std::string_view bytes,
                                       const UnpackLimits& limits = {});

  // The recognised format of the contents, after unpacking.
  const Sniffed& sniffed() const { return sniffed_; }
  const std::string& path() const { return path_; }
  // Returns the unpacked contents. If the file is gzip with text in it, returns the packed bytes
  // instead (see is_packed_text).
  std::string_view bytes() const { return unpacked_ ? std::string_view(*unpacked_) : raw_; }
  // True if bytes() is gzip, which must be read with GzipStream.
  bool is_packed_text() const { return is_packed_text_; }
  // Returns one sentence if packed data were damaged, so that bytes() has only what was readable.
  // Otherwise the text is empty.
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
