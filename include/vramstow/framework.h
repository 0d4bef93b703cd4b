/* The tables of functions that the preloaded vramstow gives to libraries which work inside a
 * framework: the adapter that replaces its allocator, the observer of its own, the census.
 *
 * Idea: such a library is compiled on the user's machine. The tables have only C functions and
 * structs, so the library and vramstow may come from different compilers and releases. A library
 * asks for a table by its kind and by the version that it was compiled for.
 *   1. A table begins with its head, and grows at its end only. Each growth raises the version of
 * its kind by one, and adds nothing to the other kinds.
 *   2. Who asks for version N gets a table of version N or newer, or null. So what was compiled
 *      yesterday works with the vramstow of today.
 *   3. A struct that a function takes or fills never changes. What needs more gets a function of
 * its own.
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
#define VRAMSTOW_TABLE_POOL 1 /* struct vramstow_framework; null: the process has no pool */
#define VRAMSTOW_TABLE_POOL_VERSION 2
#define VRAMSTOW_TABLE_TRACE 2
#define VRAMSTOW_TABLE_TRACE_VERSION 3
#define VRAMSTOW_TABLE_CENSUS 3
#define VRAMSTOW_TABLE_CENSUS_VERSION 1
#define VRAMSTOW_TABLE_COLLECTION 4
#define VRAMSTOW_TABLE_COLLECTION_VERSION 1
#define VRAMSTOW_TABLE_ATTACHMENT 5 /* null: the process has vramstow from its start */
#define VRAMSTOW_TABLE_ATTACHMENT_VERSION 1

/* What every table begins with. */
struct vramstow_table {
  uint32_t kind;
  uint32_t version; /* of this table; at least the one that was asked for */
  uint32_t size;    /* of the whole table */
  uint32_t reserved;
};

/* The exported function that returns a table; null for a kind or version that the library lacks,
 * and where the table would be of no use in this process. */
#define VRAMSTOW_TABLE_SYMBOL "vramstow_get_table"
typedef const struct vramstow_table* (*vramstow_table_function)(uint32_t kind, uint32_t version);

/* How such a library is put in place. Python's start-up hook, or vramstow itself, gets the
 * library's file from the program `vramstow` (VRAMSTOW_PROGRAM_VARIABLE says where that is), loads
 * it and calls its entry: base/adapter_kinds.def has the entry of each kind. It returns null when
 * the library is in place, and otherwise half a sentence that says why not; an empty one was said
 * already. */
#define VRAMSTOW_PROGRAM_VARIABLE "VRAMSTOW_PROGRAM"
/* The folder of Python's start-up hook, which a process puts back on PYTHONPATH where it is
 * missing; and what the hook sets once it runs. */
#define VRAMSTOW_PYTHON_START_VARIABLE "VRAMSTOW_PYTHON_START"
#define VRAMSTOW_HOOKED_VARIABLE "VRAMSTOW_HOOKED"
typedef const char* (*vramstow_torch_install_function)(void);
/* Of what computes values; `only_sizes`: nothing is wanted but sizes that depend on data. */
typedef const char* (*vramstow_values_install_function)(int only_sizes);

/* Results beside those of vramstow.h. */
#ifndef VRAMSTOW_OUT_OF_MEMORY
#define VRAMSTOW_OUT_OF_MEMORY 4
#endif
#define VRAMSTOW_NOT_OURS 5

struct vramstow_framework_block {
  uint64_t address;
  uint64_t size;      /* after rounding */
  uint64_t requested; /* as asked for */
  uint64_t stream;
  uint64_t pool; /* the private pool; 0: the common one */
  int32_t device;
  int32_t state; /* one of the four below */
  /* Only `visit` sets this: the block lies among blocks that are not small. */
  int32_t is_large;
};
#define VRAMSTOW_BLOCK_FREE 0    /* cached */
#define VRAMSTOW_BLOCK_LIVE 1    /* `free` returns it for a block that no work uses any more */
#define VRAMSTOW_BLOCK_PENDING 2 /* freed, but work of other streams may still use it */
#define VRAMSTOW_BLOCK_FOREIGN 3 /* live, and not a framework's */

