// Where a caller finds a function of a library that is no driver: in the program's scope, or in its
// own.
//
// Idea: a process may have several copies of such a library, and a library that was opened for its
// own use sees copies that the program does not see. Our exported stub stands before them all, so
// it has to find what the caller would have got without us: the definition that follows ours in the
// program's scope, else one among the caller's own libraries, else the library by its name.
//
// Ownership: none; no library is kept open but by KeepLoaded. Threads: any; the dynamic linker's
// lock is taken. Errors: a null address, and dlerror() is set. Units: addresses.
#ifndef VRAMSTOW_INTERPOSE_SHIM_SCOPES_H_
#define VRAMSTOW_INTERPOSE_SHIM_SCOPES_H_

namespace vramstow {

struct Definition {
  void* address;
  bool for_all;  // any caller gets this one
};

// `version` null: the default one. `own`: our stub, which is none. `library`: the file's name.
Definition FindForCaller(const char* name, const char* version, const void* own,
                         const char* library, const void* caller);

// Whether the library of this function stays loaded from now on.
bool KeepLoaded(const void* function);

}  // namespace vramstow

#endif  // VRAMSTOW_INTERPOSE_SHIM_SCOPES_H_
