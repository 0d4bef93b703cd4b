// FindObject: the library of an address, from glibc, without the dynamic linker's lock.
//
// Idea: glibc 2.35 has _dl_find_object for this. The symbol is weak: a library that was built with
// a newer glibc finds nothing on an older one.
//
// Ownership: none. Threads: any. Errors: false; CanFindObjects tells whether that is always so.
// Units: addresses.
#ifndef VRAMSTOW_TRACER_CAPTURE_FIND_OBJECT_H_
#define VRAMSTOW_TRACER_CAPTURE_FIND_OBJECT_H_

#include <dlfcn.h>

#include <cstdint>

struct link_map;

namespace vramstow {

struct FoundObject {
  const link_map* object;
  uintptr_t begin;
  uintptr_t end;
  const void* unwind_table;  // .eh_frame_hdr; null: it has none
};

#if __GLIBC_PREREQ(2, 35)
#pragma weak _dl_find_object
inline bool CanFindObjects() { return &_dl_find_object != nullptr; }
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
