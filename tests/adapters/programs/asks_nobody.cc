// A preloaded library: it counts calls of the heap and of the dynamic linker while a function of
// one library is on the stack.
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

std::atomic<uintptr_t> library_begin{0};
std::atomic<uintptr_t> library_end{0};
std::atomic<int> counted{0};
thread_local bool is_looking = false;

Iterate RealIterate() {
  static const auto real = reinterpret_cast<Iterate>(dlsym(RTLD_NEXT, "dl_iterate_phdr"));
  return real;
}

int FindLibrary(dl_phdr_info* library, size_t, void* part) {
  if (std::strstr(library->dlpi_name, static_cast<const char*>(part)) == nullptr) return 0;
  for (int i = 0; i < library->dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = library->dlpi_phdr[i];
    if (segment.p_type != PT_LOAD || (segment.p_flags & PF_X) == 0) continue;
    library_end = library->dlpi_addr + segment.p_vaddr + segment.p_memsz;
    library_begin = library->dlpi_addr + segment.p_vaddr;
  }
  return 1;
}

void Note() {
  const uintptr_t begin = library_begin.load(std::memory_order_relaxed);
  if (begin == 0 || is_looking) return;
  is_looking = true;
  void* frames[40];
  const int count = backtrace(frames, 40);
  for (int i = 0; i < count; ++i) {
    const uintptr_t place = reinterpret_cast<uintptr_t>(frames[i]);
    if (place < begin || place >= library_end.load(std::memory_order_relaxed)) continue;
    if (counted.fetch_add(1) == 0) backtrace_symbols_fd(frames, count, STDERR_FILENO);
    break;
  }
  is_looking = false;
}

}  // namespace

extern "C" {

// Begins to count for the library whose path contains `part`. Returns 0 if there is none.
int watch_library(const char* part) {
  void* frames[2];
  backtrace(frames, 2);  // the first call loads a library
  return RealIterate()(FindLibrary, const_cast<char*>(part));
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
