// Finds a function of a library other than the driver in the program's scope or in the caller's own
// scope.
//
// Idea: a process may contain several copies of such a library, and a library that was opened with
// its own scope sees copies that the program does not see. The shim's exported stub precedes all
// copies in search order, so it has to find the definition that the caller would have got without
// vramstow. That is the next definition in the program's scope. If there is none, it is a
// definition among the caller's own libraries; otherwise the library is found by its name.
//
// Ownership: none; only KeepLoaded keeps a library open. Threads: any; the dynamic linker's lock is
// taken. Errors: a null address, and dlerror() is set. Units: addresses.
#ifndef VRAMSTOW_INTERPOSE_SHIM_SCOPES_H_
#define VRAMSTOW_INTERPOSE_SHIM_SCOPES_H_

namespace vramstow {

struct Definition {
  void* address;
  bool for_all;  // the same for every caller
};

// Finds the definition for a caller. `version` is null for the default version. `own` is the shim's
// stub, which does not count as a definition. `library` is the library's file name.
Definition FindForCaller(const char* name, const char* version, const void* own,
                         const char* library, const void* caller);

// Keeps the library of this function loaded from now on. Returns false if that fails.
bool KeepLoaded(const void* function);

}  // namespace vramstow

#endif  // VRAMSTOW_INTERPOSE_SHIM_SCOPES_H_
