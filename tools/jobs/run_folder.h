// RunFolder: a temporary folder for simulated runs and their traces, which exists while a command
// reads them.
//
// Idea: the folder is removed before a signal ends the process. Its path is absolute, because the
// commands that write into it may change their current folder.
//
// Ownership: the destructor removes the folder, unless the user wants to retain it. Threads: used
// by one thread at a time. Errors: ok() returns false. Units: none.
#ifndef VRAMSTOW_TOOLS_JOBS_RUN_FOLDER_H_
#define VRAMSTOW_TOOLS_JOBS_RUN_FOLDER_H_

#include <cstdlib>
#include <filesystem>
#include <string>
#include <system_error>

#include "tools/launch/end_signals.h"

namespace vramstow {

class RunFolder {
 public:
  explicit RunFolder(const std::string& keep) : path_(keep), is_kept_(!keep.empty()) {
    std::error_code error;
    if (is_kept_) {
      const std::filesystem::path absolute = std::filesystem::absolute(keep, error);
      if (!error) path_ = absolute.string();
      return;
    }
    const std::filesystem::path temporary = std::filesystem::temp_directory_path(error);
    if (error) return;
    path_ = (temporary / "vramstow-XXXXXX").string();
    is_made_ = mkdtemp(path_.data()) != nullptr;
  }
  RunFolder(const RunFolder&) = delete;
  RunFolder& operator=(const RunFolder&) = delete;
  ~RunFolder() {
    std::error_code ignored;
    if (is_made_) std::filesystem::remove_all(path_, ignored);
  }

  bool ok() const { return is_made_ || is_kept_; }
  const std::string& path() const { return path_; }

 private:
  const EndSignals signals_;
  std::string path_;
  const bool is_kept_;
  bool is_made_ = false;
};

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_JOBS_RUN_FOLDER_H_
