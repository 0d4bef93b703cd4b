#include "interpose/core/framework/collection.h"

#include <atomic>
#include <cstdio>
#include <cstring>

#include "base/keep_errno.h"
#include "base/typed_event.h"
#include "interpose/core/framework/framework.h"
#include "interpose/core/record/trace.h"
#include "interpose/core/runtime/process.h"

#define VRAMSTOW_IMPLEMENTATION
#include "include/vramstow/framework.h"
#include "include/vramstow/vramstow.h"

namespace vramstow {
namespace {

constexpr size_t kMaxText = 1024;  // the longest annotation

constinit std::atomic<const vramstow_framework_collector*> the_collector{nullptr};

bool Is(const char* value) {
  return std::strcmp(framework_context.process.options().collect, value) == 0;
}

int IsAskedFor() { return Is("on") ? 1 : 0; }

// Records an event kMark with a text that describes a garbage collection. docs/trace-format.md
// describes the form of the text.
int Mark(const char* text) {
  const KeepErrno keep_errno;
  return framework_context.trace.Mark(MarkKind::kMoment, text, 0) != 0 ? VRAMSTOW_OK
                                                                       : VRAMSTOW_NOT_ACTIVE;
}

int ReportCollection(const vramstow_framework_collection_about* about) {
  char text[kMaxText];
  std::snprintf(text, sizeof text, "vramstow.collection %s %d %llu %llu %llu",
                about->all != 0 ? "all" : "young", about->device,
                static_cast<unsigned long long>(about->freed_bytes),
                static_cast<unsigned long long>(about->duration_ns),
                static_cast<unsigned long long>(about->objects));
  return Mark(text);
}

int ReportCycle(const vramstow_framework_holding* cycle) {
  char text[kMaxText];
  std::snprintf(text, sizeof text, "vramstow.garbage %d %llu\n%s\n%s", cycle->device,
                static_cast<unsigned long long>(cycle->bytes), cycle->holder, cycle->about);
  return Mark(text);
}

int Serve(const vramstow_framework_collector* collector) {
  the_collector.store(collector, std::memory_order_release);
  return VRAMSTOW_OK;
}

constexpr vramstow_framework_collection kTable = {
    {VRAMSTOW_TABLE_COLLECTION, VRAMSTOW_TABLE_COLLECTION_VERSION,
     sizeof(vramstow_framework_collection), 0},
    IsAskedFor,
    ReportCollection,
    ReportCycle,
    Serve};

}  // namespace

bool CanCollect(void*) {
  const auto* collector = the_collector.load(std::memory_order_acquire);
  return collector != nullptr && collector->is_possible() != 0;
}

uint64_t CollectGarbage(void*, int device, bool all) {
  const auto* collector = the_collector.load(std::memory_order_acquire);
  if (collector == nullptr) return 0;
  const KeepErrno keep_errno;
  return collector->collect(device, all ? 1 : 0);
}

void AbandonCollectionAfterFork() { the_collector.store(nullptr, std::memory_order_release); }

const vramstow_table* CollectionTable() {
  if (!framework_context.process.Start() || Is("off")) return nullptr;
  return &kTable.head;
}

}  // namespace vramstow
