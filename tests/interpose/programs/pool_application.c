/* A C program that uses the C API as its first argument says, with or without vramstow. It prints
 * the results, or ends with exit status 99. */
#include <cuda.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "include/vramstow/vramstow.h"

#define CHECK(condition)                                                            \
  do {                                                                              \
    if (!(condition)) {                                                             \
      fprintf(stderr, "%s:%d: %s does not hold\n", __FILE__, __LINE__, #condition); \
      _Exit(99);                                                                    \
    }                                                                               \
  } while (0)

enum { kMega = 1 << 20, kBlocks = 60 };

typedef CUresult (*InitFunction)(unsigned);
typedef CUresult (*RetainFunction)(CUcontext*, CUdevice);
typedef CUresult (*SetFunction)(CUcontext);
typedef CUresult (*AllocFunction)(CUdeviceptr*, size_t);
typedef CUresult (*FreeFunction)(CUdeviceptr);
typedef CUresult (*InfoFunction)(size_t*, size_t*);

static AllocFunction mem_alloc;
static FreeFunction mem_free;
static InfoFunction mem_info;

static void* Find(void* driver, const char* name) {
  void* function = dlsym(driver, name);
  CHECK(function != NULL);
  return function;
}

static void Start(void) {
  void* driver = dlopen("libcuda.so.1", RTLD_NOW);
  CHECK(driver != NULL);
  InitFunction init;
  RetainFunction retain;
  SetFunction set;
  *(void**)&init = Find(driver, "cuInit");
  *(void**)&retain = Find(driver, "cuDevicePrimaryCtxRetain");
  *(void**)&set = Find(driver, "cuCtxSetCurrent");
  *(void**)&mem_alloc = Find(driver, "cuMemAlloc_v2");
  *(void**)&mem_free = Find(driver, "cuMemFree_v2");
  *(void**)&mem_info = Find(driver, "cuMemGetInfo_v2");
  CUcontext context;
  CHECK(init(0) == CUDA_SUCCESS && retain(&context, 0) == CUDA_SUCCESS);
  CHECK(set(context) == CUDA_SUCCESS);
}

/* Nothing is there, or nothing has happened yet. */
static void NotActive(int code) {
  struct vramstow_stats stats;
  CHECK(vramstow_empty_cache(VRAMSTOW_ALL_DEVICES, NULL, NULL) == code);
  CHECK(vramstow_set_limit(0, 1 << 30) == code);
  CHECK(vramstow_get_stats(0, &stats, sizeof stats) == code);
  CHECK(vramstow_reset_peaks(0) == code);
  uint64_t count = 0;
  CHECK(vramstow_get_blocks(0, NULL, &count, sizeof(struct vramstow_block)) == code);
}

static struct vramstow_stats Stats(void) {
  struct vramstow_stats stats;
  memset(&stats, 0xee, sizeof stats);
  CHECK(vramstow_get_stats(0, &stats, sizeof stats) == VRAMSTOW_OK);
  return stats;
}

static void Cache(void) {
  NotActive(VRAMSTOW_NOT_ACTIVE);
  Start();
  CUdeviceptr block;
  CHECK(mem_alloc(&block, 64 * kMega) == CUDA_SUCCESS);
  CHECK(Stats().allocated_bytes == 64 * kMega && Stats().live_blocks == 1);
  struct vramstow_block listed[2] = {{0}, {7}};
  uint64_t count = 0;
  CHECK(vramstow_get_blocks(0, NULL, &count, sizeof *listed) == VRAMSTOW_OK && count == 1);
  CHECK(vramstow_get_blocks(VRAMSTOW_ALL_DEVICES, listed, &count, sizeof *listed) == VRAMSTOW_OK);
  CHECK(count == 1 && listed[0].address == block && listed[0].requested == 64 * kMega);
  CHECK(listed[0].device == 0 && listed[1].address == 7);
  CHECK(vramstow_get_blocks(0, NULL, &count, sizeof *listed) == VRAMSTOW_INVALID);
  CHECK(vramstow_get_blocks(0, listed, NULL, sizeof *listed) == VRAMSTOW_INVALID);
  CHECK(vramstow_get_blocks(-2, listed, &count, sizeof *listed) == VRAMSTOW_INVALID);
  CHECK(mem_free(block) == CUDA_SUCCESS);
  CHECK(Stats().allocated_bytes == 0 && Stats().reserved_bytes == 64 * kMega);
  CHECK(Stats().peak_allocated_bytes == 64 * kMega && Stats().frees == 1);
  CHECK(vramstow_reset_peaks(0) == VRAMSTOW_OK && Stats().peak_allocated_bytes == 0);
  uint64_t released = 0;
  uint64_t duration = 0;
  CHECK(vramstow_empty_cache(0, &released, &duration) == VRAMSTOW_OK);
  CHECK(released == 64 * kMega && duration > 0);
  CHECK(Stats().reserved_bytes == 0 && Stats().released_bytes == 64 * kMega);
  /* Another device, no device, no place, an older and a newer caller. */
  CHECK(vramstow_empty_cache(1, NULL, NULL) == VRAMSTOW_NOT_ACTIVE);
  CHECK(vramstow_empty_cache(-2, NULL, NULL) == VRAMSTOW_INVALID);
  CHECK(vramstow_get_stats(0, NULL, 8) == VRAMSTOW_INVALID);
  uint64_t newer[40];
  memset(newer, 0xee, sizeof newer);
  CHECK(vramstow_get_stats(0, (struct vramstow_stats*)newer, 8) == VRAMSTOW_OK);
  CHECK(newer[0] == 0 && newer[1] == 0xeeeeeeeeeeeeeeeeu);
  CHECK(vramstow_get_stats(0, (struct vramstow_stats*)newer, sizeof newer) == VRAMSTOW_OK);
  CHECK(newer[39] == 0);
}

static void Limit(void) {
  Start();
  CUdeviceptr block;
  CHECK(mem_alloc(&block, kMega) == CUDA_SUCCESS);
  CHECK(vramstow_set_limit(0, 100 * kMega) == VRAMSTOW_OK);
  size_t free_bytes = 0;
  size_t total_bytes = 0;
  CHECK(mem_info(&free_bytes, &total_bytes) == CUDA_SUCCESS);
  CHECK(total_bytes == 100 * kMega && free_bytes == 99 * kMega);
  CUdeviceptr large;
  CHECK(mem_alloc(&large, 120 * kMega) == CUDA_ERROR_OUT_OF_MEMORY);
  CHECK(mem_alloc(&large, 90 * kMega) == CUDA_SUCCESS);
  CHECK(vramstow_set_limit(VRAMSTOW_ALL_DEVICES, 0) == VRAMSTOW_OK);
  CHECK(mem_alloc(&large, 120 * kMega) == CUDA_SUCCESS);
}

static CUdeviceptr blocks[kBlocks];
static int pressed;
static int told;

/* Drops what the application could do without; and allocates, as applications do. */
static void Drop(void* context, int why, uint64_t bytes) {
  CHECK(context == &pressed && bytes > 0);
  if (why == VRAMSTOW_HOOK_RELEASED) {
    ++told;
    return;
  }
  ++pressed;
  for (int i = 0; i < kBlocks; ++i) {
    if (blocks[i] != 0) CHECK(mem_free(blocks[i]) == CUDA_SUCCESS);
    blocks[i] = 0;
  }
  CUdeviceptr small;
  CHECK(mem_alloc(&small, 100) == CUDA_SUCCESS);
  CHECK(mem_free(small) == CUDA_SUCCESS);
}

static void Hooks(void) {
  CHECK(vramstow_register_pressure_hook(NULL, NULL) == VRAMSTOW_INVALID);
  CHECK(vramstow_register_pressure_hook(Drop, &pressed) == VRAMSTOW_OK);
  CHECK(vramstow_register_pressure_hook(Drop, &pressed) == VRAMSTOW_OK);
  Start();
  int held = 0;
  while (held < kBlocks && mem_alloc(&blocks[held], 20 * kMega) == CUDA_SUCCESS && !pressed) ++held;
  CHECK(pressed == 1 && held > 1);
  CUdeviceptr large;
  CHECK(mem_alloc(&large, (size_t)(held - 1) * 20 * kMega) == CUDA_SUCCESS);
  CHECK(mem_free(large) == CUDA_SUCCESS);
  CHECK(vramstow_empty_cache(0, NULL, NULL) == VRAMSTOW_OK && told > 0);
  CHECK(vramstow_unregister_pressure_hook(Drop, &pressed) == VRAMSTOW_OK);
  CHECK(vramstow_unregister_pressure_hook(Drop, &pressed) == VRAMSTOW_INVALID);
  for (int i = 0; i < 32; ++i) {
    CHECK(vramstow_register_pressure_hook(Drop, blocks + i) == VRAMSTOW_OK);
  }
  CHECK(vramstow_register_pressure_hook(Drop, blocks + 32) == VRAMSTOW_FULL);
}

/* Holds 64 MiB in its cache and 8 MiB in a block, and waits until its input ends. */
static void Wait(void) {
  Start();
  CUdeviceptr block;
  CUdeviceptr cached;
  CHECK(mem_alloc(&block, 8 * kMega) == CUDA_SUCCESS);
  CHECK(mem_alloc(&cached, 64 * kMega) == CUDA_SUCCESS && mem_free(cached) == CUDA_SUCCESS);
  printf("%ld\n", (long)getpid());
  fflush(stdout);
  char byte;
  while (read(STDIN_FILENO, &byte, 1) > 0) {
  }
}

/* Closes all descriptors, as a daemon does, and then uses the same numbers for pipes. Meanwhile the
 * process must use next to no processor time. */
static void Close(void) {
  enum { kFirst = 3, kLast = 1100 };
  Start();
  CUdeviceptr block;
  CHECK(mem_alloc(&block, kMega) == CUDA_SUCCESS);
  const struct timespec moment = {0, 300 * 1000 * 1000};
  const struct timespec period = {1, 100 * 1000 * 1000}; /* after which each thread has looked */
  for (int round = 0; round < 2; ++round) {
    struct rusage before;
    struct rusage after;
    int ends[2];
    for (int i = kFirst; i < kLast && round == 0; ++i) close(i);
    CHECK(pipe(ends) == 0 && write(ends[1], "x", 1) == 1);
    for (int i = ends[1] + 1; i < kLast && round == 1; ++i) CHECK(dup2(ends[0], i) == i);
    CHECK(nanosleep(&period, NULL) == 0 && getrusage(RUSAGE_SELF, &before) == 0);
    CHECK(nanosleep(&moment, NULL) == 0 && getrusage(RUSAGE_SELF, &after) == 0);
    const long used_us = (after.ru_utime.tv_sec - before.ru_utime.tv_sec) * 1000000 +
                         after.ru_utime.tv_usec - before.ru_utime.tv_usec +
                         (after.ru_stime.tv_sec - before.ru_stime.tv_sec) * 1000000 +
                         after.ru_stime.tv_usec - before.ru_stime.tv_usec;
    CHECK(used_us < 100 * 1000);
  }
  for (int i = kFirst; i < kLast; ++i) CHECK(fcntl(i, F_GETFD) >= 0);
}

int main(int argc, char** argv) {
  const char* what = argc > 1 ? argv[1] : "";
  if (strcmp(what, "none") == 0) {
    CHECK(vramstow_version() == NULL);
    NotActive(VRAMSTOW_NOT_ACTIVE);
    CHECK(vramstow_register_pressure_hook(Drop, NULL) == VRAMSTOW_NOT_ACTIVE);
    return 0;
  }
  CHECK(vramstow_version() != NULL);
  if (strcmp(what, "cache") == 0) Cache();
  if (strcmp(what, "limit") == 0) Limit();
  if (strcmp(what, "hooks") == 0) Hooks();
  if (strcmp(what, "wait") == 0) Wait();
  if (strcmp(what, "close") == 0) Close();
  if (strcmp(what, "off") == 0) {
    Start();
    CUdeviceptr block;
    CHECK(mem_alloc(&block, kMega) == CUDA_SUCCESS);
    NotActive(VRAMSTOW_NOT_ACTIVE);
  }
  return 0;
}
