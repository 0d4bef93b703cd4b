/* A driver-API program that needs more memory than the GPU has, and declares its state quiet.
 *
 * parks_state STEPS: each step writes the state and declares it quiet, then blocks that do
 * not fit beside it are allocated, written, read and freed, by two threads. After each step one
 * line is written to stdout. Every word that is read must be the one that was written.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

typedef unsigned long long CUdeviceptr;
typedef void* CUcontext;
typedef void* CUstream;
struct range {
  uint64_t address;
  uint64_t bytes;
};

enum { kStates = 8, kBlocks = 12, kOutOfMemory = 2 };
static const size_t kStateBytes = (size_t)16 << 20;
static const size_t kBlockBytes = (size_t)8 << 20;

static int (*init)(unsigned);
static int (*device_get)(int*, int);
static int (*context_retain)(CUcontext*, int);
static int (*context_set)(CUcontext);
static int (*stream_create)(CUstream*, unsigned);
static int (*stream_wait)(CUstream);
static int (*mem_alloc)(CUdeviceptr*, size_t);
static int (*mem_free)(CUdeviceptr);
static int (*fill)(CUdeviceptr, unsigned, size_t, CUstream);
static int (*read_back)(void*, CUdeviceptr, size_t, CUstream);
static int (*quiet)(const struct range*, uint64_t);

static CUcontext context;

static void Check(int result, const char* what) {
  if (result == 0) return;
  fprintf(stderr, "%s gave error %d\n", what, result);
  exit(1);
}

static void* Find(void* library, const char* name) {
  void* function = dlsym(library, name);
  if (function != NULL) return function;
  fprintf(stderr, "%s\n", dlerror());
  exit(1);
}

static void ExpectWord(CUdeviceptr address, unsigned word, CUstream stream) {
  unsigned found = 0;
  Check(read_back(&found, address, sizeof found, stream), "cuMemcpyDtoHAsync");
  Check(stream_wait(stream), "cuStreamSynchronize");
  if (found == word) return;
  fprintf(stderr, "there is %u where %u was written\n", found, word);
  exit(1);
}

/* Allocates blocks, writes them, reads them and frees them. The other thread may have taken what
 * was to be had: then there are fewer. */
static void UseBlocks(unsigned word, CUstream stream) {
  CUdeviceptr blocks[kBlocks];
  unsigned count = 0;
  for (; count < kBlocks; ++count) {
    const int result = mem_alloc(&blocks[count], kBlockBytes);
    if (result == kOutOfMemory) break;
    Check(result, "cuMemAlloc");
    Check(fill(blocks[count], word + count, kBlockBytes / 4, stream), "cuMemsetD32Async");
  }
  for (unsigned i = 0; i < count; ++i) {
    ExpectWord(blocks[i] + kBlockBytes - 4, word + i, stream);
    Check(mem_free(blocks[i]), "cuMemFree");
  }
}

static void* UseBlocksForever(void* unused) {
  CUstream stream = NULL;
  Check(context_set(context), "cuCtxSetCurrent");
  Check(stream_create(&stream, 1), "cuStreamCreate");
  for (unsigned word = 1u << 30;; word += kBlocks) UseBlocks(word, stream);
  return unused;
}

static void FindFunctions(void) {
  void* const driver = dlopen("libcuda.so.1", RTLD_NOW);
  if (driver == NULL) {
    fprintf(stderr, "%s\n", dlerror());
    exit(1);
  }
  *(void**)&init = Find(driver, "cuInit");
  *(void**)&device_get = Find(driver, "cuDeviceGet");
  *(void**)&context_retain = Find(driver, "cuDevicePrimaryCtxRetain");
  *(void**)&context_set = Find(driver, "cuCtxSetCurrent");
  *(void**)&stream_create = Find(driver, "cuStreamCreate");
  *(void**)&stream_wait = Find(driver, "cuStreamSynchronize");
  *(void**)&mem_alloc = Find(driver, "cuMemAlloc_v2");
  *(void**)&mem_free = Find(driver, "cuMemFree_v2");
  *(void**)&fill = Find(driver, "cuMemsetD32Async");
  *(void**)&read_back = Find(driver, "cuMemcpyDtoHAsync_v2");
  *(void**)&quiet = Find(RTLD_DEFAULT, "vramstow_quiet");
}

int main(int argc, char** argv) {
  const int steps = argc > 1 ? atoi(argv[1]) : 1;
  FindFunctions();
  int device = 0;
  Check(init(0), "cuInit");
  Check(device_get(&device, 0), "cuDeviceGet");
  Check(context_retain(&context, device), "cuDevicePrimaryCtxRetain");
  Check(context_set(context), "cuCtxSetCurrent");
  CUstream stream = NULL;
  Check(stream_create(&stream, 1), "cuStreamCreate");
  struct range states[kStates];
  for (unsigned i = 0; i < kStates; ++i) {
    CUdeviceptr state = 0;
    Check(mem_alloc(&state, kStateBytes), "cuMemAlloc");
    states[i] = (struct range){state, kStateBytes};
    Check(fill(state, i, kStateBytes / 4, stream), "cuMemsetD32Async");
  }
  pthread_t other;
  pthread_create(&other, NULL, UseBlocksForever, NULL);
  for (int step = 0; step < steps; ++step) {
    const unsigned word = (unsigned)step * kStates;
    quiet(NULL, 0);
    for (unsigned i = 0; i < kStates; ++i) {
      ExpectWord(states[i].address + kStateBytes - 4, word + i, stream);
      Check(fill(states[i].address, word + kStates + i, kStateBytes / 4, stream), "fill");
    }
    Check(stream_wait(stream), "cuStreamSynchronize");
    quiet(states, kStates);
    UseBlocks((unsigned)step * kBlocks, stream);
    if (write(STDOUT_FILENO, ".\n", 2) != 2) return 1;
  }
  _exit(0);
}
