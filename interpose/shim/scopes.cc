#include "interpose/shim/scopes.h"

#include <dlfcn.h>

#include "interpose/shim/core_loader.h"
#include "interpose/shim/objects.h"

namespace vramstow {
namespace {

using Dlvsym = void* (*)(void*, const char*, const char*);
using Dlclose = int (*)(void*);

void* FindIn(void* handle, const char* name, const char* version) {
  if (version == nullptr) return FindSymbol(handle, name);
  const auto find = reinterpret_cast<Dlvsym>(LibcDefinition("dlvsym"));
  void* volatile found = find == nullptr ? nullptr : find(handle, name, version);
  // The result is volatile to prevent a tail call, because RTLD_NEXT depends on the library that
  // makes the call.
  return found;
}

// Looks in a loaded library and in the libraries that it needs.
void* FindInFile(const char* file, const char* name, const char* version) {
  void* handle = OpenLibrary(file, RTLD_LAZY | RTLD_NOLOAD);
  if (handle == nullptr) return nullptr;
  void* found = FindIn(handle, name, version);
  const auto close = reinterpret_cast<Dlclose>(LibcDefinition("dlclose"));
  if (close != nullptr) close(handle);
  return found;
}

// Returns the file of the library at this address, or null if there is none.
const char* FileAt(const void* address) {
  Dl_info about;
  void* object = nullptr;
  if (dladdr1(address, &about, &object, RTLD_DL_LINKMAP) == 0) return nullptr;
  return about.dli_fname;
}

}  // namespace

Definition FindForCaller(const char* name, const char* version, const void* own,
                         const char* library, const void* caller) {
  if (void* found = FindIn(RTLD_NEXT, name, version)) return {found, true};
  if (const char* file = FileAt(caller)) {
    void* found = FindInFile(file, name, version);
    if (found != nullptr && found != own) return {found, false};
  }
  return {FindInFile(library, name, version), false};
}

bool KeepLoaded(const void* function) {
  const char* file = FileAt(function);
  return file != nullptr && OpenLibrary(file, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE) != nullptr;
}

}  // namespace vramstow
