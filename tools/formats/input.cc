#include "tools/formats/input.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "base/descriptor.h"
#include "tools/formats/html_page.h"
#include "tools/formats/text_helpers.h"

namespace vramstow {
namespace {

constexpr size_t kSniffBytes = 4096;

absl::Status OpenError(const std::string& path, int error) {
  const std::string sentence = Concat(path, " cannot be read: ", std::strerror(error));
  return error == ENOENT ? absl::NotFoundError(sentence) : absl::InvalidArgumentError(sentence);
}

}  // namespace

void Input::Unmap::operator()(const char* start) const { munmap(const_cast<char*>(start), size); }

absl::StatusOr<Input> Input::Open(const std::string& path, const UnpackLimits& limits) {
  // The file is opened without blocking, because a pipe without a writer would block forever.
  const Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (file.get() < 0) return OpenError(path, errno);
  struct stat status;
  if (fstat(file.get(), &status) != 0) return OpenError(path, errno);
  if (S_ISDIR(status.st_mode)) {
    return absl::InvalidArgumentError(Concat(path, " is a folder; a file is expected"));
  }
  if (!S_ISREG(status.st_mode)) {
    return absl::InvalidArgumentError(Concat(path, " is not a regular file"));
  }
  Input input;
  input.path_ = path;
  input.limits_ = limits;
  const auto size = static_cast<uint64_t>(status.st_size);
  if (size != 0) {
    void* mapping = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.get(), 0);
    if (mapping == MAP_FAILED) return OpenError(path, errno);
    input.mapping_ = {static_cast<const char*>(mapping), Unmap{size}};
    input.raw_ = {input.mapping_.get(), static_cast<size_t>(size)};
  }
  const absl::Status unwrapped = input.Unwrap();
  if (!unwrapped.ok()) return input.InFile(unwrapped);
  return input;
}

absl::StatusOr<Input> Input::OfBytes(std::string name, std::string_view bytes,
                                     const UnpackLimits& limits) {
  Input input;
  input.path_ = std::move(name);
  input.limits_ = limits;
  input.raw_ = bytes;
  const absl::Status unwrapped = input.Unwrap();
  if (!unwrapped.ok()) return input.InFile(unwrapped);
  return input;
}

absl::Status Input::InFile(const absl::Status& status) const {
  return absl::Status(status.code(), Concat(path_, ": ", std::string(status.message())));
}

absl::Status Input::Unwrap() {
  sniffed_ = Sniff(raw_.substr(0, kSniffBytes));
  if (sniffed_.format == FileFormat::kGzip) return UnwrapGzip();
  if (sniffed_.format == FileFormat::kZip) return UnwrapZip();
  if (sniffed_.format == FileFormat::kHtmlPage) return UnwrapPage();
  return absl::OkStatus();
}

absl::Status Input::UnwrapGzip() {
  absl::StatusOr<std::string> head = UnpackGzip(raw_, limits_, kSniffBytes, &damage_);
  if (!head.ok()) return head.status();
  sniffed_ = Sniff(*head);
  switch (sniffed_.format) {
    case FileFormat::kProfilerTrace:
    case FileFormat::kMemoryTimeline:
      damage_.clear();  // reading the stream reports it again
      is_packed_text_ = true;
      return absl::OkStatus();
    case FileFormat::kPickle:
    case FileFormat::kRmmLog:
    case FileFormat::kMinimalloc:
      break;
    case FileFormat::kGzip:
    case FileFormat::kZip:
    case FileFormat::kStow:
      return absl::InvalidArgumentError(
          Concat("in the gzip file is ", sniffed_.what, "; unpack it first"));
    default:
      return absl::OkStatus();  // the caller reports that it is not a snapshot
  }
  absl::StatusOr<std::string> all = UnpackGzip(raw_, limits_, ~uint64_t{0}, &damage_);
  if (!all.ok()) return all.status();
  unpacked_ = std::make_unique<std::string>(*std::move(all));
  return absl::OkStatus();
}

absl::Status Input::UnwrapZip() {
  absl::StatusOr<std::string> pickle = UnpackPickleFromZip(raw_, limits_);
  if (!pickle.ok()) return pickle.status();
  unpacked_ = std::make_unique<std::string>(*std::move(pickle));
  sniffed_ = Sniff(*unpacked_);
  if (sniffed_.format != FileFormat::kPickle) {
    return absl::InvalidArgumentError(
        Concat("in the zip file is ", sniffed_.what, ", not a PyTorch memory snapshot"));
  }
  return absl::OkStatus();
}

absl::Status Input::UnwrapPage() {
  absl::StatusOr<std::string> snapshot = SnapshotInPage(raw_, &damage_);
  // A page without a snapshot is no error here, because the caller reports it.
  if (snapshot.status().code() == absl::StatusCode::kNotFound) return absl::OkStatus();
  if (!snapshot.ok()) return snapshot.status();
  unpacked_ = std::make_unique<std::string>(*std::move(snapshot));
  sniffed_ = Sniff(*unpacked_);
  if (sniffed_.format == FileFormat::kPickle) return absl::OkStatus();
  return absl::InvalidArgumentError(
      Concat("in the HTML page is ", sniffed_.what, ", not a PyTorch memory snapshot"));
}

}  // namespace vramstow
