// What libcuda.so.1 of the simulator exports beside the driver's own functions. Plain C.
//
// 1. Nothing here exists in a real driver: look it up with dlsym and do without if it is absent.
// 2. Registered kernels run when their turn comes on the virtual clock, one at a time, with the
//    driver's lock held: they must not call the driver, and may call
//    vramstowSimulatorTranslate.
// 3. Sizes are bytes, times are virtual nanoseconds.
#ifndef VRAMSTOW_SIMULATOR_SIMULATOR_API_H_
#define VRAMSTOW_SIMULATOR_SIMULATOR_API_H_

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

// Is `spec` right? 0: *text is one line about the card(s); otherwise one sentence about what is
// wrong. The SPEC "help" gives 0 and the list of cards and options.
int vramstowSimulatorCheck(const char* spec, char* text, size_t size);

// What is simulated in this process, for a trace. Never null.
const char* vramstowSimulatorDescription(void);

// One of the ranks that run of a job with world= in its SPEC.
struct vramstowSimulatorRank {
  int rank;
  int world;  // ranks of the job
  int node;
  int nodes;
  int local_rank;  // on its node
  int local_world;
};

// Fills in the rank that stands at `index` behind rank= (`size` bytes of it). Returns how many run;
// 0: the SPEC has no world=; negative: it is wrong. A null `spec` is the process's own. Needs no
// cuInit.
int vramstowSimulatorRanks(const char* spec, int index, struct vramstowSimulatorRank* rank,
                           size_t size);

// The address of a function that a runtime calls past every public name, as a vendor's runtime may
// do through a private table: with primary=private in the SPEC these are the functions of primary
// contexts, by their documented names. Null for any other name, and without that option. Needs no
// cuInit.
void* vramstowSimulatorPrivateFunction(const char* name);

// One launch, as a registered kernel sees it.
struct vramstowSimulatorLaunch {
  unsigned grid[3];
  unsigned block[3];
  unsigned shared_bytes;
  int device;
  void** parameters;  // as many as were registered, each pointing at a copy of the argument
  size_t parameter_count;
  void* user;
};
typedef void (*vramstowSimulatorKernel)(const struct vramstowSimulatorLaunch* launch);

// From now on a kernel named `name` runs `function` and takes `duration_ns`. Parameter sizes say
// how much of each argument is copied at launch. A null function unregisters. 0: done.
int vramstowSimulatorRegisterKernel(const char* name, vramstowSimulatorKernel function,
                                    const size_t* parameter_sizes, size_t parameter_count,
                                    uint64_t duration_ns, void* user);

// Where the bytes of a device address lie in this process: null if [address, address + size) is no
// memory that a kernel may touch. `write` non-zero: they are going to be written.
void* vramstowSimulatorTranslate(uint64_t address, size_t size, int write);

// --- Work that a library computes on the host in place of kernels (adapters/values)
// ----------------

// What a task does to memory of devices.
enum VramstowSimulatorUse {
  kVramstowSimulatorReads = 1,
  kVramstowSimulatorWrites = 2,
  kVramstowSimulatorFills = 4,  // every byte is written, and none was wanted before
  // With kVramstowSimulatorFills: every byte becomes zero. A task that does only this needs no
  // `run` and is done whatever its size.
  kVramstowSimulatorZeroes = 8,
};
struct vramstowSimulatorRange {
  uint64_t address;
  uint64_t bytes;
  int use;  // of enum VramstowSimulatorUse, added up
};

enum VramstowSimulatorTrait {
  kVramstowSimulatorDecidesSize = 1,  // the program makes something as large as it says
  kVramstowSimulatorIsRandom = 2,     // its results are random values
  kVramstowSimulatorIsRead = 4,   // the program reads its result, which is no memory of a device
  kVramstowSimulatorHasSize = 8,  // it puts in place what a task that decided a size has computed
};

enum VramstowSimulatorOutcome {
  kVramstowSimulatorDone = 0,
  kVramstowSimulatorNotComputed = 1,
  kVramstowSimulatorAssertion = 2,  // the kernel would have met a failing device-side assertion
};

