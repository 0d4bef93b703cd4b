/* The C API of vramstow: see, pool and move the GPU memory of a process.
 *
 * A program can call these functions when vramstow is preloaded into it. No program has to:
 * vramstow works without them. gtest.h and framework.h beside this header are for tests in
 * GoogleTest and for adapters of frameworks. Conventions:
 *
 *  1. A program links with nothing: each function here looks for the preloaded library when it is
 *     called, and returns VRAMSTOW_NOT_ACTIVE where there is none. (With a glibc before 2.34, link
 *     with -ldl.) Other languages look the same names up in the process, as in
 *     ctypes.CDLL(None).vramstow_empty_cache.
 *  2. No function prints, exits or throws, and only the registration of a hook keeps a pointer of
 *     the caller's.
 *  3. Any thread may call any function at any time, also before CUDA is used. A hook runs on the
 *     thread whose allocation lacks memory. A hook for released memory may also run on a thread of
 *     vramstow's.
 *  4. Texts are UTF-8, end with a zero byte and belong to vramstow.
 *  5. Sizes are bytes, times are nanoseconds, devices are CUDA's ordinals in this process;
 *     VRAMSTOW_ALL_DEVICES means all devices that the process uses.
 *  6. Structs may grow at their end: callers pass the size that they were compiled with.
 *  7. A result is one of the codes below. A function writes its outputs only when it returns
 *     VRAMSTOW_OK, and only where the pointer is not null.
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
#define VRAMSTOW_NOT_ACTIVE 1 /* vramstow is not preloaded, or nothing is there (yet) to ask */
#define VRAMSTOW_INVALID 2    /* an argument is wrong */
#define VRAMSTOW_FULL 3       /* no room for another hook */
/* 5: framework.h */
#define VRAMSTOW_OUT_OF_MEMORY 4
#define VRAMSTOW_NO_FILE 6 /* a file could not be written */
/* Offload, pause and resume return these, and VRAMSTOW_OUT_OF_MEMORY where host or device memory is
 * too short for the rest. A part of the memory may have moved; but what is paused comes back only
 * where there is room for all of the region. */
#define VRAMSTOW_BUSY 7          /* submitted work does not end */
#define VRAMSTOW_NOT_SUPPORTED 8 /* the device cannot map host memory: pause works */
#define VRAMSTOW_FAILED 9        /* the driver refused */
#define VRAMSTOW_CAPTURING 10    /* a stream is being captured */
#define VRAMSTOW_OF_GRAPH 11     /* a captured graph may use the rest: see VRAMSTOW_GRAPHS */
#define VRAMSTOW_HELD 12         /* another process or a device has the rest */

#define VRAMSTOW_ALL_DEVICES (-1)
/* A statistic that is not known here. */
#define VRAMSTOW_NOT_KNOWN UINT64_MAX

/* What the pool holds and did. Without the pool, what PyTorch's own allocator holds and did, as it
 * is observed; then what only a pool has is VRAMSTOW_NOT_KNOWN. */
struct vramstow_stats {
  uint64_t allocated_bytes; /* in live blocks, after rounding */
  uint64_t requested_bytes; /* the same, as asked for */
  uint64_t reserved_bytes;  /* device memory that is held */
  uint64_t peak_allocated_bytes;
  uint64_t peak_reserved_bytes;
  uint64_t pending_bytes; /* freed, but submitted work may still use it */
  uint64_t limit_bytes;   /* of reserved_bytes; 0: none */
  uint64_t live_blocks;
  uint64_t allocations; /* ever */
  uint64_t frees;
  uint64_t misses;         /* allocations that cached memory could not serve at once */
  uint64_t released_bytes; /* given back to the device, ever */
  uint64_t fence_wait_ns;  /* spent waiting for work, so that memory could be used again */
  uint64_t out_of_memory;  /* allocations that failed */
  uint64_t host_bytes;     /* host memory of the pool's own records */
  /* With --offload: live memory that lies on the host now, paused or not; live memory that is
   * paused now; bytes that moved to the host and back, ever; host memory that the pool holds for
   * that. */
  uint64_t offloaded_bytes;
  uint64_t paused_bytes;
  uint64_t moved_out_bytes;
  uint64_t moved_back_bytes;
  uint64_t offload_host_bytes;
  uint64_t fence_waits;                 /* how often fence_wait_ns was spent */
  uint64_t offload_host_released_bytes; /* of offload_host_bytes, given back to the host, ever */
  uint64_t retries; /* requests for which PyTorch's own allocator gave its cache back */
};

struct vramstow_block {
  uint64_t address;
  uint64_t size;      /* after rounding */
  uint64_t requested; /* as asked for */
  int32_t device;
  int32_t reserved; /* 0 */
};

/* Why a hook is called. */
/* An allocation lacks `bytes`: the hook frees what it can, then the allocation is tried again. */
#define VRAMSTOW_HOOK_PRESSURE 0
#define VRAMSTOW_HOOK_RELEASED 1 /* the pool gave `bytes` of cached memory back to the device */
/* A hook may allocate and free device memory. Its own allocations do not call it again. */
typedef void (*vramstow_hook)(void* context, int why, uint64_t bytes);

/* With VRAMSTOW_IMPLEMENTATION the functions below are declarations of what the library exports.
 * Without it they are inline functions that look these exports up. */
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

/* Gives cached memory that no work uses back to the device, and to the host what held paused or
 * offloaded memory and holds nothing now. Outputs: how many bytes the device has back, and how long
 * all of it took. */
