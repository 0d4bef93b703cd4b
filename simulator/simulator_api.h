// Declares the functions that libcuda.so.1 of the simulator exports in addition to the driver's own
// functions. Plain C.
//
// 1. A real driver has none of these functions: look them up with dlsym, and do without them if
//    they are absent.
// 2. Registered kernels run when their turn comes on the virtual clock, one at a time, with the
//    driver's lock held: they must not call the driver, and may call vramstowSimulatorTranslate.
// 3. Sizes are bytes, times are virtual nanoseconds.
#ifndef VRAMSTOW_SIMULATOR_SIMULATOR_API_H_
#define VRAMSTOW_SIMULATOR_SIMULATOR_API_H_

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

// Returns 0 and one line about the GPUs in *text if `spec` is right, else a number other than 0 and
// one sentence about what is wrong. The SPEC "help" returns 0 and the list of GPUs and options.
int vramstowSimulatorCheck(const char* spec, char* text, size_t size);

// Returns a description of the simulated GPUs of this process, for a trace. Never null.
const char* vramstowSimulatorDescription(void);

// Returns a number that differs between groups of processes (share= in the SPEC) and between sizes
// of memory. Simulated GPUs with different numbers are different ones, although they have one UUID.
uint64_t vramstowSimulatorGroup(void);

// A rank that runs. It belongs to a job with world= in its SPEC.
struct vramstowSimulatorRank {
  int rank;
  int world;  // number of ranks of the job
  int node;
  int nodes;
  int local_rank;  // rank within its node
  int local_world;
};

// Fills in the first `size` bytes of *rank for the rank at position `index` in the list of rank=.
// Returns the number of ranks that run, 0 if the SPEC has no world=, or a negative number if the
// SPEC is wrong. A null `spec` means the SPEC of the process. Needs no cuInit.
int vramstowSimulatorRanks(const char* spec, int index, struct vramstowSimulatorRank* rank,
                           size_t size);

// Returns the address of a function that a runtime calls without a public name, as a vendor's
// runtime may do through a private table. With primary=private in the SPEC, the functions of
// primary contexts are found here by their documented names. Returns null for any other name, and
// for each name if that option is not given. Needs no cuInit.
void* vramstowSimulatorPrivateFunction(const char* name);

// A launch of a kernel, passed to the registered function that runs in place of the kernel.
struct vramstowSimulatorLaunch {
  unsigned grid[3];
  unsigned block[3];
  unsigned shared_bytes;
  int device;
  void** parameters;  // one pointer to the copy of each registered argument
  size_t parameter_count;
  void* user;
};
typedef void (*vramstowSimulatorKernel)(const struct vramstowSimulatorLaunch* launch);

// Registers `function` to run as the kernel `name`, which takes `duration_ns`. The parameter sizes
// say how many bytes of each argument are copied at launch. A null function unregisters the kernel.
// Returns 0 on success.
int vramstowSimulatorRegisterKernel(const char* name, vramstowSimulatorKernel function,
                                    const size_t* parameter_sizes, size_t parameter_count,
                                    uint64_t duration_ns, void* user);

// Returns the pointer to the bytes of a device address in this process, or null if a kernel must
// not access [address, address + size). `write` is not 0 if the bytes are going to be written.
void* vramstowSimulatorTranslate(uint64_t address, size_t size, int write);

// --- Work that a library computes on the host in place of kernels (adapters/values)
// ----------------

// How a task uses a range of device memory.
enum VramstowSimulatorUse {
  kVramstowSimulatorReads = 1,
  kVramstowSimulatorWrites = 2,
  kVramstowSimulatorFills = 4,  // every byte is written, and its old value does not matter
  // The task sets every byte to zero; used together with kVramstowSimulatorFills. A task that only
  // zeroes memory needs no `run` and is done whatever its size.
  kVramstowSimulatorZeroes = 8,
};
struct vramstowSimulatorRange {
  uint64_t address;
  uint64_t bytes;
  int use;  // sum of values of enum VramstowSimulatorUse
};

enum VramstowSimulatorTrait {
  kVramstowSimulatorDecidesSize = 1,  // the result determines the size of an allocation
  kVramstowSimulatorIsRandom = 2,     // its results are random values
  kVramstowSimulatorIsRead = 4,       // the program reads the result, which is not in device memory
  kVramstowSimulatorHasSize = 8,      // it stores the result of a task that decided a size
};

enum VramstowSimulatorOutcome {
  kVramstowSimulatorDone = 0,
  kVramstowSimulatorNotComputed = 1,
  kVramstowSimulatorAssertion = 2,  // a device-side assertion of the kernel failed
};

