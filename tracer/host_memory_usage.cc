#include "tracer/host_memory_usage.h"

#include <fcntl.h>
#include <limits.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string_view>

namespace vramstow {
namespace {

constexpr size_t kTextBytes = 4096;

// The path of a file, composed of parts.
class Path {
 public:
  template <typename... Parts>
  explicit Path(const Parts&... parts) {
    (Add(parts), ...);
  }
  // Returns null if the path is too long.
  const char* text() const { return fits_ ? text_ : nullptr; }

 private:
  void Add(std::string_view part) {
    fits_ = fits_ && length_ + part.size() < sizeof text_;
    if (!fits_) return;
    std::memcpy(text_ + length_, part.data(), part.size());
    length_ += part.size();
    text_[length_] = '\0';
  }
  char text_[PATH_MAX] = {};
  size_t length_ = 0;
  bool fits_ = true;
};

// Reads the beginning of a file and ends it with a zero byte. Returns false if the file cannot be
// read.
bool ReadText(const Path& path, char (&text)[kTextBytes]) {
  if (path.text() == nullptr) return false;
  const int fd = open(path.text(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  ssize_t count;
  do {
    count = read(fd, text, sizeof text - 1);
  } while (count < 0 && errno == EINTR);
  close(fd);
  text[count < 0 ? 0 : count] = '\0';
  return count > 0;
}

// Reads the number at the beginning of a text, after blanks. Returns false if there is no number,
// as in "max".
bool NumberAt(const char* text, uint64_t* number) {
  while (*text == ' ' || *text == '\t') ++text;
  if (*text < '0' || *text > '9') return false;
  *number = 0;
  for (; *text >= '0' && *text <= '9'; ++text) {
    *number = *number * 10 + static_cast<uint64_t>(*text - '0');
  }
  return true;
}

// Reads the number after a word at the beginning of a line.
bool NumberAfter(const char* text, const char* word, uint64_t* number) {
  const size_t length = std::strlen(word);
  for (const char* line = text; line != nullptr && *line != '\0'; ++line) {
    if (std::strncmp(line, word, length) == 0) return NumberAt(line + length, number);
    line = std::strchr(line, '\n');
    if (line == nullptr) break;
  }
  return false;
}

// The file names of one version of Linux's control groups.
struct GroupFiles {
  const char* line;  // the text before the group's path in /proc/self/cgroup
  const char* folder;
  const char* usage;
  const char* limit;
  const char* reclaimable;  // the name of the reclaimable bytes in memory.stat
};
constexpr GroupFiles kVersions[] = {
    {"0::", "/sys/fs/cgroup", "/memory.current", "/memory.max", "inactive_file "},
    {":memory:", "/sys/fs/cgroup/memory", "/memory.usage_in_bytes", "/memory.limit_in_bytes",
     "total_inactive_file "},
};

// Finds the free memory of one control group. Returns false if the group has no limit. In cgroup
// version 1 a group without a limit has a limit above the machine's memory.
bool ReadGroup(const GroupFiles& files, const char* root, std::string_view group,
               uint64_t machine_bytes, HostMemory* memory) {
  char text[kTextBytes];
  uint64_t limit = 0;
  uint64_t used = 0;
  uint64_t reclaimable = 0;
  if (!ReadText(Path(root, files.folder, group, files.limit), text) || !NumberAt(text, &limit) ||
      limit >= machine_bytes || !ReadText(Path(root, files.folder, group, files.usage), text) ||
      !NumberAt(text, &used)) {
    return false;
  }
  if (ReadText(Path(root, files.folder, group, "/memory.stat"), text)) {
    NumberAfter(text, files.reclaimable, &reclaimable);
  }
  used -= reclaimable < used ? reclaimable : used;
  memory->limit = limit;
  memory->free = limit - (used < limit ? used : limit);
  return true;
}

// Reads the free memory of the group and its ancestors. An ancestor's limit applies, too: batch
// systems limit the job and not its steps. In a container the path may exist on the machine only,
// and the group's files lie in the root folder.
bool ReadControlGroups(const char* root, uint64_t machine_bytes, HostMemory* memory) {
  char groups[kTextBytes];
  if (!ReadText(Path(root, "/proc/self/cgroup"), groups)) return false;
  for (const GroupFiles& files : kVersions) {
    const char* const line = std::strstr(groups, files.line);
    if (line == nullptr) continue;
    const char* const path = line + std::strlen(files.line);
    std::string_view group(path, std::strcspn(path, "\n"));
    if (group == "/") group = "";
    for (;;) {
      HostMemory found;
      if (ReadGroup(files, root, group, machine_bytes, &found) &&
          (!memory->is_of_group || found.free < memory->free)) {
        memory->limit = found.limit;
        memory->free = found.free;
        memory->is_of_group = true;
      }
      if (group.empty()) break;
      const size_t slash = group.rfind('/');
      group = group.substr(0, slash == std::string_view::npos ? 0 : slash);
    }
    if (memory->is_of_group) return true;
  }
  return false;
}

}  // namespace

HostMemory ReadHostMemory(const char* root) {
  constexpr uint64_t kKiB = 1024;
  HostMemory memory;
  char text[kTextBytes];
  uint64_t pages = 0;
  // The second number is the resident memory in pages.
  if (ReadText(Path(root, "/proc/self/statm"), text)) {
    const char* const second = std::strchr(text, ' ');
    if (second != nullptr && NumberAt(second, &pages)) {
      memory.resident = pages * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
    }
  }
  uint64_t total = 0;
  uint64_t available = 0;
  if (ReadText(Path(root, "/proc/meminfo"), text)) {
    NumberAfter(text, "MemTotal:", &total);
    NumberAfter(text, "MemAvailable:", &available);
  }
  if (!ReadControlGroups(root, total * kKiB, &memory)) {
    memory.limit = total * kKiB;
    memory.free = available * kKiB;
  }
  return memory;
}

}  // namespace vramstow
