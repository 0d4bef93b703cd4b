// DriverTable: every driver call that the allocator makes, as one table of functions.
//
// Idea: the pool never names CUDA. It is given a DriverTable; `cuda_driver.h` fills one from a CUDA
// driver, tests fill one from a fake device. The comments state the preconditions that the pool
// satisfies, and the results that the pool treats specially ("may return ..."). Any other result
// than success means that nothing was done, and the pool undoes its own step.
//
// Ownership: the caller owns the table and `self`, which outlive the pool. Threads: every function
// may be called from any thread, also from several at once; the table makes the right context
// current by itself and restores the thread's own context. Errors: DriverResult, with the numbers
// of CUresult. Units: bytes; nanoseconds; addresses, handles, streams and events as integers (0 is
// the default stream).
#ifndef VRAMSTOW_ALLOCATOR_CORE_DRIVER_H_
#define VRAMSTOW_ALLOCATOR_CORE_DRIVER_H_

#include <cstdint>

namespace vramstow {

using DriverResult = int32_t;

// The values of CUresult that the allocator distinguishes.
inline constexpr DriverResult kDriverSuccess = 0;
inline constexpr DriverResult kDriverInvalidValue = 1;
inline constexpr DriverResult kDriverOutOfMemory = 2;
inline constexpr DriverResult kDriverNotInitialized = 3;
inline constexpr DriverResult kDriverDeinitialized = 4;
inline constexpr DriverResult kDriverInvalidDevice = 101;
inline constexpr DriverResult kDriverInvalidContext = 201;
inline constexpr DriverResult kDriverSystemCallFailed = 304;
inline constexpr DriverResult kDriverInvalidHandle = 400;
inline constexpr DriverResult kDriverNotReady = 600;
inline constexpr DriverResult kDriverNotPermitted = 800;
inline constexpr DriverResult kDriverNotSupported = 801;
inline constexpr DriverResult kDriverCaptureUnsupported = 900;
inline constexpr DriverResult kDriverCaptureInvalidated = 901;
inline constexpr DriverResult kDriverStreamDetached = 917;  // its green context was destroyed
inline constexpr DriverResult kDriverUnknown = 999;

// True if the driver reports that it does not support the call, rather than that memory is short
// now. GPUs that lack virtual memory give these results, and so do virtual GPUs and sandboxes that
// refuse it although they claim to have it.
constexpr bool IsRefusal(DriverResult result) {
  return result == kDriverInvalidValue || result == kDriverInvalidDevice ||
         result == kDriverSystemCallFailed || result == kDriverNotPermitted ||
         result == kDriverNotSupported || result == kDriverUnknown;
}

// True if an event could not be recorded because its stream does not exist any more.
constexpr bool IsStreamGone(DriverResult result) {
  return result == kDriverInvalidHandle || result == kDriverInvalidContext ||
         result == kDriverStreamDetached;
}

struct DriverDevice {
  uint64_t total_bytes;        // of device memory
  uint64_t granularity_bytes;  // a physical handle's size is a multiple of this; a power of two
  int16_t ordinal;             // the device's number in events
  bool virtual_memory;         // if false, reserve, create, map and the like must not be called
  bool host_memory = false;    // create_host may be called
  bool copies = false;         // host_allocate, host_free and copy_* may be called
  bool plain = false;          // allocate and free may be called
};

// One run of bytes to copy. Both ends are mapped with access, or are memory of host_allocate.
struct DriverCopy {
  uint64_t to;
  uint64_t from;
  uint64_t size;
};

struct DriverTable {
  void* self;

  // --- The device ---------------------------------------------------------------------------
  DriverResult (*describe)(void* self, DriverDevice* device);
  // Returns the free and total bytes of device memory, for all processes (cuMemGetInfo).
  DriverResult (*memory_info)(void* self, uint64_t* free_bytes, uint64_t* total_bytes);

  // --- Addresses and physical memory ----------------------------------------------------------
  // Reserves an address range; `size` is a multiple of the granularity, `alignment` a power of two.
  // May return kDriverOutOfMemory if there is no such range; the pool then tries a smaller one.
  DriverResult (*reserve)(void* self, uint64_t size, uint64_t alignment, uint64_t* address);
  // Releases a whole range of reserve() in which nothing is mapped.
  DriverResult (*unreserve)(void* self, uint64_t address, uint64_t size);
  // Creates physical memory on the device. May return kDriverOutOfMemory.
  DriverResult (*create)(void* self, uint64_t size, uint64_t* handle);
  // Releases physical memory that is mapped nowhere.
  DriverResult (*release)(void* self, uint64_t handle);
  // Creates page-locked physical memory of the host that the device can be given access to. May
  // return kDriverOutOfMemory. The memory is released by release().
  DriverResult (*create_host)(void* self, uint64_t size, uint64_t* handle);
  // Maps the whole of a handle at an address of a reserved range. `size` is the handle's size, and
  // nothing is mapped there yet. The mapping has no access rights until set_access.
  DriverResult (*map)(void* self, uint64_t address, uint64_t size, uint64_t handle);
  // Removes one whole mapping, or several that fill the range without a gap. No unfinished work
  // touches the range. A driver that can remove only one mapping per call returns an error for
  // several, and has then removed none.
  DriverResult (*unmap)(void* self, uint64_t address, uint64_t size);
  // Gives the device, and the peers that were added, read and write access. The range is mapped
  // without a gap, by one handle or several.
  DriverResult (*set_access)(void* self, uint64_t address, uint64_t size);
  // Gives the device and its peers access to memory of create_host. The host may read and write the
  // memory, too, if the driver allows that. If this function is null, set_access is called in its
  // place.
  DriverResult (*set_host_access)(void* self, uint64_t address, uint64_t size) = nullptr;

