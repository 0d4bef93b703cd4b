// The contract with the device: every driver call that the allocator makes, as one table.
//
// Idea: the pool never names CUDA. It is handed a DriverTable; `cuda_driver.h` fills one from a
// CUDA driver, tests fill one from a fake device. Preconditions say what the pool keeps; "may give"
// lists the results that the pool handles in a way of its own. Any other non-zero result means that
// nothing was done, and the pool rolls back.
//
// Ownership: the table and `self` belong to whoever made them and outlive the pool. Threads: every
// function may be called from any thread, also from several at once; the table makes the right
// context current by itself and leaves the thread's own as it was. Errors: DriverResult, with the
// numbers of CUresult. Units: bytes; nanoseconds; addresses, handles, streams and events as
// integers (0 is the default stream).
#ifndef VRAMSTOW_ALLOCATOR_CORE_DRIVER_H_
#define VRAMSTOW_ALLOCATOR_CORE_DRIVER_H_

#include <cstdint>

namespace vramstow {

using DriverResult = int32_t;

// CUresult's numbers, as far as the allocator tells them apart.
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

// Whether the driver says that it does no such thing, rather than that there is no memory now: what
// cards lack, and what virtual cards and sandboxes refuse though they say that they have it.
constexpr bool IsRefusal(DriverResult result) {
  return result == kDriverInvalidValue || result == kDriverInvalidDevice ||
         result == kDriverSystemCallFailed || result == kDriverNotPermitted ||
         result == kDriverNotSupported || result == kDriverUnknown;
}

// Of an event that is to be recorded: its stream is not there any more.
constexpr bool IsStreamGone(DriverResult result) {
  return result == kDriverInvalidHandle || result == kDriverInvalidContext ||
         result == kDriverStreamDetached;
}

struct DriverDevice {
  uint64_t total_bytes;        // of device memory
  uint64_t granularity_bytes;  // a physical handle's size is a multiple of this; a power of two
  int16_t ordinal;             // as events name it
  bool virtual_memory;         // false: reserve, create, map and kin are not to be called
  bool host_memory = false;    // create_host may be called
  bool copies = false;         // host_allocate, host_free and copy_* may be called
  bool plain = false;          // allocate and free may be called
};

// One run of bytes to copy; each is mapped with access, or memory of host_allocate.
struct DriverCopy {
  uint64_t to;
  uint64_t from;
  uint64_t size;
};

struct DriverTable {
  void* self;

  // --- The device ---------------------------------------------------------------------------
  DriverResult (*describe)(void* self, DriverDevice* device);
  // Free and total bytes of device memory, for all processes (cuMemGetInfo).
  DriverResult (*memory_info)(void* self, uint64_t* free_bytes, uint64_t* total_bytes);

  // --- Addresses and physical memory ----------------------------------------------------------
  // Reserves an address range; size is a multiple of the granularity, alignment a power of two.
  // May give out of memory (no such range): the pool asks for less.
  DriverResult (*reserve)(void* self, uint64_t size, uint64_t alignment, uint64_t* address);
  // Gives a whole range of reserve() back; nothing is mapped in it.
  DriverResult (*unreserve)(void* self, uint64_t address, uint64_t size);
  // Makes physical memory on the device. May give out of memory: pressure.
  DriverResult (*create)(void* self, uint64_t size, uint64_t* handle);
  // Gives physical memory back; it is mapped nowhere.
  DriverResult (*release)(void* self, uint64_t handle);
  // Makes physical memory of the host, page-locked, that the device can be given access to. May
  // give out of memory. Released by release().
  DriverResult (*create_host)(void* self, uint64_t size, uint64_t* handle);
  // Maps the whole of a handle at an address of a reserved range that is unmapped over `size`, the
  // handle's size. The mapping has no access rights until set_access.
  DriverResult (*map)(void* self, uint64_t address, uint64_t size, uint64_t handle);
  // Removes one mapping, whole, or several that fill the range without a gap. No work that is still
  // submitted touches the range. A driver that removes one at a time gives an error for several,
  // and then none was removed.
  DriverResult (*unmap)(void* self, uint64_t address, uint64_t size);
  // Read and write for the device (and for peers that were given access). The range is mapped
  // without a gap, by one handle or several.
  DriverResult (*set_access)(void* self, uint64_t address, uint64_t size);
  // The same for memory of create_host: the host may read and write it, too, where the driver
  // allows that. Null: set_access is called in its place.
  DriverResult (*set_host_access)(void* self, uint64_t address, uint64_t size) = nullptr;