struct vramstowSimulatorTask {
  size_t size;       // size of this struct in the caller's version
  const char* name;  // name of the operation; lives as long as the process
  const struct vramstowSimulatorRange* ranges;  // copied
  size_t range_count;
  uint64_t bytes;       // touched bytes; a large task may be left out, as a large launch
  uint64_t operations;  // operations of a matrix product, as gemm= counts them; else 0
  // Computes the results and returns an outcome. It is called with the driver's lock held, each
  // time the virtual clock reaches the work. It must not call the driver. The bytes of a device
  // address are at the distance that vramstowSimulatorShadow returns. If `run` is null, the results
  // are left out.
  int (*run)(void* user);
  void (*drop)(void* user);  // called when `run` is not called again; may be null
  void* user;
  int traits;  // sum of values of enum VramstowSimulatorTrait
  // Called right before `run` if some of the memory that the task reads was not computed. If `lost`
  // is not 0, some of that memory reads as zeros. Otherwise it has old values, or values derived
  // from old ones. May be null.
  void (*reads_uncomputed)(void* user, int lost);
};

// Makes the task a part of the last work that this thread's current context has in the stream; the
// task takes no time and changes no order. In a capture it becomes a part of the last node, and
// runs at each launch of the graph. If the results are not computed, the memory that the task
// should have filled reads as zeros. Returns 0 on success. Otherwise it drops the task and returns
// a CUresult.
int vramstowSimulatorAppend(struct CUstream_st* stream, const struct vramstowSimulatorTask* task);

// Calls `seen` for each task that is appended, and for each launch of a graph, with the ranges of
// memory that it reads and writes. The thread that submits the work calls it, without the driver's
// lock. A null `seen` stops the calls. The kernels that a task replaces are launched while
// vramstowSimulatorHoldsKernels() is not 0. The arguments of such kernels refer only to memory that
// the task also names.
typedef void (*vramstowSimulatorUseWatcher)(const struct vramstowSimulatorRange* ranges,
                                            size_t count, void* user);
void vramstowSimulatorWatchUses(vramstowSimulatorUseWatcher seen, void* user);

// Lets `wrap` surround each append of a task. It calls `append(call)` once and returns the result.
// The thread that appends the task calls it, without the driver's lock; the watcher of uses is
// called inside. A task begins with no call of the driver, so code that stops submissions while it
// moves memory has to stop tasks here. A null `wrap` ends that.
typedef int (*vramstowSimulatorTaskWrapper)(int (*append)(void* call), void* call, void* user);
void vramstowSimulatorWrapTasks(vramstowSimulatorTaskWrapper wrap, void* user);

// Returns 1 if vramstowSimulatorWatchUses has set a watcher, else 0.
int vramstowSimulatorWatchesUses(void);

// Calls the watcher, if one is set, with the ranges of memory that work of this thread reads and
// writes. Used for work that has no task.
void vramstowSimulatorTellUses(const struct vramstowSimulatorRange* ranges, size_t count);

// Returns whether a task that accesses that many bytes and makes that many operations would be
// computed now. Needs no lock.
int vramstowSimulatorAffords(uint64_t bytes, uint64_t operations);

// Returns the difference between the pointer to a byte in this process and its device address.
// Returns 0 if device memory stores nothing (contents=discard), the SPEC disables values, or the
// driver was not started.
int64_t vramstowSimulatorShadow(void);

// Adds `change` to a counter of this thread. While the counter is above 0, kernels that the thread
// launches take their time and do nothing, because a task computes their results.
void vramstowSimulatorHoldKernels(int change);

// Returns whether kernels of this thread take their time and do nothing now, because of
// vramstowSimulatorHoldKernels.
int vramstowSimulatorHoldsKernels(void);

// Adds `change` to a counter of this thread. While the counter is above 0, the thread only measures
// time: kernels that it launches take their time and do nothing, and large tasks are left out.
void vramstowSimulatorTry(int change);

// Sets a function `patch` for small copies (up to 8 bytes) from a device to the host that this
// thread requests. `patch` is called at the end of each such copy and may change the bytes that
// were read. A null `patch` stops that. Must be called with the driver's lock held.
void vramstowSimulatorPatchReads(void (*patch)(void* user, void* bytes, size_t size), void* user);

// Returns how often the host has read device memory that should have been computed and was not.
// Needs no lock.
uint64_t vramstowSimulatorCountUncomputedReads(void);

// Calls `seen` at the first read that vramstowSimulatorCountUncomputedReads counts. `by` is the
// name of the kernel that was not computed. The call is made in the thread that reads, with the
// driver's lock held. If `seen` returns 0, the read does not count, and `seen` is called again at
// the next one.
void vramstowSimulatorWatchUncomputedReads(int (*seen)(const char* by, void* user), void* user);

