#include "tracer/host_memory.h"

#include <fcntl.h>
#include <limits.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace vramstow {
namespace {

constexpr size_t kTextBytes = 4096;

// The beginning of a file, ended by a zero byte. False: it cannot be read.
bool ReadText(const char* path, char (&text)[kTextBytes]) {
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  ssize_t count;
  do {
    count = read(fd, text, sizeof text - 1);
  } while (count < 0 && errno == EINTR);
  close(fd);
  text[count < 0 ? 0 : count] = '\0';
  return count > 0;
}

// The number at the beginning of a text, blanks before it left out. False: there is none ("max").
bool NumberAt(const char* text, uint64_t* number) {
  while (*text == ' ' || *text == '\t') ++text;
  if (*text < '0' || *text > '9') return false;
  *number = 0;
  for (; *text >= '0' && *text <= '9'; ++text) {
    *number = *number * 10 + static_cast<uint64_t>(*text - '0');
  }
  return true;
}

// The number after a word at the beginning of a line.
bool NumberAfter(const char* text, const char* word, uint64_t* number) {
  const size_t length = std::strlen(word);
  for (const char* line = text; line != nullptr && *line != '\0'; ++line) {
    if (std::strncmp(line, word, length) == 0) return NumberAt(line + length, number);
    line = std::strchr(line, '\n');
    if (line == nullptr) break;
  }
  return false;
}

// One number of a control group, in the file FOLDER + group + NAME.
bool ReadGroup(const char* folder, const char* group, const char* name, char (&text)[kTextBytes]) {
  char path[PATH_MAX];
  const size_t lengths[] = {std::strlen(folder), std::strcspn(group, "\n"), std::strlen(name)};
  if (lengths[0] + lengths[1] + lengths[2] >= sizeof path) return false;
  std::memcpy(path, folder, lengths[0]);
  std::memcpy(path + lengths[0], group, lengths[1]);
  std::memcpy(path + lengths[0] + lengths[1], name, lengths[2] + 1);
  return ReadText(path, text);
}

// What a version of control groups calls its files.
struct GroupFiles {
  const char* line;  // before the group's path in /proc/self/cgroup
  const char* folder;
  const char* usage;
  const char* limit;
  const char* reclaimable;  // in memory.stat
};
constexpr GroupFiles kVersions[] = {
    {"0::", "/sys/fs/cgroup", "/memory.current", "/memory.max", "inactive_file "},
    {":memory:", "/sys/fs/cgroup/memory", "/memory.usage_in_bytes", "/memory.limit_in_bytes",
     "total_inactive_file "},
};

bool ReadControlGroup(uint64_t machine_bytes, HostMemory* memory) {
  char groups[kTextBytes];
  if (!ReadText("/proc/self/cgroup", groups)) return false;
  for (const GroupFiles& files : kVersions) {
    const char* const line = std::strstr(groups, files.line);
    if (line == nullptr) continue;
    const char* const group = line + std::strlen(files.line);
    char text[kTextBytes];
    uint64_t limit = 0;
    uint64_t used = 0;
    uint64_t reclaimable = 0;
    // A limit beyond the machine's memory is how version 1 says that there is none.
    if (!ReadGroup(files.folder, group, files.limit, text) || !NumberAt(text, &limit) ||
        limit >= machine_bytes || !ReadGroup(files.folder, group, files.usage, text) ||
        !NumberAt(text, &used)) {
      continue;
    }
    if (ReadGroup(files.folder, group, "/memory.stat", text)) {
      NumberAfter(text, files.reclaimable, &reclaimable);
    }
    used -= reclaimable < used ? reclaimable : used;
    memory->limit = limit;
    memory->free = limit - (used < limit ? used : limit);
    memory->is_of_group = true;
    return true;
  }
  return false;
}

}  // namespace

HostMemory ReadHostMemory() {
  constexpr uint64_t kKiB = 1024;
  HostMemory memory;
  char text[kTextBytes];
  uint64_t pages = 0;
  // The second number is what is resident, in pages.
  if (ReadText("/proc/self/statm", text)) {
    const char* const second = std::strchr(text, ' ');
    if (second != nullptr && NumberAt(second, &pages)) {
      memory.resident = pages * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
    }
  }
  uint64_t total = 0;
  uint64_t available = 0;
  if (ReadText("/proc/meminfo", text)) {
    NumberAfter(text, "MemTotal:", &total);
    NumberAfter(text, "MemAvailable:", &available);
  }
  if (!ReadControlGroup(total * kKiB, &memory)) {
    memory.limit = total * kKiB;
    memory.free = available * kKiB;
  }
  return memory;
}

}  // namespace vramstow
