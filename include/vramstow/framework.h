/* The tables of functions that the preloaded vramstow offers to libraries inside a framework: the
 * adapter that replaces the framework's allocator, the observer of that allocator, the census.
 *
 * Idea: such a library is compiled on the user's machine. The tables have only C functions and
 * structs, so the library and vramstow may come from different compilers and releases. A library
 * asks for a table by its kind and by the version that it was compiled for.
 *   1. A table begins with its head, and grows at its end only. Each growth raises the version of
 *      its kind by one, and does not change the other kinds.
 *   2. A request for version N returns a table of version N or newer, or null. So a library that
 *      was compiled earlier works with a newer vramstow.
 *   3. A struct that a function takes or fills never changes. If more data is needed, a new
 *      function is added.
 *
 * Ownership: the tables are static. Threads: any. Errors: the codes of vramstow.h; nothing throws.
 * Units: bytes; streams are the driver's handles; devices are CUDA's ordinals in this process.
 */
#ifndef VRAMSTOW_FRAMEWORK_H_
#define VRAMSTOW_FRAMEWORK_H_

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The kinds of tables, and the version of each that this header describes. */
#define VRAMSTOW_TABLE_POOL 1 /* struct vramstow_framework; null if the process has no pool */
#define VRAMSTOW_TABLE_POOL_VERSION 2
#define VRAMSTOW_TABLE_TRACE 2
#define VRAMSTOW_TABLE_TRACE_VERSION 4
#define VRAMSTOW_TABLE_CENSUS 3
#define VRAMSTOW_TABLE_CENSUS_VERSION 1
#define VRAMSTOW_TABLE_COLLECTION 4
#define VRAMSTOW_TABLE_COLLECTION_VERSION 1
#define VRAMSTOW_TABLE_ATTACHMENT 5 /* null if vramstow was preloaded into the process */
#define VRAMSTOW_TABLE_ATTACHMENT_VERSION 1

/* The beginning of every table. */
struct vramstow_table {
  uint32_t kind;
  uint32_t version; /* version of this table; at least the requested one */
  uint32_t size;    /* bytes of the whole table */
  uint32_t reserved;
};

/* The exported function that returns a table. It returns null for a kind or version that the
 * library does not have, and if the table would be of no use in this process. */
#define VRAMSTOW_TABLE_SYMBOL "vramstow_get_table"
typedef const struct vramstow_table* (*vramstow_table_function)(uint32_t kind, uint32_t version);

/* Such a library is installed in this way: Python's start-up hook, or vramstow itself, gets the
 * library's file from the program `vramstow` (VRAMSTOW_PROGRAM_VARIABLE has its path), loads it and
 * calls its entry function. base/adapter_kinds.def lists the entry function of each kind of
 * library. The entry function returns null on success, and otherwise half a sentence with the
 * reason; an empty text means that the reason was reported already. */
#define VRAMSTOW_PROGRAM_VARIABLE "VRAMSTOW_PROGRAM"
/* Two environment variables. The first one contains the folder of Python's start-up hook; a process
 * adds this folder to PYTHONPATH again if it is missing there. The hook sets the second one when it
 * runs. */
#define VRAMSTOW_PYTHON_START_VARIABLE "VRAMSTOW_PYTHON_START"
#define VRAMSTOW_HOOKED_VARIABLE "VRAMSTOW_HOOKED"
typedef const char* (*vramstow_torch_install_function)(void);
/* The entry function of the library that computes values. If `only_sizes` is not 0, it computes
 * only values on which sizes depend. */
typedef const char* (*vramstow_values_install_function)(int only_sizes);

/* Results in addition to those of vramstow.h. */
#ifndef VRAMSTOW_OUT_OF_MEMORY
#define VRAMSTOW_OUT_OF_MEMORY 4
#endif
#define VRAMSTOW_NOT_OURS 5

struct vramstow_framework_block {
  uint64_t address;
  uint64_t size;      /* after rounding */
  uint64_t requested; /* before rounding */
  uint64_t stream;
  uint64_t pool; /* the private pool; 0 is the common pool */
  int32_t device;
  int32_t state; /* one of the four below */
  /* This field is set by `visit` only. It is not 0 if the block lies among blocks that are not
   * small. */
  int32_t is_large;
};
#define VRAMSTOW_BLOCK_FREE 0    /* cached */
#define VRAMSTOW_BLOCK_LIVE 1    /* `free` returns this for a block that no work uses any more */
#define VRAMSTOW_BLOCK_PENDING 2 /* freed, but work of other streams may still use it */
#define VRAMSTOW_BLOCK_FOREIGN 3 /* live, and not allocated by a framework */

