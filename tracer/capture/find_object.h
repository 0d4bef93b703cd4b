// FindObject asks glibc for the library that contains an address, without the dynamic linker's
// lock.
//
// Idea: glibc 2.35 has _dl_find_object for this. The symbol is weak: a library that was built with
// a newer glibc finds nothing on an older one. A library that was linked for an older glibc always
// has the name, because base/older_libc.cc defines it; then the running glibc decides.
//
// Ownership: none. Threads: any. Errors: false; CanFindObjects returns false if that is always so.
// Units: addresses.
#ifndef VRAMSTOW_TRACER_CAPTURE_FIND_OBJECT_H_
#define VRAMSTOW_TRACER_CAPTURE_FIND_OBJECT_H_

#include <dlfcn.h>
#include <gnu/libc-version.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>

struct link_map;

namespace vramstow {

struct FoundObject {
  const link_map* object;
  uintptr_t begin;
  uintptr_t end;
  const void* unwind_table;  // .eh_frame_hdr; null if there is none
};

#if __GLIBC_PREREQ(2, 35)
#pragma weak _dl_find_object
inline bool GlibcFindsObjects() {
  char* rest = nullptr;
  const long major = std::strtol(gnu_get_libc_version(), &rest, 10);
  return major > 2 || (*rest == '.' && std::strtol(rest + 1, nullptr, 10) >= 35);
}
enum class FindsObjects : uint8_t { kUnknown, kNo, kYes };
// This variable is no function-local static, because the guard of such a variable would bring the
// C++ runtime's exceptions into the process. Two threads that test at once find the same answer.
inline constinit std::atomic<FindsObjects> finds_objects{FindsObjects::kUnknown};
inline bool CanFindObjects() {
  FindsObjects finds = finds_objects.load(std::memory_order_relaxed);
  if (finds == FindsObjects::kUnknown) {
    const bool can = &_dl_find_object != nullptr && GlibcFindsObjects();
    finds = can ? FindsObjects::kYes : FindsObjects::kNo;
    finds_objects.store(finds, std::memory_order_relaxed);
  }
  return finds == FindsObjects::kYes;
}
inline bool FindObject(const void* address, FoundObject* found) {
  dl_find_object object;
  if (!CanFindObjects() || _dl_find_object(const_cast<void*>(address), &object) != 0) return false;
  *found = {object.dlfo_link_map, reinterpret_cast<uintptr_t>(object.dlfo_map_start),
            reinterpret_cast<uintptr_t>(object.dlfo_map_end), object.dlfo_eh_frame};
  return true;
}
#else
inline bool CanFindObjects() { return false; }
inline bool FindObject(const void*, FoundObject*) { return false; }
#endif

}  // namespace vramstow

#endif  // VRAMSTOW_TRACER_CAPTURE_FIND_OBJECT_H_
