// Functions that the compiler's own runtime wants of a C library newer than the one that is built
// for: linked into a target where the C library's headers have none of it.
//
// Idea: g++ 12's static libstdc++ and libgcc were made beside glibc 2.36. What they took of it has
// older ways, which are used here. On a newer glibc its own _dl_find_object is called, which takes
// no lock: the linker's --wrap leads all calls of it here. All names are hidden: a host process
// never sees them. They are weak: a library that is put together from another one's objects may
// have them twice.
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
// As glibc 2.35 declares it, on machines without a base for exception tables.
struct dl_find_object {
  unsigned long long dlfo_flags;
  void* dlfo_map_start;
  void* dlfo_map_end;
  struct link_map* dlfo_link_map;
  void* dlfo_eh_frame;
  unsigned long long reserved[7];
};
#endif

// 0: nobody may leave an atomic operation out because there is one thread only.
[[gnu::weak, gnu::visibility("hidden")]] char __libc_single_threaded = 0;

// The C library's own, where it has one.
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

// 1 ends the walk: this is the object.
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
  // So few bytes are given at once or not at all.
  if (getrandom(&number, sizeof number, 0) != sizeof number) abort();
  return number;
}
// NOLINTEND(bugprone-reserved-identifier,readability-identifier-naming)
