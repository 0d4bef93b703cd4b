#include "interpose/core/framework/attachment.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>

#include <atomic>
#include <cstdio>
#include <cstring>

#include "base/event.h"
#include "base/keep_errno.h"
#include "interpose/core/framework/framework.h"
#include "interpose/core/record/observed_memory.h"
#include "interpose/core/record/trace.h"
#include "interpose/core/runtime/driver.h"
#include "interpose/core/runtime/process.h"
#include "interpose/core/runtime/settings.h"
#include "interpose/core/runtime/this_thread.h"

#define VRAMSTOW_IMPLEMENTATION
#include "include/vramstow/framework.h"
#include "include/vramstow/vramstow.h"

namespace vramstow {
namespace {

constinit std::atomic<bool> is_attached{false};

// Binds the driver only if it is loaded: a program that uses CUDA has opened it already.
void BindDriver() {
  void* const library = Shim().open_library("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
  if (library == nullptr) return;
  framework_context.driver.Bind(Shim(), static_cast<const link_map*>(library));
}

int Begin(const char* folder, char* path, size_t size) {
  if (folder == nullptr || path == nullptr || size == 0) return VRAMSTOW_INVALID;
  const KeepErrno keep_errno;
  BindDriver();
  framework_context.observed.AbandonAfterFork();  // forgets the counts of an earlier trace
  const int error = framework_context.trace.OpenIn(folder);
  if (error == EBUSY) return VRAMSTOW_BUSY;
  if (error != 0) {
    std::snprintf(path, size, "%s", error == ENOSPC ? "the disk is full" : std::strerror(error));
    return VRAMSTOW_INVALID;
  }
  std::snprintf(path, size, "%s", framework_context.trace.path());
  framework_context.trace.Describe("process.attached", "1");
  is_attached.store(true, std::memory_order_relaxed);
  framework_context.start_service();
  return VRAMSTOW_OK;
}

bool IsBlockEvent(const vramstow_framework_event& reported) {
  return reported.kind == VRAMSTOW_EVENT_ALLOCATE || reported.kind == VRAMSTOW_EVENT_FREE;
}

Event EventOf(const vramstow_framework_event& reported, Layer layer) {
  Event event;
  event.kind = reported.kind == VRAMSTOW_EVENT_ALLOCATE ? EventKind::kAllocate : EventKind::kFree;
  event.layer = layer;
  event.memory = MemoryKind::kDevice;
  event.device = static_cast<int16_t>(reported.device);
  event.address = reported.address;
  event.size = reported.size;
  event.requested = reported.requested;
  event.stream = reported.stream;
  return event;
}

int CodeOf(uint64_t sequence) { return sequence != 0 ? VRAMSTOW_OK : VRAMSTOW_NOT_ACTIVE; }

int Reserve(const vramstow_framework_event* reported) {
  if (!IsBlockEvent(*reported)) return VRAMSTOW_INVALID;
  Trace& trace = framework_context.trace;
  Event event = EventOf(*reported, Layer::kPool);
  return CodeOf(trace.RecordFrameworkSegment(trace.observer(), &event));
}

int Adopt(const vramstow_framework_event* reported) {
  if (!IsBlockEvent(*reported)) return VRAMSTOW_INVALID;
  Trace& trace = framework_context.trace;
  ObservedMemory& observed = framework_context.observed;
  if (reported->kind == VRAMSTOW_EVENT_ALLOCATE) {
    observed.Allocate(reported->device, reported->size, reported->requested);
  } else {
    observed.Free(reported->device, reported->size, reported->requested);
  }
  Event event = EventOf(*reported, Layer::kFramework);
  return CodeOf(trace.RecordAdoptedBlock(trace.observer(), &event));
}

int Adopted(int device, uint64_t blocks, uint64_t bytes) {
  char key[48];
  char value[48];
  std::snprintf(key, sizeof key, "device.%d.adopted", device);
  std::snprintf(value, sizeof value, "%llu %llu", static_cast<unsigned long long>(blocks),
                static_cast<unsigned long long>(bytes));
  framework_context.trace.Describe(key, value);
  return VRAMSTOW_OK;
}

int End() {
  if (!framework_context.trace.is_open()) return VRAMSTOW_NOT_ACTIVE;
  const KeepErrno keep_errno;
  is_attached.store(false, std::memory_order_relaxed);
  framework_context.end_service();
  framework_context.trace.Close();
  framework_context.observed.AbandonAfterFork();
  return VRAMSTOW_OK;
}

constexpr vramstow_framework_attachment kTable = {
    {VRAMSTOW_TABLE_ATTACHMENT, VRAMSTOW_TABLE_ATTACHMENT_VERSION,
     sizeof(vramstow_framework_attachment), 0},
    Begin,
    Reserve,
    Adopt,
    Adopted,
    End};

// True if the shim is preloaded. Its names are then in the program's global scope. RTLD_DEFAULT is
// not used, because it would also search the shim's own scope.
bool IsPreloaded() {
  void* const program = Shim().open_library(nullptr, RTLD_LAZY);
  return program != nullptr && Shim().find_symbol(program, "vramstow_version") != nullptr;
}

}  // namespace

const vramstow_table* AttachmentTable() {
  Process& process = framework_context.process;
  if (!process.Start() || IsPreloaded()) return nullptr;
  return &kTable.head;
}

bool IsAttached() { return is_attached.load(std::memory_order_relaxed); }

}  // namespace vramstow
