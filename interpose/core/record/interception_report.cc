#include "interpose/core/record/interception_report.h"

#include <unistd.h>

#include <cstdarg>
#include <cstdio>
#include <cstring>

#include "base/keep_errno.h"
#include "interpose/core/record/bypass.h"
#include "interpose/core/record/facts.h"
#include "interpose/core/runtime/driver.h"
#include "interpose/core/runtime/log.h"
#include "interpose/core/runtime/process.h"
#include "interpose/core/runtime/this_thread.h"

namespace vramstow {
namespace {

constexpr const char* kWayNames[kVramstowWays] = {"a direct link", "dlsym",
                                                  "dlsym in the global scope", "cuGetProcAddress"};

// A line that is composed of pieces; text that does not fit is cut.
struct Line {
  char text[900] = {};
  size_t length = 0;

  [[gnu::format(printf, 2, 3)]] void Add(const char* format, ...) {
    va_list arguments;
    va_start(arguments, format);
    const int added = std::vsnprintf(text + length, sizeof text - length, format, arguments);
    va_end(arguments);
    if (added > 0) length += static_cast<size_t>(added);
    if (length >= sizeof text) length = sizeof text - 1;
  }
};

}  // namespace

void InterceptionReport::NoteLookUp(LookUp outcome, VramstowWay way, const void* caller) {
  if (outcome == LookUp::kOtherDriver) other_driver_.store(true, std::memory_order_relaxed);
  if (outcome != LookUp::kReplaced || !process_.options().coverage) return;
  if (const CallerObject* object = callers_.FindDirect(caller)) {
    counters_.look_ups[object->index][way].fetch_add(1, std::memory_order_relaxed);
  }
}

void InterceptionReport::NoteProcAddress(LookUp outcome, const char* name, int version,
                                         const void* caller) {
  const KeepErrno keep_errno;
  if (outcome == LookUp::kUnknownVersion) NoteUnknown(name, version);
  NoteLookUp(outcome, kVramstowProcAddress, caller);
}

void InterceptionReport::NoteUnknown(const char* name, int version) {
  int expected = 0;
  if (unknown_version_.compare_exchange_strong(expected, version)) {
    std::snprintf(unknown_name_, sizeof unknown_name_, "%s", name);
  }
}

void InterceptionReport::NoteCall(const CallSite& site) {
  if (!process_.options().coverage) return;
  const KeepErrno keep_errno;
  if (const CallerObject* object = callers_.FindDirect(site.return_address)) {
    counters_.calls_by_object[object->index][static_cast<size_t>(site.hook)].fetch_add(
        1, std::memory_order_relaxed);
  }
}

bool InterceptionReport::WasSeen(size_t object) const {
  for (const std::atomic<uint32_t>& count : counters_.look_ups[object]) {
    if (count.load(std::memory_order_relaxed) != 0) return true;
  }
  for (const std::atomic<uint32_t>& count : counters_.calls_by_object[object]) {
    if (count.load(std::memory_order_relaxed) != 0) return true;
  }
  return false;
}

// True if vramstow saw driver calls of the library at this address, or if the library makes none.
bool InterceptionReport::WasSeenAt(const void* address) const {
  const CallerObject* object = callers_.Find(address);
  return object != nullptr && (object->role != CallerRole::kApplication || WasSeen(object->index));
}

void InterceptionReport::ReportObject(const CallerObject& object, size_t index) const {
  Line line;
  line.Add("  %.300s", object.path);
  const char* separator = ": by ";
  bool looked_up = false;
  for (int way = 0; way < kVramstowWays; ++way) {
    const uint32_t count = counters_.look_ups[index][way].load(std::memory_order_relaxed);
    if (count == 0) continue;
    line.Add("%s%s (%u function%s)", separator, kWayNames[way], count, count == 1 ? "" : "s");
    separator = ", ";
    looked_up = true;
  }
  // The dynamic linker resolves an exported symbol at the first call only. So a library that calls
  // a function without a look-up is linked with the driver, or got the function from another
  // library.
  if (!looked_up) line.Add(": by a direct link, or with functions that another library looked up");
  separator = "; called ";
  for (size_t hook = 0; hook < kHookCount; ++hook) {
    const uint32_t count = counters_.calls_by_object[index][hook].load(std::memory_order_relaxed);
    if (count == 0) continue;
    line.Add("%s%s %u×", separator, RowOf(static_cast<Hook>(hook)).symbol, count);
    separator = ", ";
  }
  Log("%s", line.text);
}

int InterceptionReport::ReportBypasses() const {
  int lines = 0;
  if (other_driver_.load(std::memory_order_relaxed)) {
    Log("  a second driver library: only the first one, %.300s, is observed", driver_.path());
    ++lines;
  }
  if (const int version = unknown_version_.load(std::memory_order_relaxed)) {
    Log("  %s of CUDA %d.%d: this version of vramstow does not know this form of the function",
        unknown_name_, version / 1000, version % 1000 / 10);
    ++lines;
  }
  return lines + ReportUnseenLibraries(
                     Shim(),
                     [](const void* self, const void* address) {
                       return static_cast<const InterceptionReport*>(self)->WasSeenAt(address);
                     },
                     this);
}

void InterceptionReport::Report() const {
  const char* driver = driver_.path();
  Log("interception report of process %ld (%.100s), driver %.300s:", static_cast<long>(getpid()),
      ProgramName(), driver == nullptr ? "never called through vramstow" : driver);
  for (size_t i = 0; i < callers_.size() && i < kMaxCallerObjects; ++i) {
    const CallerObject* object = callers_.at(i);
    if (object != nullptr && WasSeen(i)) ReportObject(*object, i);
  }
  Log("may have bypassed vramstow:");
  if (ReportBypasses() == 0) Log("  no library that is loaded now");
}

}  // namespace vramstow
