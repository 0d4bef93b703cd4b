/* vramstow: see, pool and move the GPU memory of a process that knows nothing of it.
 *
 * This is the C API, the only installed header. It is for programs that want to talk to vramstow
 * when it is preloaded; none of it is needed to use vramstow. Conventions:
 *
 *  1. Nothing has to be linked: each function here looks for the preloaded library when it is
 *     called, and gives VRAMSTOW_NOT_ACTIVE where there is none. (Programs for a C library before
 *     glibc 2.34 link with -ldl.) Other languages look the same names up in the process, as in
 *     ctypes.CDLL(None).vramstow_empty_cache, and go without where they are not found.
 *  2. No function prints, exits, throws or keeps a pointer of the caller's, hooks excepted.
 *  3. Every function may be called from any thread at any time, also where CUDA was never used.
 *     Hooks run on the thread whose allocation lacks memory; those that tell of memory that was
 *     given back may also run on a thread of vramstow's.
 *  4. Texts are UTF-8, end with a zero byte and belong to vramstow.
 *  5. Sizes are bytes, times nanoseconds, devices CUDA's ordinals in this process;
 *     VRAMSTOW_ALL_DEVICES is all that the process uses.
 *  6. Structs may grow at their end: callers pass the size that they were compiled with.
 *  7. A result is one of the codes below; outputs are written only with VRAMSTOW_OK, and where
 *     their place is not null.
 */
#ifndef VRAMSTOW_VRAMSTOW_H_
#define VRAMSTOW_VRAMSTOW_H_

#ifndef VRAMSTOW_IMPLEMENTATION
#include <dlfcn.h>
#endif
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Results. */
#define VRAMSTOW_OK 0
#define VRAMSTOW_NOT_ACTIVE 1 /* vramstow is not preloaded, or its pool serves no memory (yet) */
#define VRAMSTOW_INVALID 2    /* an argument is wrong */
#define VRAMSTOW_FULL 3       /* no room for another hook */
/* 5: framework.h */
#define VRAMSTOW_OUT_OF_MEMORY 4
#define VRAMSTOW_NO_FILE 6 /* a file could not be written */
/* Of offload, pause and resume; and OUT_OF_MEMORY (4), where host or device memory lacks for the
 * rest. Some may have moved. */
#define VRAMSTOW_BUSY 7          /* work does not end, a stream is captured, a graph may use it */
#define VRAMSTOW_NOT_SUPPORTED 8 /* the device cannot map host memory: pause works */
#define VRAMSTOW_FAILED 9        /* the driver refused */

#define VRAMSTOW_ALL_DEVICES (-1)

struct vramstow_stats {
  uint64_t allocated_bytes; /* in live blocks, after rounding */
  uint64_t requested_bytes; /* the same, as asked for */
  uint64_t reserved_bytes;  /* device memory that the pool holds */
  uint64_t peak_allocated_bytes;
  uint64_t peak_reserved_bytes;
  uint64_t pending_bytes; /* freed, but submitted work may still touch it */
  uint64_t limit_bytes;   /* of reserved_bytes; 0: none */
  uint64_t live_blocks;
  uint64_t allocations; /* ever */
  uint64_t frees;
  uint64_t misses;         /* allocations that cached memory could not serve at once */
  uint64_t released_bytes; /* given back to the device, ever */
  uint64_t fence_wait_ns;  /* spent waiting for work, so that memory could be used again */
  uint64_t out_of_memory;  /* allocations that failed */
  uint64_t host_bytes;     /* of the pool's own records */
  /* With --offload: live memory that lies in host memory now, paused or not; of live memory what is
   * paused now; what went to the host and came back, ever; host memory that is held for that. */
  uint64_t offloaded_bytes;
  uint64_t paused_bytes;
  uint64_t moved_out_bytes;
  uint64_t moved_back_bytes;
  uint64_t offload_host_bytes;
};

struct vramstow_block {
  uint64_t address;
  uint64_t size;      /* after rounding */
  uint64_t requested; /* as asked for */
  int32_t device;
  int32_t reserved; /* 0 */
};

/* Why a hook is called. */
#define VRAMSTOW_HOOK_PRESSURE \
  0 /* an allocation lacks `bytes`: drop what you can, it is tried again */
#define VRAMSTOW_HOOK_RELEASED 1 /* `bytes` of cached memory were given back to the device */
/* May allocate and free device memory; it is not called again by what it allocates itself. */
typedef void (*vramstow_hook)(void* context, int why, uint64_t bytes);

