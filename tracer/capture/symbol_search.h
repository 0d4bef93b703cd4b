// Symbols of the process by name, without the dynamic linker's help.
//
// Idea: dlsym takes a lock that another thread may hold for as long as a library's constructors
// run, and those may wait for us. The tables that dlsym reads are there to be read by all: the ELF
// gABI's dynamic section, and the GNU hash table. Only the list of libraries is asked for
// (dl_iterate_phdr), whose lock is never held while foreign code runs.
//
// Ownership: none. Threads: any. Errors: false. No heap.
#ifndef VRAMSTOW_TRACER_CAPTURE_SYMBOL_SEARCH_H_
#define VRAMSTOW_TRACER_CAPTURE_SYMBOL_SEARCH_H_

#include <cstddef>
#include <cstdint>

namespace vramstow {

// Looks for the first library that defines names[0], and for the others in that library. False:
// there is none. What it does not define is null.
bool FindSymbols(const char* const* names, void** found, size_t count);

// How many libraries were loaded and unloaded so far.
struct LibraryCounts {
  uint64_t loaded = 0;
  uint64_t unloaded = 0;
};
LibraryCounts CountLibraries();

}  // namespace vramstow

#endif  // VRAMSTOW_TRACER_CAPTURE_SYMBOL_SEARCH_H_
