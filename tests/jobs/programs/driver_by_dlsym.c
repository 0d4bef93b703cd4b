/* A driver-API program that links no CUDA library and gets every function through dlopen and dlsym.
 *
 * driver_by_dlsym THREADS ROUNDS [ack]: each thread allocates and frees blocks of its own. With
 * `ack`, every call that came back is written to stdout at once ("A address bytes", "F address"),
 * one write() each, so that whoever kills this program knows what had been committed.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef unsigned long long CUdeviceptr;
typedef void* CUcontext;

static int (*init)(unsigned);
static int (*device_get)(int*, int);
static int (*context_retain)(CUcontext*, int);
static int (*context_set)(CUcontext);
static int (*mem_alloc)(CUdeviceptr*, size_t);
static int (*mem_free)(CUdeviceptr);
static int (*mem_info)(size_t*, size_t*);

static CUcontext context;
static int rounds;
static int acknowledge;

static void Check(int result, const char* what) {
  if (result != 0) {
    fprintf(stderr, "%s gave error %d\n", what, result);
    exit(1);
  }
}

static void* Find(void* driver, const char* name) {
  void* function = dlsym(driver, name);
  if (function == NULL) {
    fprintf(stderr, "%s\n", dlerror());
    exit(1);
  }
  return function;
}

static void Say(const char* format, CUdeviceptr address, size_t bytes) {
  if (!acknowledge) return;
  char line[80];
  const int length = snprintf(line, sizeof line, format, address, bytes);
  if (write(STDOUT_FILENO, line, (size_t)length) != length) exit(1);
}

static void* Work(void* argument) {
  enum { kBlocks = 16 };
  CUdeviceptr blocks[kBlocks] = {0};
  unsigned random = 1 + (unsigned)(size_t)argument;
  Check(context_set(context), "cuCtxSetCurrent");
  for (int i = 0; i < rounds; ++i) {
    random = random * 1664525u + 1013904223u;
    CUdeviceptr* block = &blocks[(random >> 8) % kBlocks];
    if (*block != 0) {
      Check(mem_free(*block), "cuMemFree");
      Say("F %llu\n", *block, 0);
    }
    const size_t bytes = 256u + ((random >> 12) & 0xfffffu);
    Check(mem_alloc(block, bytes), "cuMemAlloc");
    Say("A %llu %zu\n", *block, bytes);
  }
  for (int i = 0; i < kBlocks; ++i) {
    if (blocks[i] != 0) {
      Check(mem_free(blocks[i]), "cuMemFree");
      Say("F %llu\n", blocks[i], 0);
    }
  }
  return NULL;
}

int main(int argc, char** argv) {
  if (argc < 3) {
    fprintf(stderr, "usage: driver_by_dlsym THREADS ROUNDS [ack]\n");
    return 2;
  }
  const int threads = atoi(argv[1]);
  rounds = atoi(argv[2]);
  acknowledge = argc > 3 && strcmp(argv[3], "ack") == 0;
  void* driver = dlopen("libcuda.so.1", RTLD_NOW);
  if (driver == NULL) {
    fprintf(stderr, "%s\n", dlerror());
    return 1;
  }
  *(void**)&init = Find(driver, "cuInit");
  *(void**)&device_get = Find(driver, "cuDeviceGet");
  *(void**)&context_retain = Find(driver, "cuDevicePrimaryCtxRetain");
  *(void**)&context_set = Find(driver, "cuCtxSetCurrent");
  *(void**)&mem_alloc = Find(driver, "cuMemAlloc_v2");
  *(void**)&mem_free = Find(driver, "cuMemFree_v2");
  *(void**)&mem_info = Find(driver, "cuMemGetInfo_v2");
  int device = 0;
  Check(init(0), "cuInit");
  Check(device_get(&device, 0), "cuDeviceGet");
  Check(context_retain(&context, device), "cuDevicePrimaryCtxRetain");
  Check(context_set(context), "cuCtxSetCurrent");
  size_t free_bytes = 0;
  size_t total_bytes = 0;
  Check(mem_info(&free_bytes, &total_bytes), "cuMemGetInfo");
  pthread_t workers[64];
  for (int i = 0; i < threads && i < 64; ++i) {
    pthread_create(&workers[i], NULL, Work, (void*)(size_t)i);
  }
  for (int i = 0; i < threads && i < 64; ++i) pthread_join(workers[i], NULL);
  return 0;
}