  // Memory of the device, mapped and accessible for good, at an address that the driver chooses
  // (cuMemAlloc): what a pool is made of where there is no virtual memory. May give out of memory.
  DriverResult (*allocate)(void* self, uint64_t size, uint64_t* address);
  // Gives a whole allocation back. No work that is still submitted touches it.
  DriverResult (*free)(void* self, uint64_t address);

  // Page-locked memory of the host that copies reach. May give out of memory.
  DriverResult (*host_allocate)(void* self, uint64_t size, uint64_t* address);
  DriverResult (*host_free)(void* self, uint64_t address);
  // Begins to copy, one after the other and after nothing else; *job is then for copy_finish. On an
  // error nothing is under way, and nothing is known of the destinations.
  DriverResult (*copy_start)(void* self, const DriverCopy* copies, uint32_t count, uint64_t* job);
  // The same, after all work that was submitted to the context before. Not called while a capture
  // is known of. Not supported: nothing was begun. Null: as that.
  DriverResult (*copy_start_after)(void* self, const DriverCopy* copies, uint32_t count,
                                   uint64_t* job) = nullptr;
  // The same, after the copies of a job that is not finished, and after nothing else. Null: as
  // that.
  DriverResult (*copy_start_behind)(void* self, uint64_t previous, const DriverCopy* copies,
                                    uint32_t count, uint64_t* job) = nullptr;
  // Work that is submitted to the context from now on waits for such a job, which is finished later
  // all the same. Null, or not supported: as if not called; work of others could not be made to
  // wait. Not called while a capture is known of.
  DriverResult (*copy_order)(void* self, uint64_t job) = nullptr;
  // Whether such a job has ended, with an error or without; copy_finish does not wait then. Null:
  // nobody knows.
  bool (*copy_done)(void* self, uint64_t job) = nullptr;
  // Waits until all of it is done. On an error nothing is known of the destinations.
  DriverResult (*copy_finish)(void* self, uint64_t job);

  // --- Order ----------------------------------------------------------------------------------
  DriverResult (*event_create)(void* self, uint64_t* event);
  DriverResult (*event_destroy)(void* self, uint64_t event);
  // The event completes when all work submitted to the stream before this call has. May give
  // invalid handle or context, or detached: the stream is gone; capture unsupported: it is being
  // captured.
  DriverResult (*event_record)(void* self, uint64_t event, uint64_t stream);
  // The same for all work of the context (cuCtxRecordEvent). May give not supported. Invalidates
  // captures in progress: the pool does not call it while it knows of one.
  DriverResult (*event_record_all)(void* self, uint64_t event);
  // Success: completed; not ready: not yet.
  DriverResult (*event_query)(void* self, uint64_t event);
  // Waits until all work of the context is done. Not called while a capture is known of.
  DriverResult (*synchronize)(void* self);
  // Waits until all work of other contexts is done that may touch the pool's memory: those of this
  // device, and of peers. Not ready: it is not by the deadline (of the wait clock). Not supported:
  // the driver cannot tell. Not called while a capture is known of. Null: there are none.
  DriverResult (*finish_others)(void* self, uint64_t deadline_ns) = nullptr;
  // From now on the thread's calls do not disturb captures of its own or of others; gives what was.
  DriverResult (*relax_capture)(void* self, int32_t* previous);
  DriverResult (*restore_capture)(void* self, int32_t previous);

  // --- Time -----------------------------------------------------------------------------------
  // Monotonic: what durations are measured with, and how old something is. Where a simulated card
  // has a clock of its own it is that one, which stands still while nothing happens.
  uint64_t (*now)(void* self);
  // Monotonic, and passes by itself: what deadlines of waits are made of. Null: as now.
  uint64_t (*wait_clock)(void* self) = nullptr;
  // Gives the processor away for about this long.
  void (*pause)(void* self, uint64_t nanoseconds);
};

// The time that deadlines are made of.
inline uint64_t WaitClock(const DriverTable* driver) {
  return driver->wait_clock != nullptr ? driver->wait_clock(driver->self)
                                       : driver->now(driver->self);
}

}  // namespace vramstow

#endif  // VRAMSTOW_ALLOCATOR_CORE_DRIVER_H_