/* How the pool served an allocation. */
#define VRAMSTOW_SERVED_FROM_CACHE 0
#define VRAMSTOW_SERVED_SLOWLY 1 /* memory was mapped or created: reserved bytes may differ */

struct vramstow_framework_stats {
  uint64_t reserved_bytes; /* all bytes that the pool holds */
  uint64_t mapped_small;   /* mapped for small blocks that have a stream, live or cached */
  uint64_t mapped_large;   /* mapped for larger blocks that have a stream */
  uint64_t foreign_bytes;  /* the part of reserved_bytes for blocks without a stream */
  uint64_t grown_chunks;   /* chunks created so far */
  uint64_t released_chunks;
  uint64_t fence_waits;
  uint64_t total_bytes; /* memory of the device */
};

/* A name of an operation that the framework executes while it allocates, in the framework's own
 * words. */
struct vramstow_framework_name {
  const char* text; /* "aten::mm" */
  int32_t kind;     /* one of the three below */
};
#define VRAMSTOW_NAME_OPERATOR 1
#define VRAMSTOW_NAME_BACKWARD 2 /* a function of the backward pass */
#define VRAMSTOW_NAME_MODULE 3   /* a part of a model: "Decoder.blocks.0" */

/* The state of the pool when the last allocation failed. */
struct vramstow_framework_shortage {
  uint64_t requested_bytes;
  uint64_t allocated_bytes;
  uint64_t reserved_bytes;
  uint64_t limit_bytes;
  uint64_t device_free_bytes;
  uint64_t device_total_bytes;
  uint64_t free_bytes; /* cached */
  uint64_t largest_free_bytes;
  uint64_t pending_bytes;
  uint64_t live_blocks;
  int32_t holder_count;
  struct {
    uint64_t address;
    uint64_t bytes;
    uint64_t stream;
  } holders[8]; /* the largest live blocks */
};

/* Callbacks that report changes of the pool's memory. The pool holds locks when it calls them. So
 * they must be short, must not call a function of this table, and must not wait for a thread that
 * may be calling one. */
struct vramstow_framework_observer {
  /* The pool has mapped a run of memory, or is about to unmap it if `mapped` is 0. */
  void (*mapping)(int device, uint64_t address, uint64_t size, int mapped);
  /* A block was freed before, and no stream uses it any more. */
  void (*completed)(int device, uint64_t address, uint64_t size, uint64_t requested);
};

typedef void (*vramstow_framework_visitor)(void* context,
                                           const struct vramstow_framework_block* block);

struct vramstow_framework {
  struct vramstow_table head;
  /* Opens the pool of the current context, which must be a context of `device`. Returns NOT_ACTIVE
   * if there is no pool. */
  int (*open)(int device, int* handle);
  int (*allocate)(int handle, uint64_t size, uint64_t stream, uint64_t pool,
                  struct vramstow_framework_block* block, int* served);
  /* Allocates at an address where memory of this stream and private pool is cached. */
  int (*allocate_at)(int handle, uint64_t address, uint64_t size, uint64_t stream, uint64_t pool,
                     struct vramstow_framework_block* block);
  /* Frees a block and describes it in `block`. Returns NOT_OURS if the memory belongs to the plain
   * driver, and INVALID if no live block begins there. */
  int (*free)(uint64_t address, struct vramstow_framework_block* block);
  int (*record_use)(uint64_t address, uint64_t stream);
  /* Finds the live block that contains the address. The state in the result is the one that `free`
   * would return now. */
  int (*find)(uint64_t address, struct vramstow_framework_block* block);
  /* Sets whether a private pool retains its memory at its addresses. It does so until this function
   * is called with `keep` 0. */
  int (*keep)(int handle, uint64_t pool, int keep);
  /* Releases cached memory that no work uses any more. If `wait` is not 0, it first waits for work
   * that uses cached memory. */
  int (*trim)(int handle, int wait, uint64_t* released_bytes);
  /* Sets the most bytes that the pool may hold, in addition to the user's limit; 0 removes this
   * limit. */
  int (*set_limit)(int handle, uint64_t bytes);
  int (*stats)(int handle, struct vramstow_framework_stats* stats);
  int (*mapped)(int handle, uint64_t pool, uint64_t* small_bytes, uint64_t* large_bytes);
  /* Visits all mapped memory, in order of address within each stream and private pool. The visitor
   * must not call this table. */
  int (*visit)(int handle, vramstow_framework_visitor visitor, void* context);
  int (*shortage)(int handle, struct vramstow_framework_shortage* shortage);
  /* Sets the observer; a process has only one. */
  int (*observe)(const struct vramstow_framework_observer* observer);
  /* Returns 1 if the user wants names with call stacks. If it returns 0, allocate_for ignores the
   * names. */
  int (*keeps_stacks)(void);
  /* Allocates as `allocate` does, and writes the names into the trace as a part of the call stack.
   * The first name is the innermost. */
  int (*allocate_for)(int handle, uint64_t size, uint64_t stream, uint64_t pool,
                      const struct vramstow_framework_name* names, int count,
                      struct vramstow_framework_block* block, int* served);
  /* Exists since version 2. A library of that version calls this for each request that failed in
   * the end. In exchange, `allocate` and `allocate_for` record no failure. If `done_without` is not
   * 0, the framework catches the error itself, so that the program does not see it. */
  int (*refused)(int handle, uint64_t size, uint64_t stream,
                 const struct vramstow_framework_name* names, int count, int done_without);
};

