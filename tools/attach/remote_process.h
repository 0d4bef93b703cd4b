// RemoteProcess: what can be read of another process without stopping it.
//
// Idea: /proc tells which files a process has mapped, and where; the files tell the addresses of
// their functions. A file is opened below /proc/PID/root, so that it is the one that the process
// sees.
//
// Ownership: values. Threads: one. Errors: a sentence in the status. Units: addresses.
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
  uint64_t start = 0;  // where its first byte lies in memory
};

class RemoteProcess {
 public:
  // Fails where there is no such process, or where its maps may not be read.
  static absl::StatusOr<RemoteProcess> Open(pid_t pid);

  pid_t pid() const { return pid_; }
  const std::vector<RemoteFile>& files() const { return files_; }
  // The first mapped file whose name, without folders, begins so; null: there is none.
  const RemoteFile* FindFile(std::string_view name_begins) const;
  // The program itself.
  const RemoteFile* program() const;

  // The address of an exported function of the file (ELF's dynamic symbols); 0: it exports none.
  uint64_t FindFunction(const RemoteFile& file, std::string_view function) const;

  // Whether it sees the same files as this process.
  bool HasOurFiles() const;
  // The user that it runs as.
  uid_t user() const { return user_; }
  gid_t group() const { return group_; }

 private:
  pid_t pid_ = 0;
  uid_t user_ = 0;
  gid_t group_ = 0;
  std::string program_path_;
  std::vector<RemoteFile> files_;
};

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_ATTACH_REMOTE_PROCESS_H_
