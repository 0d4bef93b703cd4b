// Finds symbols of the process by name, without the dynamic linker's help.
//
// Idea: dlsym takes a lock that another thread may hold as long as a library's constructors run,
// and those constructors may wait for this thread. The tables that dlsym reads are public: the
// dynamic section (ELF gABI) and the GNU hash table. The dynamic linker is only asked for the list
// of libraries (dl_iterate_phdr). The lock for that list is never held while foreign code runs.
//
// Ownership: none. Threads: any. Errors: false. No heap. Units: addresses.
#ifndef VRAMSTOW_TRACER_CAPTURE_SYMBOL_SEARCH_H_
#define VRAMSTOW_TRACER_CAPTURE_SYMBOL_SEARCH_H_

#include <cstddef>
#include <cstdint>

namespace vramstow {

// Looks for the first library that defines names[0], and for the other names in that library. The
// result for a name that the library does not define is null. Returns false if no library defines
// names[0].
bool FindSymbols(const char* const* names, void** found, size_t count);

// The numbers of libraries that were loaded and unloaded so far.
struct LibraryCounts {
  uint64_t loaded = 0;
  uint64_t unloaded = 0;
};
LibraryCounts CountLibraries();

}  // namespace vramstow

#endif  // VRAMSTOW_TRACER_CAPTURE_SYMBOL_SEARCH_H_
