#include "interpose/core/record/bypass.h"

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>

#include "interpose/core/runtime/log.h"

#pragma weak _r_debug

namespace vramstow {
namespace {

constexpr char kDriverFile[] = "libcuda.so.1";

// A whole file, mapped for reading.
class MappedFile {
 public:
  explicit MappedFile(const char* path) {
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) return;
    struct stat status;
    if (fstat(file, &status) == 0 && status.st_size > 0) {
      size_ = static_cast<size_t>(status.st_size);
      void* memory = mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, file, 0);
      data_ = memory == MAP_FAILED ? nullptr : static_cast<const char*>(memory);
    }
    close(file);
  }
  ~MappedFile() {
    if (data_ != nullptr) munmap(const_cast<char*>(data_), size_);
  }
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  // Returns the bytes at `offset`, or null if [offset, offset + size) is not inside the file.
  const char* At(size_t offset, size_t size) const {
    return data_ != nullptr && offset <= size_ && size <= size_ - offset ? data_ + offset : nullptr;
  }

 private:
  const char* data_ = nullptr;
  size_t size_ = 0;
};

// True if the file's .rodata section contains the driver's file name. Every copy of the CUDA
// runtime contains that name, because it opens the driver by it. Other sections are not read,
// because device code can be gigabytes.
bool NamesTheDriver(const char* path) {
  const MappedFile file(path);
  const auto* header = reinterpret_cast<const ElfW(Ehdr)*>(file.At(0, sizeof(ElfW(Ehdr))));
  if (header == nullptr || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0) return false;
  const auto* sections = reinterpret_cast<const ElfW(Shdr)*>(
      file.At(header->e_shoff, sizeof(ElfW(Shdr)) * header->e_shnum));
  if (sections == nullptr || header->e_shstrndx >= header->e_shnum) return false;
  const ElfW(Shdr)& names = sections[header->e_shstrndx];
  for (int i = 0; i < header->e_shnum; ++i) {
    const ElfW(Shdr)& section = sections[i];
    constexpr char kName[] = ".rodata";
    const char* name = file.At(names.sh_offset + section.sh_name, sizeof kName - 1);
    if (name == nullptr || std::strncmp(name, kName, sizeof kName - 1) != 0) continue;
    if (section.sh_type == SHT_NOBITS) continue;
    const char* data = file.At(section.sh_offset, section.sh_size);
    if (data != nullptr && memmem(data, section.sh_size, kDriverFile, sizeof kDriverFile - 1)) {
      return true;
    }
  }
  return false;
}

bool NeedsTheDriver(const link_map* object) {
  const char* names = nullptr;
  for (const ElfW(Dyn)* entry = object->l_ld; entry->d_tag != DT_NULL; ++entry) {
    if (entry->d_tag == DT_STRTAB) names = reinterpret_cast<const char*>(entry->d_un.d_ptr);
  }
  // The entries of the vdso are offsets rather than addresses. The vdso needs no library, so it is
  // skipped.
  if (names == nullptr || reinterpret_cast<ElfW(Addr)>(names) < object->l_addr) return false;
  for (const ElfW(Dyn)* entry = object->l_ld; entry->d_tag != DT_NULL; ++entry) {
    if (entry->d_tag == DT_NEEDED &&
        std::strncmp(names + entry->d_un.d_val, "libcuda.so", sizeof "libcuda.so" - 1) == 0) {
      return true;
    }
  }
  return false;
}

int ReportDeepbind(const VramstowShim& shim) {
  int lines = 0;
  for (unsigned i = 0; const char* file = shim.deepbind_file(i); ++i) {
    Log("  %.300s: opened with RTLD_DEEPBIND (VRAMSTOW_CLEAR_DEEPBIND=1 removes that)", file);
    ++lines;
  }
  return lines;
}

// Logs each driver library that was loaded in a link namespace other than the program's. Returns
// the number of logged lines.
int ReportNameSpaces() {
#if __GLIBC_PREREQ(2, 35)
  if (&_r_debug == nullptr || _r_debug.r_version < 2) return 0;
  int lines = 0;
  // The object is larger than its declaration says. So the pointer is volatile, which hides the
  // declaration from the compiler's bounds checks.
  const r_debug* volatile first = &_r_debug;
  const auto* space = reinterpret_cast<const r_debug_extended*>(first)->r_next;
  for (; space != nullptr; space = space->r_next) {
    for (const link_map* object = space->base.r_map; object != nullptr; object = object->l_next) {
      const char* slash = std::strrchr(object->l_name, '/');
      const char* file = slash == nullptr ? object->l_name : slash + 1;
      if (std::strncmp(file, "libcuda.so", sizeof "libcuda.so" - 1) != 0) continue;
      Log("  %.300s: opened again by dlmopen, in a separate name space", object->l_name);
      ++lines;
    }
  }
  return lines;
#else
  return 0;
#endif
}

}  // namespace

int ReportUnseenLibraries(const VramstowShim& shim,
                          bool (*was_seen)(const void* context, const void* address),
                          const void* context) {
  int lines = ReportDeepbind(shim) + ReportNameSpaces();
  if (&_r_debug == nullptr) return lines;
  for (const link_map* object = _r_debug.r_map; object != nullptr; object = object->l_next) {
    if (object->l_ld == nullptr || was_seen(context, object->l_ld)) continue;
    const char* path = object->l_name[0] == '\0' ? "/proc/self/exe" : object->l_name;
    if (NeedsTheDriver(object)) {
      Log("  %.300s: is linked to the driver and has called none of the hooked functions through "
          "vramstow",
          path);
      ++lines;
    } else if (NamesTheDriver(path)) {
      Log("  %.300s: contains the driver's name, as libraries with their own CUDA runtime do, and "
          "called no hooked function: it is idle, or its calls bypass vramstow",
          path);
      ++lines;
    }
  }
  return lines;
}

}  // namespace vramstow