// The first function returns how often the size of a result followed from uncomputed values. The
// second one calls `seen` at the first such size. A size of this kind does not count as a read.
uint64_t vramstowSimulatorCountUnknownSizes(void);
void vramstowSimulatorWatchUnknownSizes(int (*seen)(const char* by, void* user), void* user);

// Records that a library invented the size of a result, because that size depends on values. `by`
// names the operation; the name lives as long as the process.
void vramstowSimulatorNoteUnknownSize(const char* by);

// --- The work that a GPU would have to do (work-log= and clock=model of the SPEC)
// ------------------------------------------------------------------------

// A line of the work log. Texts contain no comma and no end of line.
struct vramstowSimulatorWorkLine {
  size_t size;       // size of this struct in the caller's version
  const char* kind;  // operator, copy, kernel, collective
  const char* name;  // "mm", "to_device", "all_reduce"
  // The precision of products: f16, bf16, tf32, f32 or f64. It is f16_odd or bf16_odd if a row of a
  // matrix has an odd number of elements. Work that is not a product has "-".
  const char* precision;
  uint64_t operations;  // multiplications and additions of products; else 0
  uint64_t read_bytes;
  uint64_t written_bytes;
  uint64_t items;  // ranks of a collective, tokens of an embedding or a loss; else 0
};

// Returns a number other than 0 if there is a work log or the clock is clock=model.
int vramstowSimulatorLogsWork(void);

// Writes the line if there is a work log. With clock=model, work of the duration that a GPU would
// need is also added to the end of the stream. `ranges` is the memory that the work reads and
// writes; it is accessed over PCIe if it lies on the host.
void vramstowSimulatorLogWork(struct CUstream_st* stream,
                              const struct vramstowSimulatorWorkLine* line,
                              const struct vramstowSimulatorRange* ranges, size_t count);

// The times and sums of clock=model. All fields other than times are sums since the driver was
// started.
struct vramstowSimulatorModelClock {
  uint64_t now_ns;           // the host's time
  uint64_t link_read_bytes;  // bytes that kernels accessed in place on the host
  uint64_t to_host_bytes;    // bytes that copies moved over PCIe
  uint64_t to_device_bytes;
  uint64_t wait_ns;  // time that the program waited for work
  // Sums over the operators and copies that libraries reported; collectives are not included.
  uint64_t work_ns;       // their time if all operands were on the GPU
  uint64_t operators;     // their number
  uint64_t link_work_ns;  // additional time because some operands are on the host
  uint64_t due_ns;        // when all work submitted so far will have ended, or now
};

// Fills in the first `size` bytes of the clock, so that the struct may grow at its end. Returns 0,
// or another number if the clock is not clock=model. Needs no lock.
int vramstowSimulatorReadModelClock(struct vramstowSimulatorModelClock* clock, size_t size);
// Advances the host's time of clock=model by this much, without any work of the host. A program
// that would sleep until work has ended calls this, because real time does not count with that
// clock. Has no effect with another clock.
void vramstowSimulatorPass(uint64_t nanoseconds);

// Advances this process's virtual clock of clock=model to at least `time_ns`; work that has not
// started yet starts after that time. Returns the clock. A coordinator of processes that take turns
// on one GPU passes the time at which the previous process stopped. Has no effect with another
// clock, or in a host function.
uint64_t vramstowSimulatorJoinTime(uint64_t time_ns);

// Returns the latest virtual time of the living processes that share the GPUs (share= in the SPEC),
// this one included.
uint64_t vramstowSimulatorLatestTime(void);

// The two functions that copy act as a network card does with registered memory: they copy `size`
// bytes at `offset` out of, or into, the memory that a descriptor of cuMemGetHandleForAddressRange
// stands for. That memory is the physical memory that was mapped when the descriptor was made, even
// if other memory is mapped at its addresses now. The copy is not work on a stream. They return 0
// or a CUresult.
// vramstowSimulatorRegister makes such a descriptor without a call of the driver, as the kernel
// module for network cards (nvidia-peermem) does when a card registers an address. It accepts any
// range, and an interposer in front of the driver does not see it. The caller closes the
// descriptor.
int vramstowSimulatorRegister(uint64_t address, size_t size, int* descriptor);
int vramstowSimulatorReadRegistered(int descriptor, uint64_t offset, void* bytes, size_t size);
int vramstowSimulatorWriteRegistered(int descriptor, uint64_t offset, const void* bytes,
                                     size_t size);

// Returns the virtual time of the host.
uint64_t vramstowSimulatorTime(void);

