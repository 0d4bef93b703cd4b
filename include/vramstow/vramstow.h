/* The C API of vramstow: see, pool and move the GPU memory of a process.
 *
 * A program can call these functions when vramstow is preloaded into it. No program has to:
 * vramstow works without them. gtest.h and framework.h beside this header are for tests in
 * GoogleTest and for adapters of frameworks. Conventions:
 *
 *  1. A program links with nothing: each function here looks for the preloaded library when it is
 *     called, and returns VRAMSTOW_NOT_ACTIVE if it is not loaded. (With a glibc before 2.34, link
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
/* The functions for offload, pause and resume return the following codes, and
 * VRAMSTOW_OUT_OF_MEMORY if there is too little host or device memory for the rest. A part of the
 * memory may have been moved. But paused memory is restored only if there is device memory for all
 * of the region. */
#define VRAMSTOW_BUSY 7          /* submitted work does not end */
#define VRAMSTOW_NOT_SUPPORTED 8 /* the device cannot map host memory: pause works */
#define VRAMSTOW_FAILED 9        /* the driver refused */
#define VRAMSTOW_CAPTURING 10    /* a stream is being captured */
#define VRAMSTOW_OF_GRAPH 11     /* a captured graph may use the rest: see VRAMSTOW_GRAPHS */
#define VRAMSTOW_HELD 12         /* another process or a device has the rest */

#define VRAMSTOW_ALL_DEVICES (-1)
/* The value of a statistic that is not known. */
#define VRAMSTOW_NOT_KNOWN UINT64_MAX

/* Numbers of the pool. Without the pool they are those of PyTorch's own allocator, as far as it is
 * observed; numbers that only a pool has are then VRAMSTOW_NOT_KNOWN. */
struct vramstow_stats {
  uint64_t allocated_bytes; /* in live blocks, after rounding */
  uint64_t requested_bytes; /* in live blocks, before rounding */
  uint64_t reserved_bytes;  /* device memory that the pool holds */
  uint64_t peak_allocated_bytes;
  uint64_t peak_reserved_bytes;
  uint64_t pending_bytes; /* freed, but submitted work may still use it */
  uint64_t limit_bytes;   /* the limit of reserved_bytes; 0: no limit */
  uint64_t live_blocks;
  uint64_t allocations; /* so far */
  uint64_t frees;
  uint64_t misses;         /* allocations that cached memory could not serve at once */
  uint64_t released_bytes; /* released to the device so far */
  uint64_t fence_wait_ns;  /* spent waiting for work that used freed memory */
  uint64_t out_of_memory;  /* allocations that failed */
  uint64_t host_bytes;     /* host memory of the pool's own records */
  /* With --offload: live memory that is on the host now, paused or not; live memory that is paused
   * now; bytes that moved to the host and back so far; host memory that the pool holds for that. */
  uint64_t offloaded_bytes;
  uint64_t paused_bytes;
  uint64_t moved_out_bytes;
  uint64_t moved_back_bytes;
  uint64_t offload_host_bytes;
  uint64_t fence_waits;                 /* how often fence_wait_ns was spent */
  uint64_t offload_host_released_bytes; /* of offload_host_bytes, returned to the host so far */
  uint64_t retries; /* requests for which PyTorch's own allocator released its cache */
};

struct vramstow_block {
  uint64_t address;
  uint64_t size;      /* after rounding */
  uint64_t requested; /* before rounding */
  int32_t device;
  int32_t reserved; /* always 0 */
};

/* The reasons for which a hook is called. */
/* An allocation lacks `bytes`: the hook frees memory, then the allocation is tried again. */
#define VRAMSTOW_HOOK_PRESSURE 0
#define VRAMSTOW_HOOK_RELEASED 1 /* the pool released `bytes` of cached memory to the device */
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
/* Returns the version of the loaded library, for example "0.1.0", or null if it is not loaded. */
static inline const char* vramstow_version(void) {
  const char* (*function)(void);
  void* const found = dlsym(NULL, "vramstow_version");
  __builtin_memcpy(&function, &found, sizeof function);
  return found == NULL ? NULL : function();
}
#endif

/* Releases cached memory that no work uses to the device. It also returns idle host memory that
 * held paused or offloaded memory to the host. Outputs: the number of bytes released to the device,
 * and the duration of the call. */
VRAMSTOW_FUNCTION(vramstow_empty_cache,
                  (int device, uint64_t* released_bytes, uint64_t* duration_ns),
                  (device, released_bytes, duration_ns))

/* Sets the most device memory that the pool may hold; 0 means no limit. Memory that the pool
 * holds already stays until it is released. cuMemGetInfo respects the limit, too. */
VRAMSTOW_FUNCTION(vramstow_set_limit, (int device, uint64_t bytes), (device, bytes))

/* Adds up the numbers of the given devices. `size` is sizeof(struct vramstow_stats). */
VRAMSTOW_FUNCTION(vramstow_get_stats, (int device, struct vramstow_stats* stats, size_t size),
                  (device, stats, size))