/* The table of an observer, which leaves the framework's allocator in place and reports its events.
 * The table is null if no trace is written, or if the pool serves the framework. */

struct vramstow_framework_event {
  int32_t kind; /* one of the five below */
  int32_t device;
  uint64_t address;   /* for the last two kinds, the memory limit of the framework; 0 if unknown */
  uint64_t size;      /* of the block; 0 if unknown */
  uint64_t requested; /* before rounding */
  uint64_t stream;
};
#define VRAMSTOW_EVENT_ALLOCATE 1
#define VRAMSTOW_EVENT_FREE 2
#define VRAMSTOW_EVENT_FREE_COMPLETED 3 /* no stream uses the freed block any more */
#define VRAMSTOW_EVENT_OUT_OF_MEMORY 4
#define VRAMSTOW_EVENT_DONE_WITHOUT 5 /* out of memory; the framework continues without it */

struct vramstow_framework_trace {
  struct vramstow_table head;
  /* Registers the observer; call it once, before the framework allocates. `code` is an address in
   * the library of the framework's allocator. From now on, memory that this library gets from the
   * driver counts as reserved by a pool, and the framework's blocks lie in that memory. */
  int (*attach)(const void* code);
  /* Writes an event into the trace. The caller may hold locks of the framework: the function does
   * not use the heap or the dynamic linker, and calls neither the driver nor the framework.
   * OUT_OF_MEMORY may write a copy of the trace, so report it without such locks. NOT_ACTIVE in a
   * forked child. */
  int (*emit)(const struct vramstow_framework_event* event);
  /* Counts memory that the framework's allocator got from the device, or returned to it if `bytes`
   * is negative. `retries` is the number of requests so far for which the allocator released its
   * cache; 0 if unknown. Calls for one device come one at a time, except if `bytes` is 0. */
  int (*reserve)(int device, int64_t bytes, uint64_t retries);
  /* Exists since version 4. Returns the address of a pointer that belongs to the calling thread and
   * is for the observer's use; it is null at first. A thread_local of the observer could need the
   * heap at its first use, because the observer is loaded late. */
  void** (*place)(void);
};

/* The table of a census (a reference scan), which finds the objects that hold the framework's
 * memory. The table is null if there is no trace. */

/* A description of a census. */
struct vramstow_framework_census_about {
  int32_t reason;       /* one of the three below */
  int32_t device;       /* the device that is out of memory; -1 if none is */
  uint64_t found_bytes; /* bytes of the reported holdings */
  uint64_t live_bytes;  /* bytes that the framework holds; 0 if unknown */
  uint64_t duration_ns;
  uint64_t objects;      /* objects that were examined */
  const char* why_ended; /* the reason if the census is incomplete; else null */
};
#define VRAMSTOW_CENSUS_OUT_OF_MEMORY 0
#define VRAMSTOW_CENSUS_ASKED 1 /* requested by the program */
#define VRAMSTOW_CENSUS_TOLD 2  /* requested by vramstow ctl */

/* A holding: memory, and the object that holds it. */
struct vramstow_framework_holding {
  int32_t role; /* one of the roles below */
  int32_t device;
  uint64_t address;
  uint64_t bytes;
  const char* holder; /* "train: hist[3].grad_fn → saved by AddmmBackward0" */
  const char* about;  /* "float32 [64, 1024], requires grad, in eval(), in no optimizer" */
};
/* A holder that begins with this text is a cycle of unreachable objects that the language's garbage
 * collector has not collected yet, for example "a dead cycle: Node.me → itself". */
#define VRAMSTOW_DEAD_CYCLE "a dead cycle: "
/* This text follows the name of the function if no variable refers to the object yet, for example
 * "tiles: (unfinished expression)[0..9]". */
