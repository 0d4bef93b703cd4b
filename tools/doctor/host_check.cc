// Implements host.*: folders that must be writable, and limits of this process.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <limits>
#include <string>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/control.h"
#include "base/units.h"
#include "base/user_folder.h"
#include "tools/base/words.h"
#include "tools/doctor/checks.h"
#include "tools/launch/job_folder.h"

namespace vramstow {
namespace {

constexpr uint64_t kLittleDisk = 256 * kMiB;
constexpr uint64_t kLittleShared = 64 * kMiB;  // the default of containers
constexpr uint64_t kLittleMemory = 1 * kGiB;
constexpr size_t kPage = 4096;
constexpr char kOtherSockets[] =
    "use your own folder with a short path: --control-dir or VRAMSTOW_CONTROL_DIR";

std::string Why() { return absl::StrCat(" (", strerror(errno), ")"); }

uint64_t FreeBytes(const std::string& folder) {
  struct statvfs about = {};
  if (statvfs(folder.c_str(), &about) != 0) return std::numeric_limits<uint64_t>::max();
  return uint64_t{about.f_bavail} * about.f_frsize;
}

std::string FirstWord(const std::string& path) {
  std::ifstream file(path);
  std::string word;
  file >> word;
  return word;
}

// Creates, fills, maps and shares a file as a recorder does. Returns false and sets errno on
// failure.
bool TryTraceFile(const std::string& folder, bool* mapped) {
  std::string path = folder + "/.vramstow-doctor-XXXXXX";
  const int file = mkostemp(path.data(), O_CLOEXEC);
  if (file < 0) return false;
  unlink(path.c_str());
  const int error = posix_fallocate(file, 0, kPage);
  void* const at = mmap(nullptr, kPage, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  *mapped = at != MAP_FAILED;
  if (*mapped) munmap(at, kPage);
  close(file);
  errno = error;
  return error == 0;
}

Finding CheckTraceFolder() {
  const char* chosen = std::getenv("VRAMSTOW_TRACE_DIR");
  const std::string wanted = chosen == nullptr || *chosen == '\0' ? "." : chosen;
  // vramstow run creates a missing folder, so the nearest existing parent is checked.
  const auto place = FindJobFolder(wanted);
  const bool is_made = place.ok() && !place->name.empty();
  const std::string folder = is_made ? place->parent : wanted;
  const std::string said = absl::StrCat("traces go into ", wanted == "." ? "this folder" : wanted,
                                        is_made ? ", which vramstow run creates" : "");
  constexpr char kElsewhere[] = "name another folder with --trace-dir or VRAMSTOW_TRACE_DIR";
  bool mapped = false;
  if (!TryTraceFile(folder, &mapped)) {
    return {"host.traces", Verdict::kBroken,
            absl::StrCat("no trace can be written into ", wanted == "." ? "this folder" : wanted,
                         Why()),
            kElsewhere};
  }
  const uint64_t free = FreeBytes(folder);
  if (free < kLittleDisk) {
    return {
        "host.traces", Verdict::kLimited, absl::StrCat(said, ", where ", Bytes(free), " are free"),
        absl::StrCat(kElsewhere, ", or limit traces to less than 256 MiB with --trace-size=64MiB")};
  }
  if (!mapped) {
    return {"host.traces", Verdict::kLimited,
            absl::StrCat(said,
                         ", whose file system cannot map files: traces are written as a stream, "
                         "and the end is lost if the process is killed"),
            kElsewhere};
  }
  return {"host.traces", Verdict::kGood, said, ""};
}

// Tests the folder of the control socket as the preloaded library uses it: creates the folder with
// private permissions, and a socket in it.
Finding CheckControlFolder() {
  const char* chosen = std::getenv("VRAMSTOW_CONTROL_DIR");
  const bool is_chosen = chosen != nullptr && *chosen != '\0';
  const auto broken = [](const std::string& said) {
    return Finding{"host.control", Verdict::kBroken, said, kOtherSockets};
  };
  char folder[kMaxControlPath];
  char path[kMaxControlPath];
  if (!ControlDirectory(is_chosen ? chosen : "", std::getenv("XDG_RUNTIME_DIR"), geteuid(), folder,
                        sizeof folder) ||
      !ControlSocketPath(folder, getpid(), path, sizeof path)) {
    return broken("the path of the folder for control sockets is too long");
  }
  const bool made = mkdir(folder, 0700) == 0;
  if (!made && errno != EEXIST) {
    return broken(absl::StrCat("no folder for control sockets can be created, ", folder, Why()));
  }
  if (!is_chosen && !IsPrivateFolder(folder)) {
    return broken(absl::StrCat(
        folder, ", the folder for control sockets, does not belong to this user alone"));
  }
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path, std::min(sizeof address.sun_path, strlen(path) + 1));
  const int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  unlink(path);
  const bool bound = listener >= 0 && bind(listener, reinterpret_cast<const sockaddr*>(&address),
                                           sizeof address) == 0;
  const std::string why = bound ? "" : Why();
  if (listener >= 0) close(listener);
  unlink(path);
  if (made) rmdir(folder);
  if (!bound) return broken(absl::StrCat("no control socket can be created in ", folder, why));
  return {"host.control", Verdict::kGood, absl::StrCat("control sockets are in ", folder), ""};
}

Finding CheckSharedMemory() {
  if (access("/dev/shm", W_OK | X_OK) != 0) {
    return {"host.shm", Verdict::kLimited, absl::StrCat("/dev/shm cannot be used", Why()),
            "mount it (docker run --shm-size=1g): PyTorch's DataLoader and NCCL need it; without "
            "it, simulated runs share GPUs through TMPDIR"};
  }
  const uint64_t free = FreeBytes("/dev/shm");
  if (free <= kLittleShared) {
    return {"host.shm", Verdict::kLimited,
            absl::StrCat("/dev/shm has ", Bytes(free), " free: little for PyTorch's DataLoader"),
            "give the container more: docker run --shm-size=1g, or --ipc=host"};
  }
  return {"host.shm", Verdict::kGood, absl::StrCat("/dev/shm has ", Bytes(free), " free"), ""};
}

Finding CheckAddressSpace() {
  rlimit limit = {};
  getrlimit(RLIMIT_AS, &limit);
  if (limit.rlim_cur != RLIM_INFINITY) {
    return {"host.address_space", Verdict::kBroken,
            absl::StrCat(
                "this shell limits a process to ", Bytes(limit.rlim_cur),
                " of addresses: drivers and the pool reserve many more addresses than they use"),
            "ulimit -v unlimited"};
  }
  if (FirstWord("/proc/sys/vm/overcommit_memory") == "2") {
    return {"host.address_space", Verdict::kLimited,
            "the kernel counts reserved memory as used (vm.overcommit_memory=2): a simulated GPU "
            "with much memory may not fit",
            "sysctl vm.overcommit_memory=0, as root, or a simulated GPU with a smaller memory="};
  }
  return {"host.address_space", Verdict::kGood, "the number of addresses is not limited", ""};
}

Finding CheckLockedMemory() {
  rlimit limit = {};
  getrlimit(RLIMIT_MEMLOCK, &limit);
  if (limit.rlim_cur == RLIM_INFINITY) {
    return {"host.memlock", Verdict::kGood, "locked memory is not limited", ""};
  }
  // The driver pins memory in the kernel, where this limit does not apply; libraries for InfiniBand
  // are limited by it.
  return {"host.memlock", Verdict::kGood,
          absl::StrCat("locked memory is limited to ", Bytes(limit.rlim_cur),
                       ": enough, unless the job uses InfiniBand (ulimit -l unlimited)"),
          ""};
}

uint64_t ReadBytes(const std::string& path) {
  uint64_t bytes = 0;
  return absl::SimpleAtoi(FirstWord(path), &bytes) ? bytes : std::numeric_limits<uint64_t>::max();
}

// Returns the smallest amount that this process's control group, or one above it, leaves; all bits
// are set without a limit.
uint64_t LeftInControlGroup() {
  std::ifstream file("/proc/self/cgroup");
  std::string line;
  uint64_t left = std::numeric_limits<uint64_t>::max();
  while (std::getline(file, line)) {
    if (!line.starts_with("0::")) continue;
    for (std::string group = line.substr(3);; group.resize(group.rfind('/'))) {
      const std::string folder = "/sys/fs/cgroup" + (group == "/" ? "" : group);
      const uint64_t most = ReadBytes(folder + "/memory.max");
      const uint64_t used = ReadBytes(folder + "/memory.current");
      if (most != std::numeric_limits<uint64_t>::max()) {
        left = std::min(left, most - std::min(most, used));
      }
      if (group.find('/') == std::string::npos || group.size() <= 1) break;
    }
  }
  return left;
}

Finding CheckMemory() {
  std::ifstream file("/proc/meminfo");
  std::string key;
  std::string rest;
  uint64_t available = 0;
  while (file >> key && std::getline(file, rest)) {
    if (key == "MemAvailable:") available = std::strtoull(rest.c_str(), nullptr, 10) * kKiB;
  }
  const uint64_t group = LeftInControlGroup();
  const uint64_t usable = std::min(available, group);
  const std::string said =
      absl::StrCat(Bytes(usable), " of host memory can be used",
                   group < available ? ", within this control group's limit" : "");
  if (usable >= kLittleMemory) return {"host.memory", Verdict::kGood, said, ""};
  return {"host.memory", Verdict::kLimited, said,
          "raise the limit: a simulated run needs host memory for what the job writes, and "
          "--offload moves blocks into half of the free memory"};
}

}  // namespace

Findings CheckHost() {
  return {CheckTraceFolder(),  CheckControlFolder(), CheckSharedMemory(),
          CheckAddressSpace(), CheckLockedMemory(),  CheckMemory()};
}

}  // namespace vramstow