/* Lists the pool's live blocks, in no particular order. On entry, *count is the length of the
 * array; on return, it is the number of blocks, which may be more. `size` is sizeof(struct
 * vramstow_block). Other threads wait with their allocations while the list is made. */
VRAMSTOW_FUNCTION(vramstow_get_blocks,
                  (int device, struct vramstow_block* blocks, uint64_t* count, size_t size),
                  (device, blocks, count, size))

/* Sets the peaks to the bytes that are allocated and reserved now. */
VRAMSTOW_FUNCTION(vramstow_reset_peaks, (int device), (device))

/* Registers a hook; a program may have 32. Registering the same hook and context again changes
 * nothing. Programs may call it before they use CUDA. NOT_ACTIVE: the pool is off. */
VRAMSTOW_FUNCTION(vramstow_register_pressure_hook, (vramstow_hook hook, void* context),
                  (hook, context))
/* Removes a hook. Does not wait for a call of the hook that has begun. */
VRAMSTOW_FUNCTION(vramstow_unregister_pressure_hook, (vramstow_hook hook, void* context),
                  (hook, context))

/* The following functions store annotations in the trace, in order with the allocations. They
 * return VRAMSTOW_NOT_ACTIVE if there is no trace, as with --no-trace. The trace begins when CUDA
 * is first used: of one thread, the ranges that are open then and the last iteration are in it, and
 * of equal marks the last one; at most 32 of them, with up to 63 bytes. The library copies up to
 * 1,024 bytes of a text. A mark is a moment. A range belongs to its thread, and ranges nest. */
VRAMSTOW_FUNCTION(vramstow_mark, (const char* text), (text))
VRAMSTOW_FUNCTION(vramstow_range_push, (const char* text), (text))
VRAMSTOW_FUNCTION(vramstow_range_pop, (void), ())
/* Marks the beginning of an iteration of training, or of another loop of the program. */
VRAMSTOW_FUNCTION(vramstow_iteration, (uint64_t number), (number))

/* Writes a copy of the trace into a file beside it, and the path of the copy into `path`. */
VRAMSTOW_FUNCTION(vramstow_dump, (char* path, size_t size), (path, size))

/* Takes a census (a reference scan): finds the objects that hold the tensors of this process,
 * writes them into the trace, and into `text` as one line of JSON (docs/census.md). Returns
 * NOT_ACTIVE if no census can be taken in this process, BUSY if none can be taken now, and INVALID
 * if `text` is null or too short for one group of objects; groups that do not fit are counted in
 * `left_out`. If a census was begun and did not return OK, `text` is empty. */
VRAMSTOW_FUNCTION(vramstow_census, (char* text, size_t size), (text, size))

/* Regions: memory that a thread allocates between push and pop belongs to the region, and moves
 * together. A name has 1 to 63 bytes; a program may have 256 regions, and a thread may be in 14. Of
 * nested regions the innermost counts. A framework with a cache of its own allocates segments: at
 * segment level the region gets these, which are more, or less, than the tensors. Programs may call
 * it before they use CUDA. NOT_ACTIVE: the pool is off. */
VRAMSTOW_FUNCTION(vramstow_region_push, (const char* name), (name))
VRAMSTOW_FUNCTION(vramstow_region_pop, (void), ())

/* These need --offload=auto or --offload=explicit; NOT_ACTIVE without it. Each waits for submitted
 * work and has finished when it returns; then every process can use the device memory. INVALID:
 * there is no such region.
 *
 * Offloaded memory keeps its address. The program can use it, more slowly; it is restored when it
 * is used and the device has free memory, or by vramstow_resume. A null region means all memory
 * that may move.
 *
 * Nothing may use paused memory before vramstow_resume. With VRAMSTOW_KEEP it then has the same
 * contents as before, with VRAMSTOW_DISCARD its contents are undefined. While it is paused it may
 * be freed; memory that is allocated in the region meanwhile is not paused.
 *
 * Memory that a captured graph may use is paused only if VRAMSTOW_GRAPHS is added to `contents`:
 * the program promises to launch no graph before vramstow_resume has restored all of the memory, at
 * the same addresses. A launch of any graph is refused meanwhile (CUDA_ERROR_ILLEGAL_STATE). */
#define VRAMSTOW_KEEP 0
#define VRAMSTOW_DISCARD 1
#define VRAMSTOW_GRAPHS 2
VRAMSTOW_FUNCTION(vramstow_offload, (const char* region), (region))
VRAMSTOW_FUNCTION(vramstow_pause, (const char* region, int contents), (region, contents))
VRAMSTOW_FUNCTION(vramstow_resume, (const char* region), (region))

/* With --offload=auto: promises that from now on, until the next call, no work uses these ranges of
 * device memory (in bytes). For example, an optimizer does not use its state between two steps. If
 * the device is full meanwhile, memory of these ranges is evicted first; it is copied to the host
 * and back while the program's work runs. Work that was submitted before may still use it. Work
 * that names an address in a range ends the promise, too; work that uses a range only through a
 * pointer in device memory fails. Call it with no range before the ranges are used again. */
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
