#include "tools/launch/linked_torch.h"

#include <elf.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <set>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"

namespace vramstow {
namespace {

namespace fs = std::filesystem;

constexpr char kLibrary[] = "libc10_cuda.so";
// PyTorch may be needed by a library of the program, or by a library that this one needs. The
// search stops at this depth.
constexpr int kMaxDepth = 4;

// The entries of a file's dynamic section that the search uses.
struct Linking {
  std::vector<std::string> needed;
  std::vector<std::string> folders;  // folders to search for them
};

// Reads parts of an ELF file. Functions return false for a part that lies past its end.
class Elf {
 public:
  explicit Elf(const fs::path& path) : file_(path, std::ios::binary) {}

  template <typename T>
  bool Read(uint64_t offset, T* value) {
    file_.clear();
    file_.seekg(static_cast<std::streamoff>(offset));
    return static_cast<bool>(file_.read(reinterpret_cast<char*>(value), sizeof *value));
  }
  std::string Text(uint64_t offset) {
    std::string text;
    file_.clear();
    file_.seekg(static_cast<std::streamoff>(offset));
    std::getline(file_, text, '\0');
    return file_ ? text : "";
  }

 private:
  std::ifstream file_;
};

std::vector<Elf64_Phdr> ReadSegments(Elf* elf) {
  Elf64_Ehdr header;
  std::vector<Elf64_Phdr> segments;
  if (!elf->Read(0, &header) || std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
      header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_phentsize != sizeof(Elf64_Phdr)) {
    return segments;
  }
  for (int i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr segment;
    if (!elf->Read(header.e_phoff + static_cast<uint64_t>(i) * sizeof segment, &segment)) break;
    segments.push_back(segment);
  }
  return segments;
}

// Returns the offset in the file for an address of the loaded file. Returns 0 if the address is in
// no segment.
uint64_t OffsetOf(const std::vector<Elf64_Phdr>& segments, uint64_t address) {
  for (const Elf64_Phdr& segment : segments) {
    if (segment.p_type != PT_LOAD || address < segment.p_vaddr) continue;
    if (address - segment.p_vaddr < segment.p_filesz) {
      return segment.p_offset + (address - segment.p_vaddr);
    }
  }
  return 0;
}

std::vector<Elf64_Dyn> ReadEntries(Elf* elf, const std::vector<Elf64_Phdr>& segments) {
  std::vector<Elf64_Dyn> entries;
  for (const Elf64_Phdr& segment : segments) {
    if (segment.p_type != PT_DYNAMIC) continue;
    for (uint64_t at = 0; at + sizeof(Elf64_Dyn) <= segment.p_filesz; at += sizeof(Elf64_Dyn)) {
      Elf64_Dyn entry;
      if (!elf->Read(segment.p_offset + at, &entry) || entry.d_tag == DT_NULL) break;
      entries.push_back(entry);
    }
  }
  return entries;
}

Linking ReadLinking(const fs::path& path) {
  Linking linking;
  Elf elf(path);
  const std::vector<Elf64_Phdr> segments = ReadSegments(&elf);
  const std::vector<Elf64_Dyn> entries = ReadEntries(&elf, segments);
  uint64_t texts = 0;
  for (const Elf64_Dyn& entry : entries) {
    if (entry.d_tag == DT_STRTAB) texts = OffsetOf(segments, entry.d_un.d_ptr);
  }
  if (texts == 0) return linking;
  const std::string origin = path.parent_path().string();
  for (const Elf64_Dyn& entry : entries) {
    if (entry.d_tag == DT_NEEDED) linking.needed.push_back(elf.Text(texts + entry.d_un.d_val));
    if (entry.d_tag != DT_RUNPATH && entry.d_tag != DT_RPATH) continue;
    const std::string folders = absl::StrReplaceAll(elf.Text(texts + entry.d_un.d_val),
                                                    {{"$ORIGIN", origin}, {"${ORIGIN}", origin}});
    for (const absl::string_view folder : absl::StrSplit(folders, ':', absl::SkipEmpty())) {
      linking.folders.emplace_back(folder);
    }
  }
  return linking;
}

class Search {
 public:
  explicit Search(const std::string& library_path) {
    for (const absl::string_view folder : absl::StrSplit(library_path, ':', absl::SkipEmpty())) {
      everywhere_.emplace_back(folder);
    }
  }

  std::string In(const fs::path& file, int depth) {
    if (depth > kMaxDepth || !seen_.insert(file.string()).second) return "";
    Linking linking = ReadLinking(file);
    linking.folders.insert(linking.folders.end(), everywhere_.begin(), everywhere_.end());
    for (const std::string& needed : linking.needed) {
      for (const std::string& folder : linking.folders) {
        std::error_code error;
        // A file may be a symbolic link. PyTorch is identified by the real folder, after all links
        // are resolved.
        const fs::path real_folder = fs::canonical(folder, error);
        if (error || !fs::exists(real_folder / needed, error)) continue;
        if (IsTorch(needed) && fs::exists(real_folder / kLibrary, error)) {
          return real_folder.parent_path().string();
        }
        std::string torch = In(real_folder / needed, depth + 1);
        if (!torch.empty()) return torch;
        break;
      }
    }
    return "";
  }

 private:
  static bool IsTorch(const std::string& library) {
    return library.starts_with("libtorch") || library.starts_with("libc10");
  }

  std::vector<std::string> everywhere_;
  std::set<std::string> seen_;
};

// Returns the command's file, as execvp finds it.
fs::path FileOf(const std::string& command, const std::string& path) {
  std::error_code error;
  if (command.find('/') != std::string::npos) return fs::canonical(command, error);
  for (const absl::string_view folder : absl::StrSplit(path, ':', absl::SkipEmpty())) {
    const std::string file = absl::StrCat(folder, "/", command);
    if (access(file.c_str(), X_OK) == 0) return fs::canonical(file, error);
  }
  return {};
}

}  // namespace

std::string FindLinkedTorch(const std::string& command, const std::string& path,
                            const std::string& library_path) {
  const fs::path file = FileOf(command, path);
  return file.empty() ? "" : Search(library_path).In(file, 0);
}

}  // namespace vramstow
