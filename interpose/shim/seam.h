/* The seam between the shim (libvramstow.so) and the core (libvramstow-core.so).
 *
 * Idea: the shim is in every process that inherits the preload. It needs libc only, and of CUDA it
 * knows only names. At the first look-up of the driver it opens the core and calls VRAMSTOW_ATTACH.
 * From then on it asks the core which function a caller gets in place of a driver's function. Each
 * side gives the other one table of functions.
 *
 * Ownership: both tables are static and live as long as the process; neither library is ever
 * unloaded. Threads: any thread may call any function at any time, also before constructors have
 * run, and several threads may attach at once. Errors: attach returns null for a shim that was not
 * built together with this core. Units: none. The seam is plain C, so neither side needs the
 * other's language runtime.
 */
#ifndef VRAMSTOW_INTERPOSE_SHIM_SEAM_H_
#define VRAMSTOW_INTERPOSE_SHIM_SEAM_H_

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The state of one thread. It is in the shim, because a library that is opened later should have no
 * thread-local storage of its own. All fields start as zero. */
enum { kVramstowMostRegions = 14 };

struct VramstowThread {
  void* recorder;       /* where the recorder keeps this thread's place */
  void* pool_call;      /* which call of the program a pool works for */
  void* observer;       /* what an observer of a framework's allocator keeps here */
  uint32_t depth;       /* how many wrappers this thread is in */
  uint32_t lane;        /* of the gate that submissions pass; 0: none yet */
  uint32_t collectives; /* how many calls of collectives, and groups of such, it is in */
  /* With --cupti: CUPTI's number of the call that the program is in, 0: none or not known; whether
   * that is a call of the runtime; and what was recorded of it. */
  uint32_t correlation;
  uint32_t in_runtime;
  uint64_t recorded;
  uint32_t launches; /* with --launches=sample: since the last one that was recorded */
  /* The regions that it is in, as tags, the innermost last. */
  uint32_t region_count;
  uint16_t regions[kVramstowMostRegions];
};

/* How a caller reached a function of the driver. */
enum VramstowWay {
  kVramstowLinked = 0,      /* called the exported symbol */
  kVramstowDlsym = 1,       /* dlsym or dlvsym on the driver's handle */
  kVramstowDlsymGlobal = 2, /* dlsym with RTLD_DEFAULT, or on the program's own handle */
  kVramstowProcAddress = 3, /* cuGetProcAddress */
  kVramstowWays = 4
};

struct VramstowShim {
  uint64_t hooks_fingerprint; /* of the tables that the shim was built from */
  /* glibc's own functions, past every wrapper of the process. */
  void* (*find_symbol)(void* handle, const char* name);
  void* (*open_library)(const char* file, int mode);
  struct VramstowThread* (*thread)(void);
  /* The files that were opened with RTLD_DEEPBIND, in order; null after the last. */
  const char* (*deepbind_file)(unsigned index);
  /* Has `ended` called with the value when this thread ends; it is the same function each time. No
   * heap is used, unlike for a thread-specific key that is made late. 0: it cannot be done. */
  int (*watch_thread_exit)(void (*ended)(void* value), void* value);
};

/* The C API: include/vramstow/vramstow.h says what each function does. */
struct vramstow_stats;
struct vramstow_block;
typedef void (*vramstow_hook)(void* context, int why, uint64_t bytes);
struct VramstowApi {
#define VRAMSTOW_API(version, name, function, core, parameters, arguments) int(*name) parameters;
#include "interpose/shim/api.def"
};

struct vramstow_table;
struct VramstowCore {
  /* Returns what the caller gets for `real`, the address of hook number `hook` (its row in
   * hooks.def) in the driver library that is mapped as `driver` (a struct link_map*). `caller` is
   * an address in the caller. Returns `real` where vramstow does not hook. */
  void* (*replace)(unsigned hook, void* real, void* driver, enum VramstowWay way,
                   const void* caller);
  /* The same for row `row` of library_hooks.def, and any library that has the function. */
  void* (*replace_in_library)(unsigned row, void* real);
  /* Called once when the process ends, after the program's own exit handlers. */
  void (*finish)(void);
  /* Called when the process ends without its exit handlers. Async-signal-safe; it returns without
   * doing anything in a child of vfork(), whose memory is its parent's. */
  void (*note_exit)(int status);
  const struct VramstowApi* api;
  /* include/vramstow/framework.h says when it is null. */
  const struct vramstow_table* (*table)(uint32_t kind, uint32_t version);
};

typedef const struct VramstowCore* (*VramstowAttachFunction)(const struct VramstowShim* shim);
#define VRAMSTOW_ATTACH "vramstow_core_attach"

#ifdef __cplusplus
}
#endif

#endif /* VRAMSTOW_INTERPOSE_SHIM_SEAM_H_ */
