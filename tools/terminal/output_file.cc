#include "tools/terminal/output_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>

#include "absl/strings/str_cat.h"
#include "tools/terminal/output.h"

namespace vramstow {

bool OutputFile::Open(const std::string& path) {
  path_ = path;
  struct stat known = {};
  const bool exists = stat(path.c_str(), &known) == 0;
  if (exists && !S_ISREG(known.st_mode)) {
    descriptor_ = open(path.c_str(), O_WRONLY | O_CLOEXEC);
    return descriptor_ >= 0;
  }
  if (exists) {
    // A file is replaced only if it is writable. If the path is a symbolic link, the file to which
    // it points is replaced, and not the link. A link that points to no file is replaced itself,
    // because another user could have put it there.
    if (access(path.c_str(), W_OK) != 0) return false;
    std::error_code error;
    const std::filesystem::path real = std::filesystem::canonical(path, error);
    if (!error) path_ = real.string();
  }
  beside_ = absl::StrCat(path_, ".", getpid(), ".part");
  const std::string folder = std::filesystem::path(path_).parent_path().string();
  has_name_ = access("/proc/self/fd", X_OK) != 0;
  if (!has_name_) {
    descriptor_ =
        open(folder.empty() ? "." : folder.c_str(), O_WRONLY | O_TMPFILE | O_CLOEXEC, 0666);
  }
  if (descriptor_ < 0) {
    has_name_ = true;
    // In a folder for everybody, another user could have put a link there.
    unlink(beside_.c_str());
    descriptor_ = open(beside_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
  }
  if (descriptor_ < 0) beside_.clear();
  if (descriptor_ >= 0 && exists) fchmod(descriptor_, known.st_mode & 07777);
  return descriptor_ >= 0;
}

// Gives the file its name. linkat() cannot replace an existing file, so the file first gets another
// name in the same folder and is then renamed.
bool OutputFile::GiveName() {
  if (has_name_) return true;
  const std::string place = absl::StrCat("/proc/self/fd/", descriptor_);
  unlink(beside_.c_str());
  has_name_ = linkat(AT_FDCWD, place.c_str(), AT_FDCWD, beside_.c_str(), AT_SYMLINK_FOLLOW) == 0;
  return has_name_;
}

bool OutputFile::Finish() {
  if (!beside_.empty() && !GiveName()) {
    Abandon();
    return false;
  }
  const int descriptor = descriptor_;
  descriptor_ = -1;
  const bool done =
      close(descriptor) == 0 && (beside_.empty() || rename(beside_.c_str(), path_.c_str()) == 0);
  if (done) beside_.clear();
  Abandon();
  return done;
}

void OutputFile::Abandon() {
  const int error = errno;
  if (descriptor_ >= 0) close(descriptor_);
  if (has_name_ && !beside_.empty()) unlink(beside_.c_str());
  descriptor_ = -1;
  beside_.clear();
  errno = error;
}

bool WriteOutputFile(const std::string& path, std::string_view text) {
  OutputFile file;
  return file.Open(path) && WriteAll(file.descriptor(), text) && file.Finish();
}

}  // namespace vramstow
