#include "tools/attach/owned_file.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>

#include "absl/strings/str_cat.h"

namespace vramstow {
namespace {

// A descriptor of a regular file of the user.
class Opened {
 public:
  Opened(const std::string& path, int flags, uid_t user)
      : descriptor_(open(path.c_str(), flags | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600)) {
    struct stat about = {};
    is_right_ = descriptor_ >= 0 && fstat(descriptor_, &about) == 0 && S_ISREG(about.st_mode) &&
                about.st_uid == user && about.st_nlink == 1;
    size_ = is_right_ ? static_cast<size_t>(about.st_size) : 0;
  }
  ~Opened() {
    if (descriptor_ >= 0) close(descriptor_);
  }
  Opened(const Opened&) = delete;
  Opened& operator=(const Opened&) = delete;

  bool is_right() const { return is_right_; }
  int descriptor() const { return descriptor_; }
  size_t size() const { return size_; }

 private:
  int descriptor_;
  bool is_right_ = false;
  size_t size_ = 0;
};

absl::Status Refusal(const std::string& path, const char* verb) {
  return absl::UnavailableError(absl::StrCat(path, " cannot be ", verb, "."));
}

}  // namespace

absl::Status WriteOwnedFile(const std::string& path, uid_t user, std::string_view text) {
  const Opened file(path, O_WRONLY | O_CREAT, user);
  if (!file.is_right() || ftruncate(file.descriptor(), 0) != 0) return Refusal(path, "written");
  while (!text.empty()) {
    const ssize_t written = write(file.descriptor(), text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return Refusal(path, "written");
    text.remove_prefix(static_cast<size_t>(written));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string> ReadOwnedFile(const std::string& path, uid_t user) {
  const Opened file(path, O_RDONLY, user);
  if (!file.is_right() || file.size() > kMaxOwnedFile) return Refusal(path, "read");
  std::string text(file.size(), '\0');
  size_t done = 0;
  while (done < text.size()) {
    const ssize_t got = read(file.descriptor(), text.data() + done, text.size() - done);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return Refusal(path, "read");
    done += static_cast<size_t>(got);
  }
  return text;
}

}  // namespace vramstow