struct vramstowSimulatorTask {
  size_t size;       // of this struct, as its user knows it
  const char* name;  // whose results these are; lives as long as the process
  const struct vramstowSimulatorRange* ranges;  // copied
  size_t range_count;
  uint64_t bytes;       // that are touched; large tasks are left out as large launches are
  uint64_t operations;  // of a matrix product, as gemm= of the SPEC counts them; else 0
  // Called with the driver's lock held, once for each time that the work's turn comes: it must not
  // call the driver, and finds the bytes of device addresses at vramstowSimulatorShadow. Gives an
  // outcome. Null: the results are left out.
  int (*run)(void* user);
  void (*drop)(void* user);  // when it will not be run again; null: nothing is to be done
  void* user;
  int traits;  // of enum VramstowSimulatorTrait, added up
  // Called before `run`, as it is, where something of what the task reads was not computed. `lost`
  // not 0: some of it reads as zeros; else it has old values, or what follows from them. May be
  // null.
  void (*reads_uncomputed)(void* user, int lost);
};

// Makes the task a part of the last work that this thread's current context has in the stream: it
// takes no time and changes no order. In a capture it becomes a part of the last node, and runs at
// each launch of the graph. What is not computed reads as zeros where the task should have filled
// it. 0: done; otherwise a CUresult, and the task was dropped.
int vramstowSimulatorAppend(struct CUstream_st* stream, const struct vramstowSimulatorTask* task);

// Calls `seen` for each task that is appended, and for each launch of a graph, with the ranges of
// memory that it reads and writes. The thread that submits the work calls it, without the driver's
// lock. A null `seen` ends that. Kernels that a task stands for are launched while
// vramstowSimulatorHoldsKernels() is not 0: their arguments name nothing that the task does not.
typedef void (*vramstowSimulatorUseWatcher)(const struct vramstowSimulatorRange* ranges,
                                            size_t count, void* user);
void vramstowSimulatorWatchUses(vramstowSimulatorUseWatcher seen, void* user);

// Returns 1 if somebody watches, else 0.
int vramstowSimulatorWatchesUses(void);

// Calls the watcher, if there is one, for work of this thread that has no task.
void vramstowSimulatorTellUses(const struct vramstowSimulatorRange* ranges, size_t count);

// Whether a task of that size would be computed now. Needs no lock.
int vramstowSimulatorAffords(uint64_t bytes, uint64_t operations);

// What has to be added to a device address to find its bytes in this process; 0: device memory
// holds nothing (contents=discard), the SPEC wants no values, or the driver was not started.
int64_t vramstowSimulatorShadow(void);

// While the sum of changes of this thread is above 0, kernels that it launches take their time and
// do nothing, because a task computes what they should.
void vramstowSimulatorHoldKernels(int change);

// Not 0: that sum is above 0.
int vramstowSimulatorHoldsKernels(void);

// While the sum of changes of this thread is above 0, it asks only to see how long something takes:
// kernels that it launches take their time and do nothing, and large tasks are left out.
void vramstowSimulatorTry(int change);

// From now on small copies (up to 8 bytes) from a device to the host that this thread asks for end
// with a call of `patch`, which may change what was read. Null: no more. Called with the driver's
// lock held.
void vramstowSimulatorPatchReads(void (*patch)(void* user, void* bytes, size_t size), void* user);

// How often the host has read device memory that should have been computed and was not. Needs no
// lock.
uint64_t vramstowSimulatorCountUncomputedReads(void);

// `seen` is called at the first of these reads, with the name of who did not compute it, by the
// thread that makes it and with the driver's lock held. Where it gives 0, the read does not count,
// and it is called again at the next one.
void vramstowSimulatorWatchUncomputedReads(int (*seen)(const char* by, void* user), void* user);

// The same of sizes that follow from what was not computed. Such a size is no such read.
uint64_t vramstowSimulatorCountUnknownSizes(void);
void vramstowSimulatorWatchUnknownSizes(int (*seen)(const char* by, void* user), void* user);

// The library that computes says that a result of `by`, whose size depends on values, has a size
// that it made up. The name lives as long as the process.
void vramstowSimulatorNoteUnknownSize(const char* by);

// --- What a card would have to do (work-log= and clock=model of the SPEC)
// ------------------------------------------------------------------------

