// Functions of newer C libraries that the compiler's runtime needs. They are linked into a target
// if the C library of the build does not have them.
//
// Idea: the static libstdc++ and libgcc of g++ 12 were built with glibc 2.36. In place of the
// functions of glibc 2.36 that they use, this file provides functions made of older ones. On a
// newer glibc, its own _dl_find_object is called, which takes no lock: the linker's --wrap
// redirects all calls to the function here. All names are hidden, so a host process never sees
// them. They are weak, because a library that is linked from the objects of another one may contain
// them twice.
//
// Ownership: none. Threads: any. Errors: as the functions of the same names in glibc. Units: bytes.
#include <features.h>
#include <link.h>
#include <sys/random.h>

#include <cstdint>
#include <cstdlib>

// NOLINTBEGIN(bugprone-reserved-identifier,readability-identifier-naming): glibc's names.
extern "C" {

#if !__GLIBC_PREREQ(2, 35)
// The declaration of glibc 2.35, in the form for machines whose exception tables need no base
// address.
struct dl_find_object {
  unsigned long long dlfo_flags;
  void* dlfo_map_start;
  void* dlfo_map_end;
  struct link_map* dlfo_link_map;
  void* dlfo_eh_frame;
  unsigned long long reserved[7];
};
#endif

// 0 means that more than one thread may exist, so atomic operations must not be omitted.
[[gnu::weak, gnu::visibility("hidden")]] char __libc_single_threaded = 0;

// The C library's own function; null if it has none.
[[gnu::weak]] int __real__dl_find_object(void* address, struct dl_find_object* result) noexcept;
[[gnu::weak, gnu::visibility("hidden")]] int __wrap__dl_find_object(
    void* address, struct dl_find_object* result) noexcept;
[[gnu::weak, gnu::visibility("hidden")]] uint32_t arc4random() noexcept;

}  // extern "C"

namespace {

struct Search {
  uintptr_t address;
  dl_find_object* result;
};

// Called for each loaded library. Returns 1, which ends the iteration, if the library contains the
// address.
int Look(struct dl_phdr_info* object, size_t /*size*/, void* data) {
  const auto* search = static_cast<Search*>(data);
  bool inside = false;
  uintptr_t tables = 0;
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    const ElfW(Phdr)& part = object->dlpi_phdr[i];
    const uintptr_t begin = object->dlpi_addr + part.p_vaddr;
    if (part.p_type == PT_GNU_EH_FRAME) tables = begin;
    if (part.p_type != PT_LOAD || search->address - begin >= part.p_memsz) continue;
    inside = true;
    search->result->dlfo_map_start = reinterpret_cast<void*>(begin);
    search->result->dlfo_map_end = reinterpret_cast<void*>(begin + part.p_memsz);
  }
  if (!inside || tables == 0) return 0;
  search->result->dlfo_eh_frame = reinterpret_cast<void*>(tables);
  return 1;
}

}  // namespace

int __wrap__dl_find_object(void* address, struct dl_find_object* result) noexcept {
  if (&__real__dl_find_object != nullptr) return __real__dl_find_object(address, result);
  *result = {};
  Search search = {reinterpret_cast<uintptr_t>(address), result};
  return dl_iterate_phdr(Look, &search) == 1 ? 0 : -1;
}

uint32_t arc4random() noexcept {
  uint32_t number = 0;
  // For such a small number of bytes, the kernel returns all of them or an error.
  if (getrandom(&number, sizeof number, 0) != sizeof number) abort();
  return number;
}
// NOLINTEND(bugprone-reserved-identifier,readability-identifier-naming)