/* How the pool served an allocation. */
#define VRAMSTOW_SERVED_FROM_CACHE 0
#define VRAMSTOW_SERVED_SLOWLY 1 /* memory was mapped or made: reserved bytes may have changed */

struct vramstow_framework_stats {
  uint64_t reserved_bytes; /* all that the pool holds */
  uint64_t mapped_small;   /* under small blocks that have a stream, and what is cached for them */
  uint64_t mapped_large;   /* under larger ones */
  uint64_t foreign_bytes;  /* of reserved_bytes: under blocks without a stream */
  uint64_t grown_chunks;   /* made, ever */
  uint64_t released_chunks;
  uint64_t fence_waits;
  uint64_t total_bytes; /* of the device */
};

/* What the framework does while it allocates, in the framework's own words. */
struct vramstow_framework_name {
  const char* text; /* "aten::mm" */
  int32_t kind;     /* one of the three below */
};
#define VRAMSTOW_NAME_OPERATOR 1
#define VRAMSTOW_NAME_BACKWARD 2 /* a function of the backward pass */
#define VRAMSTOW_NAME_MODULE 3   /* a part of a model: "Decoder.blocks.0" */

/* Why the last allocation failed. */
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

/* Callbacks for what happens behind the calls. The pool holds locks when it calls them: they must
 * be short, must not call this table, and must not wait for a thread that may be in it. */
struct vramstow_framework_observer {
  /* The pool has mapped a run of memory, or, with `mapped` 0, is about to unmap it. */
  void (*mapping)(int device, uint64_t address, uint64_t size, int mapped);
  /* No stream uses this block any more, which was freed before. */
  void (*completed)(int device, uint64_t address, uint64_t size, uint64_t requested);
};

typedef void (*vramstow_framework_visitor)(void* context,
                                           const struct vramstow_framework_block* block);

struct vramstow_framework {
  struct vramstow_table head;
  /* Opens the pool of the current context, which must be one of `device`. NOT_ACTIVE: no pool. */
  int (*open)(int device, int* handle);
  int (*allocate)(int handle, uint64_t size, uint64_t stream, uint64_t pool,
                  struct vramstow_framework_block* block, int* served);
  /* Allocates at an address where memory of this stream and private pool is cached. */
  int (*allocate_at)(int handle, uint64_t address, uint64_t size, uint64_t stream, uint64_t pool,
                     struct vramstow_framework_block* block);
  /* Describes the freed block in `block`. NOT_OURS: memory of the plain driver; INVALID: no live
   * block. */
  int (*free)(uint64_t address, struct vramstow_framework_block* block);
  int (*record_use)(uint64_t address, uint64_t stream);
  /* Finds the live block that the address lies in. Its state is the one that `free` would return.
   */
  int (*find)(uint64_t address, struct vramstow_framework_block* block);
  /* A private pool keeps its memory mapped until this is called with `keep` 0. */
  int (*keep)(int handle, uint64_t pool, int keep);
  /* Gives cached memory back that no work uses any more; with `wait`, waits for that work. */
  int (*trim)(int handle, int wait, uint64_t* released_bytes);
  /* Sets the most that the pool may hold, in addition to the user's limit; 0: only the user's. */
  int (*set_limit)(int handle, uint64_t bytes);
  int (*stats)(int handle, struct vramstow_framework_stats* stats);
  int (*mapped)(int handle, uint64_t pool, uint64_t* small_bytes, uint64_t* large_bytes);
  /* Visits all mapped memory, in order of address within each stream and private pool. The visitor
   * must not call this table. */
  int (*visit)(int handle, vramstow_framework_visitor visitor, void* context);
  int (*shortage)(int handle, struct vramstow_framework_shortage* shortage);
  /* One observer in a process. */
  int (*observe)(const struct vramstow_framework_observer* observer);
  /* Whether the user wants names with call stacks. Only then `allocate_for` has a use for them. */
  int (*keeps_stacks)(void);
  /* Like `allocate`; the names go into the trace with the stack. The first is the innermost. */
  int (*allocate_for)(int handle, uint64_t size, uint64_t stream, uint64_t pool,
                      const struct vramstow_framework_name* names, int count,
                      struct vramstow_framework_block* block, int* served);
  /* Since version 2, whose user tells by this of each request that failed in the end: for it,
   * `allocate` and `allocate_for` record no failure. `done_without`: the framework catches the
   * error itself, so that the program does not see it. */
  int (*refused)(int handle, uint64_t size, uint64_t stream,
                 const struct vramstow_framework_name* names, int count, int done_without);
};

