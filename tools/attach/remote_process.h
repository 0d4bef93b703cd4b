// RemoteProcess: reads data about another process without stopping it.
//
// Idea: /proc shows which files a process has mapped, and where; the files contain the addresses of
// their functions. A file is opened below /proc/PID/root, so that it is the one that the process
// sees.
//
// Ownership: plain values. Threads: used by one thread at a time. Errors: a sentence in the status.
// Units: addresses.
#ifndef VRAMSTOW_TOOLS_ATTACH_REMOTE_PROCESS_H_
#define VRAMSTOW_TOOLS_ATTACH_REMOTE_PROCESS_H_

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace vramstow {

// A file that a process has mapped.
struct RemoteFile {
  std::string path;    // as the process names it
  uint64_t start = 0;  // the address of its first byte
};

// Returns one sentence that says why a user cannot read the maps of a process of `owner`.
std::string WhyNoMaps(pid_t pid, uid_t owner, uid_t user);

class RemoteProcess {
 public:
  // Fails if there is no such process, or its maps may not be read.
  static absl::StatusOr<RemoteProcess> Open(pid_t pid);

  pid_t pid() const { return pid_; }
  // The number that the process itself has for itself (getpid). In a container it is another one.
  pid_t own_pid() const { return own_pid_; }
  const std::vector<RemoteFile>& files() const { return files_; }
  // Returns the first mapped file whose base name begins with `name_begins`, or null if there is
  // none.
  const RemoteFile* FindFile(std::string_view name_begins) const;
  // Returns the file of the program itself.
  const RemoteFile* program() const;

  // Returns the address of an exported function of the file (ELF's dynamic symbols); 0 if it does
  // not export it.
  uint64_t FindFunction(const RemoteFile& file, std::string_view function) const;

  // True if the process sees the same files as this one.
  bool HasOurFiles() const;
  // The user and the group that the process runs as.
  uid_t user() const { return user_; }
  gid_t group() const { return group_; }

 private:
  pid_t pid_ = 0;
  pid_t own_pid_ = 0;
  uid_t user_ = 0;
  gid_t group_ = 0;
  std::string program_path_;
  std::vector<RemoteFile> files_;
};

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_ATTACH_REMOTE_PROCESS_H_