// A line of the log. Texts have no comma and no end of line.
struct vramstowSimulatorWorkLine {
  size_t size;       // of this struct, as its user knows it
  const char* kind;  // operator, copy, kernel, collective
  const char* name;  // "mm", "to_device", "all_reduce"
  // Of products: f16, bf16, tf32, f32, f64; f16_odd, bf16_odd where a row of a matrix has an odd
  // number of elements. Else "-".
  const char* precision;
  uint64_t operations;  // of products, additions and all; else 0
  uint64_t read_bytes;
  uint64_t written_bytes;
  uint64_t items;  // of a collective: the ranks; of an embedding or a loss: the tokens; else 0
};

// Not 0: there is such a log, or such a clock.
int vramstowSimulatorLogsWork(void);

// Writes the line, where there is such a log. With clock=model the stream is busy for as long as a
// card would take, from behind what it has now; what the work reads and writes (`ranges`, as of a
// task) is read and written over the link where it lies on the host.
void vramstowSimulatorLogWork(struct CUstream_st* stream,
                              const struct vramstowSimulatorWorkLine* line,
                              const struct vramstowSimulatorRange* ranges, size_t count);

// What the clock of clock=model says; all but the times are sums since the driver was started.
struct vramstowSimulatorModelClock {
  uint64_t now_ns;           // the host's time
  uint64_t link_read_bytes;  // that kernels read or wrote in place in memory of the host
  uint64_t to_host_bytes;    // that copies brought over the link
  uint64_t to_device_bytes;
  uint64_t wait_ns;  // for which the program waited for work
  // Of operators and copies that libraries told of, collectives not among them.
  uint64_t work_ns;       // what they take, if all that they use lay on the card
  uint64_t operators;     // how many they are
  uint64_t link_work_ns;  // what they take longer, because some of it lies on the host
  uint64_t due_ns;        // when all work that was submitted up to now will have ended, or now
};

// Fills in `size` bytes of the clock, so that the struct may grow at its end. 0: done; else there
// is no such clock. Needs no lock.
int vramstowSimulatorReadModelClock(struct vramstowSimulatorModelClock* clock, size_t size);
// By that clock, the host does nothing for so long. For who would sleep until work has ended: real
// time counts for nothing there. Without such a clock nothing happens.
void vramstowSimulatorPass(uint64_t nanoseconds);

// As a network card does by what it was told of memory: copies `size` bytes at `offset` of what a
// descriptor of cuMemGetHandleForAddressRange stands for, out of it or into it. That is the
// physical memory which was there when the descriptor was made, whatever its addresses lead to by
// now. The copy is no work on a stream. 0: done; otherwise a CUresult.
// vramstowSimulatorRegister makes such a descriptor without a call of the driver, as the driver's
// module for network cards (nvidia-peermem) does where a card registers an address: for any range,
// and unseen by whoever stands in front of the driver. The descriptor is the caller's to close.
int vramstowSimulatorRegister(uint64_t address, size_t size, int* descriptor);
int vramstowSimulatorReadRegistered(int descriptor, uint64_t offset, void* bytes, size_t size);
int vramstowSimulatorWriteRegistered(int descriptor, uint64_t offset, const void* bytes,
                                     size_t size);

// The virtual time of the host.
uint64_t vramstowSimulatorTime(void);

// What a monitor (NVML) may know of a device. It is there before cuInit and in a forked child:
// asking starts nothing and needs no context.
struct vramstowSimulatorDeviceReport {
  char name[96];
  char pci_bus_id[16];  // "0000:01:00.0"
  unsigned char uuid[16];
  unsigned pci_device_id;  // the device's number at its vendor
  int major;               // compute capability
  int minor;
  int multiprocessors;
  int clock_khz;
  int memory_clock_khz;
  int memory_bus_bits;
  int has_ecc;
  int has_nvlink;
  int has_context;  // of this process
  uint64_t total_bytes;
  uint64_t used_bytes;     // as cuMemGetInfo would have it: by all processes that share the card
  uint64_t process_bytes;  // of these, by this process
};

// How many devices the machine has, whatever the process sees of them; negative if the SPEC is
// wrong.
int vramstowSimulatorDeviceCount(void);

