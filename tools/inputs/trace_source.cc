#include "tools/inputs/trace_source.h"

#include <sys/stat.h>

#include <cerrno>
#include <cstring>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace vramstow {

absl::StatusOr<std::unique_ptr<TraceSource>> TraceSource::Open(const std::string& path) {
  struct stat status;
  if (stat(path.c_str(), &status) != 0) {
    return absl::NotFoundError(absl::StrCat("cannot read ", path, ": ", strerror(errno), "."));
  }
  // Before it is opened: a pipe would wait for somebody to write.
  if (S_ISDIR(status.st_mode)) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, " is a directory: name the .stow files in it."));
  }
  if (!S_ISREG(status.st_mode)) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, " is not an ordinary file: a trace has to be one."));
  }
  std::unique_ptr<TraceSource> source(new TraceSource);
  switch (source->reader_.Open(path.c_str())) {
    case ReadError::kOk:
      return source;
    case ReadError::kCannotOpen:
      return absl::NotFoundError(absl::StrCat("cannot read ", path, ": ", strerror(errno), "."));
    case ReadError::kNotATrace:
      return absl::InvalidArgumentError(
          absl::StrCat(path, " is not a vramstow trace: it does not begin as a .stow file does."));
    case ReadError::kNewerVersion:
      return absl::InvalidArgumentError(absl::StrCat(
          path, " was written by a newer version of vramstow: analyse it with that version."));
  }
  return absl::InternalError(absl::StrCat("cannot read ", path, "."));
}

std::optional<uint16_t> TraceSource::OpeningCall() const {
  const auto fact = facts().find("source.opening_call");
  uint32_t call = 0;
  if (fact == facts().end() || !absl::SimpleAtoi(fact->second, &call) || call > 0xFFFF) {
    return std::nullopt;
  }
  return static_cast<uint16_t>(call);
}

}  // namespace vramstow
