#include "tools/top/held_traces.h"

#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tools/base/folder_entries.h"
#include "tools/inputs/open_input.h"

namespace vramstow {
namespace {

constexpr size_t kMaxFolders = 16;
constexpr size_t kMaxEntries = 16384;  // of one folder

using FileId = std::pair<dev_t, ino_t>;

// The files of one process that /proc lists without a name, by folder.
using Unnamed = std::map<std::string, std::set<FileId>>;

// If `path` is that of a file which was created without a name, as in "/folder/#4711 (deleted)",
// returns its folder. Otherwise returns an empty text.
std::string_view FolderOfUnnamed(std::string_view path) {
  constexpr std::string_view kDeleted = " (deleted)";
  if (!path.starts_with('/') || !path.ends_with(kDeleted)) return "";
  path.remove_suffix(kDeleted.size());
  const size_t slash = path.rfind('/');
  std::string_view name = path.substr(slash + 1);
  if (!name.starts_with('#')) return "";
  name.remove_prefix(1);
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  if (name.empty() || !std::ranges::all_of(name, is_digit)) return "";
  return path.substr(0, std::max<size_t>(slash, 1));
}

// Returns the traces among the files that are mapped. A file without a name is left out, because a
// trace that has ended may stay mapped.
std::set<std::string> MappedTraces(const std::string& proc) {
  std::set<std::string> files;
  std::ifstream maps(proc + "maps");
  for (std::string line; std::getline(maps, line);) {
    const size_t slash = line.find('/');
    if (slash != std::string::npos && line.ends_with(kTraceEnding)) {
      files.insert(line.substr(slash));
    }
  }
  return files;
}

// Adds the traces among the files that are open to `files`, and the files without a name to
// `unnamed`.
void AddOpen(const std::string& proc, std::set<std::string>* files, Unnamed* unnamed) {
  std::error_code error;
  for (const std::filesystem::path& entry : EntriesOf(proc + "fd")) {
    const std::string file = std::filesystem::read_symlink(entry, error).string();
    if (file.ends_with(kTraceEnding)) {
      files->insert(file);
      continue;
    }
    const std::string folder(FolderOfUnnamed(file));
    if (folder.empty() || (unnamed->size() == kMaxFolders && !unnamed->contains(folder))) continue;
    struct stat about = {};
    if (stat(entry.c_str(), &about) != 0 || !S_ISREG(about.st_mode)) continue;
    (*unnamed)[folder].emplace(about.st_dev, about.st_ino);
  }
}

// Adds the traces in the folder that are among these files.
void AddNamed(const std::string& folder, const std::set<FileId>& wanted,
              std::set<std::string>* files) {
  std::error_code error;
  std::filesystem::directory_iterator at(folder, error);
  const std::filesystem::directory_iterator end;
  for (size_t i = 0; !error && at != end && i < kMaxEntries; at.increment(error), ++i) {
    const std::string file = at->path().string();
    struct stat about = {};
    if (!file.ends_with(kTraceEnding) || lstat(file.c_str(), &about) != 0) continue;
    if (S_ISREG(about.st_mode) && wanted.contains({about.st_dev, about.st_ino})) {
      files->insert(file);
    }
  }
}

// True if one of the paths names the same file. The trace folder of a process may be a link.
bool IsAmong(const std::set<std::string>& files, const std::string& file) {
  return std::ranges::any_of(files, [&file](const std::string& other) {
    std::error_code error;
    return std::filesystem::equivalent(other, file, error);
  });
}

}  // namespace

std::set<std::string> TracesHeldBy(pid_t process) {
  const std::string proc = absl::StrCat("/proc/", process, "/");
  std::set<std::string> files = MappedTraces(proc);
  Unnamed unnamed;
  AddOpen(proc, &files, &unnamed);
  for (const auto& [folder, wanted] : unnamed) AddNamed(folder, wanted, &files);
  return files;
}

std::vector<std::string> TracesOfProcess(pid_t process) {
  std::set<std::string> files = TracesHeldBy(process);
  // If the file system does not support shared mappings, the process neither maps its trace nor
  // holds it open. So its trace folder is searched, too.
  const std::string proc = absl::StrCat("/proc/", process, "/");
  std::ifstream environment(proc + "environ");
  constexpr std::string_view kFolder = "VRAMSTOW_TRACE_DIR=";
  for (std::string line; std::getline(environment, line, '\0');) {
    if (!line.starts_with(kFolder)) continue;
    const std::filesystem::path folder = line.substr(kFolder.size());
    const std::string end = "-" + std::to_string(process) + std::string(kTraceEnding);
    for (const std::string& file :
         FilesOf(folder.is_absolute() ? folder : std::filesystem::path(proc + "cwd") / folder)) {
      if (file.ends_with(end) && !IsAmong(files, file)) files.insert(file);
    }
  }
  return {files.begin(), files.end()};
}

}  // namespace vramstow