/* What the library exports. Programs use the functions of the same names further down. */
#ifdef VRAMSTOW_IMPLEMENTATION
#define VRAMSTOW_FUNCTION(name, parameters, arguments) int name parameters;
const char* vramstow_version(void);
#else
#define VRAMSTOW_FUNCTION(name, parameters, arguments)                 \
  static inline int name parameters {                                  \
    int(*function) parameters;                                         \
    void* const found = dlsym(NULL, #name); /* in the whole process */ \
    __builtin_memcpy(&function, &found, sizeof function);              \
    return found == NULL ? VRAMSTOW_NOT_ACTIVE : function arguments;   \
  }
/* The version of the loaded library, such as "0.1.0"; null where there is none. */
static inline const char* vramstow_version(void) {
  const char* (*function)(void);
  void* const found = dlsym(NULL, "vramstow_version");
  __builtin_memcpy(&function, &found, sizeof function);
  return found == NULL ? NULL : function();
}
#endif

/* Gives cached memory that no work touches back to the device. Says how much that was, and how long
 * it took. */
VRAMSTOW_FUNCTION(vramstow_empty_cache,
                  (int device, uint64_t* released_bytes, uint64_t* duration_ns),
                  (device, released_bytes, duration_ns))

/* The most device memory that the pool may hold; 0: no limit. What it holds already stays until it
 * is given back. cuMemGetInfo tells of the limit, too. */
VRAMSTOW_FUNCTION(vramstow_set_limit, (int device, uint64_t bytes), (device, bytes))

/* The sum over the devices that are meant. `size` is sizeof(struct vramstow_stats). */
VRAMSTOW_FUNCTION(vramstow_get_stats, (int device, struct vramstow_stats* stats, size_t size),
                  (device, stats, size))

/* The pool's live blocks, in no particular order. `count`: in, for how many there is room; out, how
 * many there are, which may be more. `size` is sizeof(struct vramstow_block). Looks at every block
 * while others wait to allocate. */
VRAMSTOW_FUNCTION(vramstow_get_blocks,
                  (int device, struct vramstow_block* blocks, uint64_t* count, size_t size),
                  (device, blocks, count, size))

/* The peaks begin anew at what is allocated and reserved now. */
VRAMSTOW_FUNCTION(vramstow_reset_peaks, (int device), (device))

/* Up to 32 hooks. The same pair of hook and context is registered once. Also before CUDA is used.
 */
VRAMSTOW_FUNCTION(vramstow_register_pressure_hook, (vramstow_hook hook, void* context),
                  (hook, context))
/* A call that is under way is not waited for. */
VRAMSTOW_FUNCTION(vramstow_unregister_pressure_hook, (vramstow_hook hook, void* context),
                  (hook, context))

/* Annotations: what the trace keeps beside its allocations, in their order. VRAMSTOW_NOT_ACTIVE
 * while there is no trace: before CUDA is used, and with --no-trace. Texts are copied, 1,024 bytes
 * at the most. A moment, and a range that belongs to the thread and nests. */
VRAMSTOW_FUNCTION(vramstow_mark, (const char* text), (text))
VRAMSTOW_FUNCTION(vramstow_range_push, (const char* text), (text))
VRAMSTOW_FUNCTION(vramstow_range_pop, (void), ())
/* A new iteration begins here, of training or whatever the program repeats. */
VRAMSTOW_FUNCTION(vramstow_iteration, (uint64_t number), (number))

/* Writes what the trace holds by now into a file beside it, and its path into `path`. */
VRAMSTOW_FUNCTION(vramstow_dump, (char* path, size_t size), (path, size))

/* Regions: what a thread allocates between push and pop belongs to the region (1 to 63 bytes; a
 * program may have 256, a thread be in 14), and is moved together. Regions nest, the innermost
 * counts. Under a framework that keeps memory of its own the region gets what the framework asks
 * for meanwhile, which at segment level is more, or less, than the tensors. Also before CUDA is
 * used. NOT_ACTIVE: the pool is off. */
VRAMSTOW_FUNCTION(vramstow_region_push, (const char* name), (name))
VRAMSTOW_FUNCTION(vramstow_region_pop, (void), ())

/* With --offload=auto or --offload=explicit. Each waits for submitted work, and is done on return;
 * the device memory is then free for everybody. INVALID: no such region.
 *
 * Offloaded memory keeps its address and can be used, slower; it comes back when it is used and
 * there is room, or with vramstow_resume. Null: everything that may move.
 *
 * Paused memory must not be touched until vramstow_resume. VRAMSTOW_KEEP: then it holds what it
 * held; VRAMSTOW_DISCARD: anything. Meanwhile it may be freed, and what is allocated in the region
 * does not belong to it. */
#define VRAMSTOW_KEEP 0
#define VRAMSTOW_DISCARD 1
VRAMSTOW_FUNCTION(vramstow_offload, (const char* region), (region))
VRAMSTOW_FUNCTION(vramstow_pause, (const char* region, int contents), (region, contents))
VRAMSTOW_FUNCTION(vramstow_resume, (const char* region), (region))

#undef VRAMSTOW_FUNCTION

#ifdef __cplusplus
}
#endif

#endif /* VRAMSTOW_VRAMSTOW_H_ */
