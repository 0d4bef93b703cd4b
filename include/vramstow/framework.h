/* What the preloaded vramstow offers to the adapter of a framework: its pool, block by block.
 *
 * Idea: a framework's own allocator is replaced by an adapter, which is compiled on the user's
 * machine and asks the pool through this table. Nothing but C crosses it, so the adapter may be of
 * another compiler and of another vramstow than the library: `version` says what is there.
 *
 * Ownership: the table is static. Threads: any. Errors: the codes of vramstow.h; nothing is thrown.
 * Units: bytes; streams as the driver's handles; devices CUDA's ordinals in this process.
 */
#ifndef VRAMSTOW_FRAMEWORK_H_
#define VRAMSTOW_FRAMEWORK_H_

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define VRAMSTOW_FRAMEWORK_VERSION 1
/* The exported function that gives the table; null for a version that is not there. */
#define VRAMSTOW_FRAMEWORK_SYMBOL "vramstow_framework_table"

/* Beside the results of vramstow.h. */
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
  /* Told by `visit` only: lies among blocks that are not small. */
  int32_t is_large;
};
#define VRAMSTOW_BLOCK_FREE 0    /* cached */
#define VRAMSTOW_BLOCK_LIVE 1    /* also what frees give: nothing waits for it */
#define VRAMSTOW_BLOCK_PENDING 2 /* freed, but work of other streams may still touch it */
#define VRAMSTOW_BLOCK_FOREIGN 3 /* live, and not a framework's */

/* How an allocation was served. */
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

/* What goes on when something is asked for, in the framework's own words. */
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

/* Tells what happens behind the calls. Called under locks of the pool: must be short, must not call
 * this table, and must not wait for a thread that may be in it. */
struct vramstow_framework_observer {
  /* A run of memory was mapped (or, `mapped` 0, is about to be unmapped). */
  void (*mapping)(int device, uint64_t address, uint64_t size, int mapped);
  /* A block that was freed while other streams used it is free now. */
  void (*completed)(int device, uint64_t address, uint64_t size, uint64_t requested);
};

typedef void (*vramstow_framework_visitor)(void* context,
                                           const struct vramstow_framework_block* block);

struct vramstow_framework {
  uint32_t version;
  uint32_t size; /* of this struct */
  /* Opens the pool of the current context, which is `device`'s. NOT_ACTIVE: there is none. */
  int (*open)(int device, int* handle);
  int (*allocate)(int handle, uint64_t size, uint64_t stream, uint64_t pool,
                  struct vramstow_framework_block* block, int* served);
  /* At an address where memory of this stream and pool is cached. */
  int (*allocate_at)(int handle, uint64_t address, uint64_t size, uint64_t stream, uint64_t pool,
                     struct vramstow_framework_block* block);
  /* `block` becomes what it was. NOT_OURS: the plain driver's; INVALID: no live block. */
  int (*free)(uint64_t address, struct vramstow_framework_block* block);
  int (*record_use)(uint64_t address, uint64_t stream);
  /* The live block that the address lies in; its state is what a free would make of it. */
  int (*find)(uint64_t address, struct vramstow_framework_block* block);
  /* Private pools keep their memory where it is until they are let go (`keep` 0). */
  int (*keep)(int handle, uint64_t pool, int keep);
  /* Gives back what is cached and what no work touches any more; waits for that work if `wait`. */
  int (*trim)(int handle, int wait, uint64_t* released_bytes);
  /* The most that the pool may hold, beside what the user has set; 0: no more than that. */
  int (*set_limit)(int handle, uint64_t bytes);
  int (*stats)(int handle, struct vramstow_framework_stats* stats);
  int (*mapped)(int handle, uint64_t pool, uint64_t* small_bytes, uint64_t* large_bytes);
  /* Everything that is mapped, in order of address within each stream and pool. The visitor must
   * not call this table. */
  int (*visit)(int handle, vramstow_framework_visitor visitor, void* context);
  int (*shortage)(int handle, struct vramstow_framework_shortage* shortage);
  /* One observer in a process. */
  int (*observe)(const struct vramstow_framework_observer* observer);
  /* Whether the trace keeps the stacks of who asks: only then names are of use. */
  int (*keeps_stacks)(void);
  /* As allocate; the names go into the trace with the stack. The first is the innermost. */
  int (*allocate_for)(int handle, uint64_t size, uint64_t stream, uint64_t pool,
                      const struct vramstow_framework_name* names, int count,
                      struct vramstow_framework_block* block, int* served);
};

typedef const struct vramstow_framework* (*vramstow_framework_function)(uint32_t version);

#ifdef __cplusplus
}
#endif

#endif /* VRAMSTOW_FRAMEWORK_H_ */