#define VRAMSTOW_EXPRESSION "(unfinished expression)"
#define VRAMSTOW_ROLE_OTHER 0
#define VRAMSTOW_ROLE_PARAMETER 1
#define VRAMSTOW_ROLE_BUFFER 2
#define VRAMSTOW_ROLE_GRADIENT 3
#define VRAMSTOW_ROLE_OPTIMIZER_STATE 4
#define VRAMSTOW_ROLE_SAVED 5 /* for a backward pass */

/* The functions of a census taker, a library that carries out a census. They may wait for the
 * language's lock for a bounded time. The caller holds no lock that an allocation takes. */
typedef void (*vramstow_census_visitor)(void* context,
                                        const struct vramstow_framework_census_about* about,
                                        const struct vramstow_framework_holding* group,
                                        uint64_t blocks);
struct vramstow_framework_census_taker {
  /* Writes a census into the trace. Results: OK if it was written; `visitor`, if not null, was then
   * called once without a group, and then for each group of holders, those with the most bytes
   * first; a group has no address. BUSY if another census is in progress, or the lock could not be
   * taken. NOT_ACTIVE if the program is ending, or if earlier censuses after an out-of-memory took
   * too long. */
  int (*take)(int reason, int device, vramstow_census_visitor visitor, void* context);
};

struct vramstow_framework_census {
  struct vramstow_table head;
  /* These two functions write a census into the trace: the first one its description, the second
   * one each holding. */
  int (*begin)(const struct vramstow_framework_census_about* about);
  int (*hold)(const struct vramstow_framework_holding* holding);
  /* Registers a census taker. From now on vramstow calls `taker` for a census when an observer
   * reports an out-of-memory, when the program requests a census, and when a user of vramstow ctl
   * does. `taker` must stay valid; null ends the registration. */
  int (*serve)(const struct vramstow_framework_census_taker* taker);
};

/* The table of a library that makes the program's language collect garbage that holds memory,
 * before an allocation fails. The table is null if the user has disabled this. */

/* A description of a collection. */
struct vramstow_framework_collection_about {
  int32_t device; /* the device that had no memory for a request */
  int32_t all;    /* 0 if only recently created objects were examined */
  uint64_t freed_bytes;
  uint64_t duration_ns;
  uint64_t objects; /* objects that only garbage held, as far as they were counted */
};

/* The functions of a library that collects garbage. Any thread may call them, also inside an
 * allocation that cannot be served. Such a thread holds no lock of the library, but may hold other
 * locks. So the functions must not wait for another thread without a limit. */
struct vramstow_framework_collector {
  /* Returns 0 if no collection is possible in this thread or at this time. */
  int (*is_possible)(void);
  /* Searches for garbage, and collects it if it holds device memory. Returns the number of bytes
   * that this freed. */
  uint64_t (*collect)(int device, int all);
};

struct vramstow_framework_collection {
  struct vramstow_table head;
  /* Returns 1 if the user requested collections, and 0 if they are the library's default. */
  int (*is_asked_for)(void);
  /* These two functions write a collection into the trace, if there is one: the first one its
   * description, the second one each cycle that the collection broke, as a holding without an
   * address. The thread whose request failed calls them. */
  int (*tell)(const struct vramstow_framework_collection_about* about);
  int (*tell_cycle)(const struct vramstow_framework_holding* cycle);
  /* Registers a collector. vramstow calls `collector` from now on, so it must stay valid. */
  int (*serve)(const struct vramstow_framework_collector* collector);
};

/* The table for a library that is loaded into a running process, without a preload. The driver is
 * not hooked, so the observer also reports the framework's segments. */
struct vramstow_framework_attachment {
  struct vramstow_table head;
  /* Begins a trace in the folder and opens the control socket. Results: OK, and `path` names the
   * file. BUSY if a trace was begun already. INVALID if no trace could be created there; `path`
   * then has the reason in half a sentence. */
  int (*begin)(const char* folder, char* path, size_t size);
  /* Writes memory that the framework reserves (ALLOCATE) or returns (FREE), as `emit` of the
   * trace's table writes blocks. */
  int (*reserve)(const struct vramstow_framework_event* event);
  /* Writes a block that existed before the trace; its source line is not known. */
  int (*adopt)(const struct vramstow_framework_event* event);
  /* Writes how many blocks and bytes of a device existed before the trace began. */
  int (*adopted)(int device, uint64_t blocks, uint64_t bytes);
  /* Ends the trace, the control socket and vramstow's threads. Returns NOT_ACTIVE if no trace was
   * begun. */
  int (*end)(void);
};

#ifdef __cplusplus
}
#endif

#endif /* VRAMSTOW_FRAMEWORK_H_ */