// Fills in `size` bytes of the report, so that the struct may grow at its end. 0: done.
int vramstowSimulatorReportDevice(int device, struct vramstowSimulatorDeviceReport* report,
                                  size_t size);

struct vramstowSimulatorProcess {
  uint64_t process;  // its id
  uint64_t bytes;    // of the device's memory
};

// The processes that hold memory of a device, at most `room` of them. Returns how many there are,
// negative if there is no such device.
int vramstowSimulatorListProcesses(int device, struct vramstowSimulatorProcess* processes,
                                   int room);

// What a profiler in this process (the stand-in for CUPTI) is told. There is one place for a
// profiler; while nobody is in it, all of this costs a load per call.
//
// A call of the driver, or of a runtime over it. Whoever tells fills in what it knows.
struct vramstowSimulatorCall {
  const char* name;  // as documented: cuMemAlloc, cudaMalloc; with _ptsz or _ptds for a runtime
  int runtime;       // 0: the driver's; else the runtime's
  int per_thread;    // stream 0 is the thread's own
  int result;        // when it leaves: CUresult or cudaError_t
  // The driver's, when it leaves. Ids are unique in the process, 0 is none.
  int device;
  struct CUctx_st* context;
  struct CUctx_st* made_context;
  struct CUstream_st* made_stream;
  uint32_t context_id;
  uint32_t stream;
  uint32_t event;
  uint64_t event_record;  // which record of that event: rises
  uint64_t time_ns;       // virtual
  const char* symbol;     // of the kernel that it launches
  uint64_t pool;          // the stream-ordered pool that it is about, and what that holds
  uint64_t pool_threshold_bytes;
  uint64_t pool_reserved_bytes;
  uint64_t pool_used_bytes;
  // The profiler's own.
  uint32_t correlation;
  uint32_t outermost;
  uint64_t begin;
  uint64_t data;
};

enum VramstowSimulatorWorkKind {
  kVramstowSimulatorKernelWork = 1,
  kVramstowSimulatorCopyWork = 2,
  kVramstowSimulatorFillWork = 3,
};

enum VramstowSimulatorPlace {
  kVramstowSimulatorPageable = 1,
  kVramstowSimulatorPinned = 2,
  kVramstowSimulatorOnDevice = 3,
  kVramstowSimulatorManaged = 5,
};

// A piece of work on the device: told when it is queued, and when it has ended.
struct vramstowSimulatorWork {
  int kind;
  int device;
  uint32_t context_id;
  uint32_t stream;
  int priority;
  uint32_t graph;  // executable graph that it came with, or 0
  uint64_t graph_node;
  uint64_t queued_ns;  // virtual, as all times
  uint64_t start_ns;
  uint64_t end_ns;
  const char* kernel;  // lives as long as the process
  unsigned grid[3];
  unsigned block[3];
  unsigned static_shared_bytes;
  unsigned dynamic_shared_bytes;
  unsigned registers;
  unsigned local_bytes;
  int from;  // of a copy: enum VramstowSimulatorPlace, and the devices that are concerned
  int to;
  int from_device;
  int to_device;
  int asynchronous;
  unsigned value;  // of a fill
  uint64_t bytes;
  // The profiler's own.
  uint32_t correlation;
  int64_t host_offset_ns;
};

// Called by any thread. `enter` and `leave` hold no lock of the driver's; `queue`, `work` and
// `memory` do: from these the driver may not be called.
struct vramstowSimulatorProfiler {
  void (*enter)(struct vramstowSimulatorCall* call);
  void (*leave)(struct vramstowSimulatorCall* call);
  void (*queue)(struct vramstowSimulatorWork* work);
  void (*work)(const struct vramstowSimulatorWork* work);
  // The call gave (or took) memory, or tried to: it has its result.
  void (*memory)(const struct vramstowSimulatorCall* call, uint64_t address, uint64_t bytes);
};

// The place for a profiler: the address of an atomic pointer. It is written by the profiler alone;
// what it pointed to once must live as long as the process.
const struct vramstowSimulatorProfiler** vramstowSimulatorProfilerPlace(void);

#ifdef __cplusplus
}
#endif

#endif  // VRAMSTOW_SIMULATOR_SIMULATOR_API_H_
