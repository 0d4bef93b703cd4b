#include "interpose/core/framework/census.h"

#include <cstdio>
#include <iterator>

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

constexpr size_t kMostText = 1024;  // as long as an annotation may be
constexpr const char* kReasons[] = {"out_of_memory", "asked", "told"};
constexpr const char* kRoles[] = {"other",    "parameter",       "buffer",
                                  "gradient", "optimizer_state", "saved"};
static_assert(std::size(kReasons) == VRAMSTOW_CENSUS_TOLD + 1);
static_assert(std::size(kRoles) == VRAMSTOW_ROLE_SAVED + 1);

// What docs/trace-format.md says of such marks.
int Mark(const char* text, uint64_t number) {
  const KeepErrno keep_errno;
  const uint64_t marked = framework_context.trace.Mark(MarkKind::kMoment, text, number);
  return marked != 0 ? VRAMSTOW_OK : VRAMSTOW_NOT_ACTIVE;
}

int Begin(const vramstow_framework_census_about* about) {
  if (about->reason < 0 || about->reason > VRAMSTOW_CENSUS_TOLD) return VRAMSTOW_INVALID;
  char text[kMostText];
  std::snprintf(text, sizeof text, "vramstow.census %s %d %llu %llu %llu %llu\n%s",
                kReasons[about->reason], about->device,
                static_cast<unsigned long long>(about->found_bytes),
                static_cast<unsigned long long>(about->live_bytes),
                static_cast<unsigned long long>(about->duration_ns),
                static_cast<unsigned long long>(about->objects),
                about->why_ended == nullptr ? "" : about->why_ended);
  return Mark(text, 0);
}

int Hold(const vramstow_framework_holding* holding) {
  if (holding->role < 0 || holding->role > VRAMSTOW_ROLE_SAVED) return VRAMSTOW_INVALID;
  char text[kMostText];
  std::snprintf(text, sizeof text, "vramstow.holder %s %d %llu\n%s\n%s", kRoles[holding->role],
                holding->device, static_cast<unsigned long long>(holding->bytes), holding->holder,
                holding->about);
  return Mark(text, holding->address);
}

constexpr vramstow_framework_census kTable = {VRAMSTOW_FRAMEWORK_CENSUS_VERSION,
                                              sizeof(vramstow_framework_census), Begin, Hold};

}  // namespace

const vramstow_framework* CensusTable() {
  Process& process = framework_context.process;
  if (!process.Start() || !process.options().trace) return nullptr;
  return reinterpret_cast<const vramstow_framework*>(&kTable);
}

}  // namespace vramstow
