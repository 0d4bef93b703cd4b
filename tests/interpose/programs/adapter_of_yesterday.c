/* What an adapter had that was compiled when each table was at version 1: copies of these tables as
 * they were then, on purpose not the header of today. It prints what it could do with the vramstow
 * that is preloaded now. Nothing below may change, unless a table of a new version is added. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>

struct head {
  uint32_t kind, version, size, reserved;
};
typedef const struct head* (*table_function)(uint32_t kind, uint32_t version);
typedef int (*function)(void);

struct block {
  uint64_t address, size, requested, stream, pool;
  int32_t device, state, is_large;
};
struct pool_1 {
  struct head head;
  int (*open)(int device, int* handle);
  int (*allocate)(int handle, uint64_t size, uint64_t stream, uint64_t pool, struct block* block,
                  int* served);
  function allocate_at;
  int (*free)(uint64_t address, struct block* block);
  function record_use, find, keep, trim, set_limit, stats, mapped, visit, shortage, observe,
      keeps_stacks, allocate_for;
};
struct trace_1 {
  struct head head;
  function attach, emit;
};
struct census_1 {
  struct head head;
  function begin, hold, serve;
};
struct collection_1 {
  struct head head;
  function is_asked_for, tell, tell_cycle, serve;
};

static const struct head* ask(table_function table, const char* name, uint32_t kind,
                              uint32_t least_size) {
  const struct head* found = table(kind, 1);
  printf("%s: %s\n", name,
         found == NULL ? "none"
         : found->kind == kind && found->version >= 1 && found->size >= least_size
             ? "as it was"
             : "something else");
  return found;
}

int main(void) {
  table_function table = (table_function)dlsym(RTLD_DEFAULT, "vramstow_get_table");
  if (table == NULL) return 1;
  void* driver = dlopen("libcuda.so.1", RTLD_NOW);
  if (driver == NULL) return 1;
  int (*init)(unsigned) = (int (*)(unsigned))dlsym(driver, "cuInit");
  int (*retain)(void**, int) = (int (*)(void**, int))dlsym(driver, "cuDevicePrimaryCtxRetain");
  int (*set)(void*) = (int (*)(void*))dlsym(driver, "cuCtxSetCurrent");
  void* context = NULL;
  if (init(0) != 0 || retain(&context, 0) != 0 || set(context) != 0) return 1;
  const struct pool_1* pool =
      (const struct pool_1*)ask(table, "pool", 1, (uint32_t)sizeof(struct pool_1));
  ask(table, "trace", 2, (uint32_t)sizeof(struct trace_1));
  ask(table, "census", 3, (uint32_t)sizeof(struct census_1));
  ask(table, "collection", 4, (uint32_t)sizeof(struct collection_1));
  printf("of tomorrow: %s\n", table(1, 1000) == NULL && table(3, 1000) == NULL ? "none" : "some");
  printf("no kind: %s, no version: %s\n", table(99, 1) == NULL ? "none" : "some",
         table(1, 0) == NULL ? "none" : "some");
  if (pool == NULL) return 0;
  int handle = -1;
  int served = -1;
  struct block block;
  printf("open %d, ", pool->open(0, &handle));
  printf("allocate %d, ", pool->allocate(handle, 5 << 20, 0, 0, &block, &served));
  printf("of %d MiB, ", (int)(block.requested >> 20));
  printf("free %d\n", pool->free(block.address, &block));
  return 0;
}