// The facts that a monitor (NVML) reads about a device. They are available before cuInit and in a
// forked child; reading them starts nothing and needs no context.
struct vramstowSimulatorDeviceReport {
  char name[96];
  char pci_bus_id[16];  // "0000:01:00.0"
  unsigned char uuid[16];
  unsigned pci_device_id;  // the vendor's number of the device
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
  uint64_t used_bytes;     // by all processes that share the GPU, as cuMemGetInfo reports it
  uint64_t process_bytes;  // the part of used_bytes of this process
};

// Returns how many devices the machine has, whether or not the process sees them, or a negative
// number if the SPEC is wrong.
int vramstowSimulatorDeviceCount(void);

// Fills in the first `size` bytes of the report, so that the struct may grow at its end. Returns 0
// on success.
int vramstowSimulatorReportDevice(int device, struct vramstowSimulatorDeviceReport* report,
                                  size_t size);

struct vramstowSimulatorProcess {
  uint64_t process;  // its id
  uint64_t bytes;    // of the device's memory
};

// Lists the processes that use memory of a device, at most `room` of them. Returns how many there
// are, or a negative number if there is no such device.
int vramstowSimulatorListProcesses(int device, struct vramstowSimulatorProcess* processes,
                                   int room);

// Returns a number that stands for a GPU, which `device` numbers as this program sees it. Another
// process gets the same number only for a GPU that both share. Returns 0 if there is no such GPU,
// or the driver was not started.
uint64_t vramstowSimulatorIdentifyGpu(int device);

// The structures below are passed to a profiler in this process (the stand-in for CUPTI). There is
// one slot for a profiler. While the slot is empty, a call costs only one more load instruction.
//
// A call of the driver, or of a runtime over it. The caller fills in the fields that it knows.
struct vramstowSimulatorCall {
  const char* name;  // as documented: cuMemAlloc, cudaMalloc; with _ptsz or _ptds for a runtime
  int runtime;       // 0: a call of the driver; else of the runtime
  int per_thread;    // stream 0 is the thread's own
  int result;        // set at the end: CUresult or cudaError_t
  // The driver sets these fields at the end of the call. Ids are unique in the process; 0 means
  // none.
  int device;
  struct CUctx_st* context;
  struct CUctx_st* made_context;
  struct CUstream_st* made_stream;
  uint32_t context_id;
  uint32_t stream;
  uint32_t event;
  uint64_t event_record;  // number of the record of that event
  uint64_t time_ns;       // virtual time
  const char* symbol;     // name of the kernel that it launches
  uint64_t pool;          // the stream-ordered pool that it uses, or 0; its sizes follow
  uint64_t pool_threshold_bytes;
  uint64_t pool_reserved_bytes;
  uint64_t pool_used_bytes;
  // The profiler sets and reads these fields.
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

// A piece of work on the device, reported when it is queued and when it has ended.
struct vramstowSimulatorWork {
  int kind;
  int device;
  uint32_t context_id;
  uint32_t stream;
  int priority;
  uint32_t graph;  // the executable graph that it belongs to, or 0
  uint64_t graph_node;
  uint64_t queued_ns;  // virtual, as all times here
  uint64_t start_ns;
  uint64_t end_ns;
  const char* kernel;  // lives as long as the process
  unsigned grid[3];
  unsigned block[3];
  unsigned static_shared_bytes;
  unsigned dynamic_shared_bytes;
  unsigned registers;
  unsigned local_bytes;
  int from;  // for copies: enum VramstowSimulatorPlace, and the devices
  int to;
  int from_device;
  int to_device;
  int asynchronous;
  unsigned value;  // for fills
  uint64_t bytes;
  // The profiler sets and reads these fields.
  uint32_t correlation;
  int64_t host_offset_ns;
};

// The functions of a profiler may be called by any thread. `enter` and `leave` are called without
// the driver's lock; `queue`, `work` and `memory` are called with it and must not call the driver.
struct vramstowSimulatorProfiler {
  void (*enter)(struct vramstowSimulatorCall* call);
  void (*leave)(struct vramstowSimulatorCall* call);
  void (*queue)(struct vramstowSimulatorWork* work);
  void (*work)(const struct vramstowSimulatorWork* work);
  // Called after a call that allocated or freed memory, or failed to do so. The result of the call
  // is set.
  void (*memory)(const struct vramstowSimulatorCall* call, uint64_t address, uint64_t bytes);
};

// Returns the slot of the profiler, which is the address of an atomic pointer. Only the profiler
// writes it; an object that it pointed to must live as long as the process.
const struct vramstowSimulatorProfiler** vramstowSimulatorProfilerPlace(void);

#ifdef __cplusplus
}
#endif

#endif  // VRAMSTOW_SIMULATOR_SIMULATOR_API_H_