VRAMSTOW_FUNCTION(vramstow_empty_cache,
                  (int device, uint64_t* released_bytes, uint64_t* duration_ns),
                  (device, released_bytes, duration_ns))

/* Sets the most device memory that the pool may hold; 0: no limit. Memory that the pool holds
 * already stays until it is given back. cuMemGetInfo respects the limit, too. */
VRAMSTOW_FUNCTION(vramstow_set_limit, (int device, uint64_t bytes), (device, bytes))

/* Adds up the numbers of the given devices. `size` is sizeof(struct vramstow_stats). */
VRAMSTOW_FUNCTION(vramstow_get_stats, (int device, struct vramstow_stats* stats, size_t size),
                  (device, stats, size))

/* Lists the pool's live blocks, in no particular order. `count`: in, how many the array can take;
 * out, how many there are, which may be more. `size` is sizeof(struct vramstow_block). Other
 * threads wait with their allocations while the list is made. */
VRAMSTOW_FUNCTION(vramstow_get_blocks,
                  (int device, struct vramstow_block* blocks, uint64_t* count, size_t size),
                  (device, blocks, count, size))

/* Sets the peaks to what is allocated and reserved now. */
VRAMSTOW_FUNCTION(vramstow_reset_peaks, (int device), (device))

/* Registers a hook; a program may have 32. Registering the same hook and context again changes
 * nothing. Programs may call it before they use CUDA. */
VRAMSTOW_FUNCTION(vramstow_register_pressure_hook, (vramstow_hook hook, void* context),
                  (hook, context))
/* Does not wait for a call of the hook that has begun. */
VRAMSTOW_FUNCTION(vramstow_unregister_pressure_hook, (vramstow_hook hook, void* context),
                  (hook, context))

/* Annotations: the trace keeps them in order among the allocations. VRAMSTOW_NOT_ACTIVE while there
 * is no trace: before CUDA is used, and with --no-trace. The library copies up to 1,024 bytes of a
 * text. A mark is a moment. A range belongs to its thread, and ranges nest. */
VRAMSTOW_FUNCTION(vramstow_mark, (const char* text), (text))
VRAMSTOW_FUNCTION(vramstow_range_push, (const char* text), (text))
VRAMSTOW_FUNCTION(vramstow_range_pop, (void), ())
/* Marks the begin of an iteration, of training or of what else the program repeats. */
VRAMSTOW_FUNCTION(vramstow_iteration, (uint64_t number), (number))

/* Writes a copy of the trace into a file beside it, and the path of the copy into `path`. */
VRAMSTOW_FUNCTION(vramstow_dump, (char* path, size_t size), (path, size))

/* Looks up what holds the tensors of this process, writes that into the trace, and tells it as one
 * line of JSON (docs/census.md). NOT_ACTIVE: no census can be taken here. BUSY: not now. */
VRAMSTOW_FUNCTION(vramstow_census, (char* text, size_t size), (text, size))

/* Regions: memory that a thread allocates between push and pop belongs to the region, and moves
 * together. A name has 1 to 63 bytes; a program may have 256 regions, and a thread may be in 14. Of
 * nested regions the innermost counts. A framework with a cache of its own allocates segments: at
 * segment level the region gets these, which are more, or less, than the tensors. Programs may call
 * it before they use CUDA. NOT_ACTIVE: the pool is off. */
VRAMSTOW_FUNCTION(vramstow_region_push, (const char* name), (name))
VRAMSTOW_FUNCTION(vramstow_region_pop, (void), ())

/* These need --offload=auto or --offload=explicit. Each waits for submitted work and has finished
 * when it returns; then every process can use the device memory. INVALID: there is no such region.
 *
 * Offloaded memory keeps its address. The program can use it, more slowly; it comes back when it is
 * used and there is room, or with vramstow_resume. A null region means all memory that may move.
 *
 * Nothing may use paused memory before vramstow_resume. After VRAMSTOW_KEEP it then holds what it
 * held before, after VRAMSTOW_DISCARD its contents are undefined. While it is paused it may be
 * freed, and what is allocated in the region does not belong to the paused memory.
 *
 * What a captured graph may use is paused only where VRAMSTOW_GRAPHS is added to the contents: the
 * program says that it launches no graph before vramstow_resume has brought all of it back, which
 * is at the same addresses. A launch of any graph is refused meanwhile
 * (CUDA_ERROR_ILLEGAL_STATE). */
#define VRAMSTOW_KEEP 0
#define VRAMSTOW_DISCARD 1
#define VRAMSTOW_GRAPHS 2
VRAMSTOW_FUNCTION(vramstow_offload, (const char* region), (region))
VRAMSTOW_FUNCTION(vramstow_pause, (const char* region, int contents), (region, contents))
VRAMSTOW_FUNCTION(vramstow_resume, (const char* region), (region))

/* With --offload=auto: from now on, until the next call, no work uses these ranges of device memory
 * (in bytes). An optimizer does not use its state between two steps, for example. What has to leave
 * a full device meanwhile is taken from them first, and is copied to the host and back beside the
 * program's work. Work that is submitted already may use them still. Work that names an address of
 * theirs ends this, too; work that reaches them by a pointer in device memory alone fails. The call
 * with no range ends this before the ranges are used. */
struct vramstow_range {
  uint64_t address;
  uint64_t bytes;
};
VRAMSTOW_FUNCTION(vramstow_quiet, (const struct vramstow_range* ranges, uint64_t count),
                  (ranges, count))

#undef VRAMSTOW_FUNCTION

#ifdef __cplusplus
}
#endif

#endif /* VRAMSTOW_VRAMSTOW_H_ */