/* The table of an observer, which leaves the framework's allocator in place and tells what it does.
 * Null where nobody would read it, or where the pool serves the framework. */

struct vramstow_framework_event {
  int32_t kind; /* one of the five below */
  int32_t device;
  uint64_t address;   /* of the last two: what the framework may take of the device; 0: not known */
  uint64_t size;      /* of the block; 0: not known */
  uint64_t requested; /* as asked for */
  uint64_t stream;
};
#define VRAMSTOW_EVENT_ALLOCATE 1
#define VRAMSTOW_EVENT_FREE 2
#define VRAMSTOW_EVENT_FREE_COMPLETED 3 /* no stream uses the freed block any more */
#define VRAMSTOW_EVENT_OUT_OF_MEMORY 4
#define VRAMSTOW_EVENT_DONE_WITHOUT 5 /* the same, and the framework does without that memory */

struct vramstow_framework_trace {
  struct vramstow_table head;
  /* Call it once, before the framework allocates. `code` is an address in the library of the
   * framework's allocator: from now on memory that this library gets from the driver is what a pool
   * reserves, and blocks lie in it. */
  int (*attach)(const void* code);
  /* Writes an event into the trace. The caller may hold locks of the framework: this uses no heap,
   * asks no dynamic linker, and calls neither the driver nor the framework. OUT_OF_MEMORY may write
   * a copy of the trace: tell of it without such locks. In a forked child: NOT_ACTIVE. */
  int (*emit)(const struct vramstow_framework_event* event);
  /* Counts memory that the framework's allocator got from the device; `bytes` below 0: gave back.
   * `retries`: how often so far it gave its cache back for a request; 0: not looked at. Like
   * `emit`, under the lock of the device's allocator, but for 0 bytes. */
  int (*reserve)(int device, int64_t bytes, uint64_t retries);
};

/* The table of a census, which tells who holds the framework's memory. Null where there is no
 * trace. */

/* What a census is. */
struct vramstow_framework_census_about {
  int32_t reason;       /* one of the three below */
  int32_t device;       /* that is out of memory; -1: none */
  uint64_t found_bytes; /* held by what is told of */
  uint64_t live_bytes;  /* that the framework holds; 0: not known */
  uint64_t duration_ns;
  uint64_t objects;      /* that were looked at */
  const char* why_ended; /* before all was looked at, half a sentence; null: it was not */
};
#define VRAMSTOW_CENSUS_OUT_OF_MEMORY 0
#define VRAMSTOW_CENSUS_ASKED 1 /* by the program */
#define VRAMSTOW_CENSUS_TOLD 2  /* by vramstow ctl */

/* Memory that somebody holds. */
struct vramstow_framework_holding {
  int32_t role; /* one of those below */
  int32_t device;
  uint64_t address;
  uint64_t bytes;
  const char* holder; /* "train: hist[3].grad_fn → saved by AddmmBackward0" */
  const char* about;  /* "float32 [64, 1024], requires grad, in eval(), in no optimizer" */
};
/* A holder that begins so: nothing reaches it but a cycle of objects, which the collector of the
 * language has not come to yet. "a dead cycle: Node.me → itself" */
#define VRAMSTOW_DEAD_CYCLE "a dead cycle: "
/* Behind the name of the function: no variable has it yet. "tiles: (unfinished expression)[0..9]"
 */
#define VRAMSTOW_EXPRESSION "(unfinished expression)"
#define VRAMSTOW_ROLE_OTHER 0
#define VRAMSTOW_ROLE_PARAMETER 1
#define VRAMSTOW_ROLE_BUFFER 2
#define VRAMSTOW_ROLE_GRADIENT 3
#define VRAMSTOW_ROLE_OPTIMIZER_STATE 4
#define VRAMSTOW_ROLE_SAVED 5 /* for a backward pass */

