#include "base/user_folder.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>

namespace vramstow {

bool UserFolder(const char* name, const char* chosen, const char* runtime_dir, uid_t user,
                char* path, size_t size) {
  int length = 0;
  if (*chosen != '\0') {
    length = std::snprintf(path, size, "%s", chosen);
  } else {
    const bool has_own = runtime_dir != nullptr && *runtime_dir != '\0';
    length = std::snprintf(path, size, "%s/%s-%lu", has_own ? runtime_dir : "/tmp", name,
                           static_cast<unsigned long>(user));
  }
  return length > 0 && static_cast<size_t>(length) < size;
}

bool MakeFolder(const char* path) { return mkdir(path, 0700) == 0 || errno == EEXIST; }

bool IsPrivateFolder(const char* path) {
  struct stat about = {};
  if (lstat(path, &about) != 0) return false;
  if (S_ISDIR(about.st_mode) && about.st_uid == geteuid() && (about.st_mode & 0022) == 0) {
    return true;
  }
  errno = EPERM;
  return false;
}

}  // namespace vramstow
