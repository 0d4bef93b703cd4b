#include "tools/attach/remote_process.h"

#include <elf.h>
#include <errno.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <fstream>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "tools/base/process_state.h"

namespace vramstow {
namespace {

std::string LinkOf(const std::string& path) {
  char target[4096];
  const ssize_t length = readlink(path.c_str(), target, sizeof target);
  return length < 0 ? "" : std::string(target, static_cast<size_t>(length));
}

std::string_view NameOf(std::string_view path) {
  const size_t slash = path.rfind('/');
  return slash == std::string_view::npos ? path : path.substr(slash + 1);
}

// Returns the PID in the innermost PID namespace of the process: the last number of the line NSpid
// in /proc/PID/status (proc(5)). Kernels before 4.1 have no such line.
pid_t OwnPidOf(pid_t pid) {
  std::ifstream file(absl::StrCat("/proc/", pid, "/status"));
  pid_t own = pid;
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with("NSpid:")) continue;
    const size_t last = line.find_last_of(" \t");
    if (!absl::SimpleAtoi(line.substr(last + 1), &own)) own = pid;
  }
  return own;
}

// Parses a line of /proc/PID/maps: "start-end perms offset device inode path".
void AddMapping(const std::string& line, std::vector<RemoteFile>* files) {
  unsigned long long start = 0;
  unsigned long long offset = 0;
  int path_begins = 0;
  if (std::sscanf(line.c_str(), "%llx-%*x %*s %llx %*s %*s %n", &start, &offset, &path_begins) <
          2 ||
      path_begins == 0 || offset != 0) {
    return;
  }
  const std::string path = line.substr(static_cast<size_t>(path_begins));
  if (path.empty() || path.front() != '/') return;
  const bool is_known = std::any_of(files->begin(), files->end(),
                                    [&path](const RemoteFile& file) { return file.path == path; });
  if (!is_known) files->push_back({path, start});
}

// Reads a part of a file; the result is empty if the file is too short.
template <typename Item>
std::vector<Item> ReadItems(std::ifstream& file, uint64_t offset, uint64_t count) {
  constexpr uint64_t kMax = uint64_t{256} << 20;
  if (count > kMax / sizeof(Item) || offset > (uint64_t{1} << 40)) return {};
  std::vector<Item> items(count);
  file.clear();
  file.seekg(static_cast<std::streamoff>(offset));
  file.read(reinterpret_cast<char*>(items.data()),
            static_cast<std::streamsize>(count * sizeof(Item)));
  return file ? items : std::vector<Item>();
}

// Returns the address at which the file's first byte would lie, according to its program headers.
uint64_t FirstAddress(std::ifstream& file, const Elf64_Ehdr& header) {
  for (const Elf64_Phdr& part : ReadItems<Elf64_Phdr>(file, header.e_phoff, header.e_phnum)) {
    if (part.p_type == PT_LOAD && part.p_offset == 0) return part.p_vaddr;
  }
  return 0;
}

uint64_t FindSymbol(std::ifstream& file, const Elf64_Ehdr& header, std::string_view name) {
  const auto sections = ReadItems<Elf64_Shdr>(file, header.e_shoff, header.e_shnum);
  for (const Elf64_Shdr& section : sections) {
    if (section.sh_type != SHT_DYNSYM || section.sh_link >= sections.size()) continue;
    const Elf64_Shdr& names = sections[section.sh_link];
    const auto text = ReadItems<char>(file, names.sh_offset, names.sh_size);
    for (const Elf64_Sym& symbol :
         ReadItems<Elf64_Sym>(file, section.sh_offset, section.sh_size / sizeof(Elf64_Sym))) {
      if (symbol.st_value == 0 || symbol.st_name >= text.size()) continue;
      const char* const known = text.data() + symbol.st_name;
      const size_t room = text.size() - symbol.st_name;
      if (std::string_view(known, strnlen(known, room)) == name) return symbol.st_value;
    }
  }
  return 0;
}

}  // namespace

std::string WhyNoMaps(pid_t pid, uid_t owner, uid_t user) {
  if (owner != user && user != 0) {
    return absl::StrCat("process ", pid, " belongs to another user, so it cannot be inspected. ",
                        "Run vramstow attach as that user, or as root.");
  }
  return absl::StrCat(
      "process ", pid, " cannot be inspected, because ", user == 0 ? "root" : "its own user",
      " has no permission to debug it here; a container needs ", "--cap-add=SYS_PTRACE.");
}

absl::StatusOr<RemoteProcess> RemoteProcess::Open(pid_t pid) {
  const std::string folder = absl::StrCat("/proc/", pid);
  struct stat about;
  if (stat(folder.c_str(), &about) != 0) {
    return absl::NotFoundError(absl::StrCat("there is no process ", pid, "."));
  }
  RemoteProcess process;
  process.pid_ = pid;
  process.own_pid_ = OwnPidOf(pid);
  process.user_ = about.st_uid;
  process.group_ = about.st_gid;
  process.program_path_ = LinkOf(absl::StrCat(folder, "/exe"));
  std::ifstream maps(absl::StrCat(folder, "/maps"));
  for (std::string line; std::getline(maps, line);) AddMapping(line, &process.files_);
  if (!maps.is_open() || !maps.eof()) {
    return absl::PermissionDeniedError(WhyNoMaps(pid, about.st_uid, geteuid()));
  }
  if (process.files_.empty()) {
    return absl::NotFoundError(
        absl::StrCat("process ", pid, " has ended, or it is a thread of the kernel."));
  }
  return process;
}

const RemoteFile* RemoteProcess::FindFile(std::string_view name_begins) const {
  for (const RemoteFile& file : files_) {
    if (NameOf(file.path).starts_with(name_begins)) return &file;
  }
  return nullptr;
}

const RemoteFile* RemoteProcess::program() const {
  for (const RemoteFile& file : files_) {
    if (file.path == program_path_) return &file;
  }
  return nullptr;
}

uint64_t RemoteProcess::FindFunction(const RemoteFile& file, std::string_view function) const {
  std::ifstream contents(absl::StrCat("/proc/", pid_, "/root", file.path), std::ios::binary);
  const auto headers = ReadItems<Elf64_Ehdr>(contents, 0, 1);
  if (headers.empty() || std::memcmp(headers[0].e_ident, ELFMAG, SELFMAG) != 0 ||
      headers[0].e_ident[EI_CLASS] != ELFCLASS64) {
    return 0;
  }
  const uint64_t address = FindSymbol(contents, headers[0], function);
  return address == 0 ? 0 : file.start + address - FirstAddress(contents, headers[0]);
}

bool RemoteProcess::HasOurFiles() const {
  const std::string theirs = LinkOf(absl::StrCat("/proc/", pid_, "/ns/mnt"));
  return theirs.empty() || theirs == LinkOf("/proc/self/ns/mnt");
}

}  // namespace vramstow