  // Allocates device memory that is mapped and accessible, at an address that the driver chooses
  // (cuMemAlloc). Without virtual memory a pool is made of such memory. May return
  // kDriverOutOfMemory.
  DriverResult (*allocate)(void* self, uint64_t size, uint64_t* address);
  // Frees a whole allocation that no unfinished work touches.
  DriverResult (*free)(void* self, uint64_t address);

  // Allocates page-locked host memory that copies can use. May return kDriverOutOfMemory.
  DriverResult (*host_allocate)(void* self, uint64_t size, uint64_t* address);
  DriverResult (*host_free)(void* self, uint64_t address);
  // Starts to copy the runs in order, without waiting for other work; *job is then passed to
  // copy_finish. After an error no copy is running, and the destinations have unspecified contents.
  DriverResult (*copy_start)(void* self, const DriverCopy* copies, uint32_t count, uint64_t* job);
  // Starts copies like copy_start, but they wait for all work that was submitted to the context so
  // far. It is not called while the pool knows of a capture. If the function is null or returns
  // kDriverNotSupported, no copy was started.
  DriverResult (*copy_start_after)(void* self, const DriverCopy* copies, uint32_t count,
                                   uint64_t* job) = nullptr;
  // Starts copies like copy_start, but they wait for the copies of the unfinished job `previous`,
  // and for no other work. If the function is null, the pool treats it as not supported.
  DriverResult (*copy_start_behind)(void* self, uint64_t previous, const DriverCopy* copies,
                                    uint32_t count, uint64_t* job) = nullptr;
  // Makes work that is submitted to the context from now on wait for the copies of a job. The job
  // must still be finished with copy_finish. If this is null or not supported, later work does not
  // wait. It is not called while the pool knows of a capture.
  DriverResult (*copy_order)(void* self, uint64_t job) = nullptr;
  // Returns true if the copies of a job have ended, with an error or without, so that copy_finish
  // does not wait. If this is null, the pool cannot find that out.
  bool (*copy_done)(void* self, uint64_t job) = nullptr;
  // Waits until all copies of the job are done. After an error the destinations have unspecified
  // contents.
  DriverResult (*copy_finish)(void* self, uint64_t job);

  // --- Order ----------------------------------------------------------------------------------
  DriverResult (*event_create)(void* self, uint64_t* event);
  DriverResult (*event_destroy)(void* self, uint64_t event);
  // Records an event that completes when all work submitted to the stream before this call has
  // completed. Returns a result of IsStreamGone if the stream does not exist any more, and
  // kDriverCaptureUnsupported if the stream is being captured.
  DriverResult (*event_record)(void* self, uint64_t event, uint64_t stream);
  // Records an event that covers all work of the context (cuCtxRecordEvent). May return
  // kDriverNotSupported. The call invalidates captures in progress, so the pool does not make it
  // while it knows of one.
  DriverResult (*event_record_all)(void* self, uint64_t event);
  // Returns kDriverSuccess if the event has completed, and kDriverNotReady if it has not.
  DriverResult (*event_query)(void* self, uint64_t event);
  // Waits until all work of the context is done. It is not called while the pool knows of a
  // capture.
  DriverResult (*synchronize)(void* self);
  // Waits until all work of other contexts that may touch the pool's memory is done: contexts of
  // this device and of its peers. Returns kDriverNotReady if the work is not done by the deadline
  // (of the wait clock), and kDriverNotSupported if the driver cannot find out. It is not called
  // while the pool knows of a capture. Null means that there are no other contexts.
  DriverResult (*finish_others)(void* self, uint64_t deadline_ns) = nullptr;
  // True if the stream is known to belong to another context, for whose work `synchronize` does not
  // wait. Null means that no stream does.
  bool (*is_foreign)(void* self, uint64_t stream) = nullptr;
  // From now on the thread's calls do not invalidate captures, neither its own nor those of other
  // threads. Stores the previous mode, which restore_capture needs, in *previous.
  DriverResult (*relax_capture)(void* self, int32_t* previous);
  DriverResult (*restore_capture)(void* self, int32_t previous);

  // --- Time -----------------------------------------------------------------------------------
  // A monotonic clock that measures durations and ages. With a simulated GPU it is the GPU's
  // virtual clock, which stands still while nothing is submitted.
  uint64_t (*now)(void* self);
  // A monotonic clock that always advances; deadlines of waits are measured by it. Null means
  // `now`.
  uint64_t (*wait_clock)(void* self) = nullptr;
  // Yields the processor for about this long.
  void (*pause)(void* self, uint64_t nanoseconds);
};

// Returns the time of the clock by which deadlines are measured.
inline uint64_t WaitClock(const DriverTable* driver) {
  return driver->wait_clock != nullptr ? driver->wait_clock(driver->self)
                                       : driver->now(driver->self);
}

}  // namespace vramstow

#endif  // VRAMSTOW_ALLOCATOR_CORE_DRIVER_H_
