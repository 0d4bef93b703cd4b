// A preloaded library: it counts the calls of the heap and of the dynamic linker that one library
// makes when another library calls it back.
#include <dlfcn.h>
#include <execinfo.h>
#include <link.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <cstring>

extern "C" {
void* __libc_malloc(size_t size);
void* __libc_calloc(size_t count, size_t size);
void* __libc_realloc(void* block, size_t size);
void __libc_free(void* block);
}

namespace {

using Visit = int (*)(dl_phdr_info*, size_t, void*);
using Iterate = int (*)(Visit, void*);

// The code of a library.
struct Code {
  std::atomic<uintptr_t> begin{0};
  std::atomic<uintptr_t> end{0};

  bool Contains(uintptr_t place) const {
    return place >= begin.load(std::memory_order_relaxed) &&
           place < end.load(std::memory_order_relaxed);
  }
};
Code watched;
Code caller;
Code passed_on;
std::atomic<int> counted{0};
thread_local bool is_looking = false;

Iterate RealIterate() {
  static const auto real = reinterpret_cast<Iterate>(dlsym(RTLD_NEXT, "dl_iterate_phdr"));
  return real;
}

struct Wanted {
  const char* part;
  Code* code;
};

int FindLibrary(dl_phdr_info* library, size_t, void* argument) {
  const auto* wanted = static_cast<const Wanted*>(argument);
  if (std::strstr(library->dlpi_name, wanted->part) == nullptr) return 0;
  for (int i = 0; i < library->dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = library->dlpi_phdr[i];
    if (segment.p_type != PT_LOAD || (segment.p_flags & PF_X) == 0) continue;
    wanted->code->end = library->dlpi_addr + segment.p_vaddr + segment.p_memsz;
    wanted->code->begin = library->dlpi_addr + segment.p_vaddr;
  }
  return 1;
}

void Note() {
  if (watched.begin.load(std::memory_order_relaxed) == 0 || is_looking) return;
  is_looking = true;
  void* frames[40];
  const int count = backtrace(frames, 40);
  for (int i = 0; i < count; ++i) {
    const uintptr_t place = reinterpret_cast<uintptr_t>(frames[i]);
    if (caller.Contains(place) || passed_on.Contains(place)) break;  // their own calls
    if (!watched.Contains(place)) continue;
    // A function that was not called back holds none of the caller's locks.
    while (i + 1 < count && watched.Contains(reinterpret_cast<uintptr_t>(frames[i + 1]))) ++i;
    if (i + 1 == count || !caller.Contains(reinterpret_cast<uintptr_t>(frames[i + 1]))) break;
    if (counted.fetch_add(1) == 0) backtrace_symbols_fd(frames, count, STDERR_FILENO);
    break;
  }
  is_looking = false;
}

}  // namespace

extern "C" {

// Begins to count for the library whose path contains `part`, when it is called by the one whose
// path contains `calling`. What the library whose path contains `passed` does does not count,
// because the call is passed on to it. Returns 0 if one is missing.
int watch_library(const char* part, const char* calling, const char* passed) {
  void* frames[2];
  backtrace(frames, 2);  // the first call loads a library
  Wanted wanted[] = {{calling, &caller}, {passed, &passed_on}, {part, &watched}};
  for (Wanted& one : wanted) {
    if (RealIterate()(FindLibrary, &one) == 0) return 0;
  }
  return 1;
}
int counted_calls() { return counted.load(); }

void* malloc(size_t size) {
  Note();
  return __libc_malloc(size);
}
void* calloc(size_t count, size_t size) {
  Note();
  return __libc_calloc(count, size);
}
void* realloc(void* block, size_t size) {
  Note();
  return __libc_realloc(block, size);
}
void free(void* block) {
  Note();
  __libc_free(block);
}
int dl_iterate_phdr(Visit visit, void* argument) {
  Note();
  return RealIterate()(visit, argument);
}
}