/* What takes a census. It may wait for the language's lock, for a bounded time; the caller holds no
 * lock that an allocation takes. */
typedef void (*vramstow_census_visitor)(void* context,
                                        const struct vramstow_framework_census_about* about,
                                        const struct vramstow_framework_holding* group,
                                        uint64_t blocks);
struct vramstow_framework_census_taker {
  /* Writes a census into the trace. OK: `visitor`, where there is one, was called without a group,
   * and then for each group of holders, those of the most bytes first; a group has no address.
   * BUSY: another one is being taken, or the lock was not to be had. NOT_ACTIVE: the program ends,
   * or, after an out-of-memory, they took too long before. */
  int (*take)(int reason, int device, vramstow_census_visitor visitor, void* context);
};

struct vramstow_framework_census {
  struct vramstow_table head;
  /* Writes a census into the trace: first what it is, then each holding. */
  int (*begin)(const struct vramstow_framework_census_about* about);
  int (*hold)(const struct vramstow_framework_holding* holding);
  /* From now on the library asks for a census when an observer tells of an out-of-memory, when the
   * program wants one, and when vramstow ctl does. `taker` stays; null: nobody is asked any more.
   */
  int (*serve)(const struct vramstow_framework_census_taker* taker);
};

/* The table of what has the program's language collect garbage that holds memory, before an
 * allocation fails. Null where the user wants none. */

/* What a collection was. */
struct vramstow_framework_collection_about {
  int32_t device; /* that had no memory for a request */
  int32_t all;    /* 0: only objects that were made lately */
  uint64_t freed_bytes;
  uint64_t duration_ns;
  uint64_t objects; /* that only garbage held, as far as they were counted */
};

/* Who collects. Any thread may ask, also inside an allocation that cannot be served: without locks
 * of the library, perhaps with locks of others. So nobody is waited for without an end. */
struct vramstow_framework_collector {
  /* 0: not in this thread, or not now. */
  int (*is_possible)(void);
  /* Looks for garbage, and collects it where it holds device memory. Returns the bytes that this
   * freed. */
  uint64_t (*collect)(int device, int all);
};

struct vramstow_framework_collection {
  struct vramstow_table head;
  /* Whether the user asked for it, rather than the library by itself. */
  int (*is_asked_for)(void);
  /* Writes a collection into the trace, if there is one: first what it was, then the cycles that it
   * took apart, each as a holding without an address. By the thread whose request had no memory. */
  int (*tell)(const struct vramstow_framework_collection_about* about);
  int (*tell_cycle)(const struct vramstow_framework_holding* cycle);
  /* From now on `collector` is asked. It stays. */
  int (*serve)(const struct vramstow_framework_collector* collector);
};

/* The table of who comes into a process that runs already, without a preload. The driver is not
 * hooked: the observer tells of the framework's segments, too. */
struct vramstow_framework_attachment {
  struct vramstow_table head;
  /* Begins a trace in the folder and opens the control socket. OK, and `path` names the file. BUSY:
   * one is begun already. INVALID: no trace could be made there, and `path` says why in half a
   * sentence. */
  int (*begin)(const char* folder, char* path, size_t size);
  /* Writes what the framework reserves, or gives back, as `emit` of the trace's table writes
   * blocks: ALLOCATE and FREE. */
  int (*reserve)(const struct vramstow_framework_event* event);
  /* Writes a block that was there before: no line of the program is known for it. */
  int (*adopt)(const struct vramstow_framework_event* event);
  /* Blocks and bytes of a device that were there before the trace began. */
  int (*adopted)(int device, uint64_t blocks, uint64_t bytes);
  /* Ends the trace, and with it the control socket and the threads of vramstow. NOT_ACTIVE: none is
   * begun. */
  int (*end)(void);
};

#ifdef __cplusplus
}
#endif

#endif /* VRAMSTOW_FRAMEWORK_H_ */
