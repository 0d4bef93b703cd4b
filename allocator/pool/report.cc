#include "allocator/pool/report.h"

#include <cstdarg>
#include <cstdio>

#include "base/units.h"

namespace vramstow {
namespace {

struct Writer {
  char* text;
  size_t size;
  size_t used = 0;

  __attribute__((format(printf, 2, 3))) void Add(const char* format, ...) {
    if (used + 1 >= size) return;
    va_list arguments;
    va_start(arguments, format);
    const int length = vsnprintf(text + used, size - used, format, arguments);
    va_end(arguments);
    if (length < 0) return;
    used += static_cast<size_t>(length);
    if (used >= size) used = size - 1;
  }
};

}  // namespace

const char* LadderStepName(LadderStep step) {
  switch (step) {
    case LadderStep::kFences:
      return "fences";
    case LadderStep::kStitch:
      return "stitch";
    case LadderStep::kGrow:
      return "grow";
    case LadderStep::kTrimOthers:
      return "trim other streams";
    case LadderStep::kHooks:
      return "hooks";
    case LadderStep::kOffload:
      return "offload";
    case LadderStep::kWait:
      return "wait";
    case LadderStep::kCollect:
      return "collect garbage";
  }
  return "unknown";
}

size_t FormatReport(const OutOfMemoryReport& report, char* text, size_t size) {
  if (size == 0) return 0;
  Writer out{text, size};
  text[0] = '\0';
  out.Add("Out of memory: %s were asked for", FormatBytes(report.requested_bytes).text);
  if (report.stream != kUnknownStream) {
    out.Add(" on stream 0x%llx", static_cast<unsigned long long>(report.stream));
  }
  out.Add(
      ".\n%s are allocated in %llu blocks, %s reserved", FormatBytes(report.allocated_bytes).text,
      static_cast<unsigned long long>(report.live_blocks), FormatBytes(report.reserved_bytes).text);
  if (report.limit_bytes != 0) out.Add(" of a limit of %s", FormatBytes(report.limit_bytes).text);
  out.Add("; the device has %s of %s free.\n", FormatBytes(report.device_free_bytes).text,
          FormatBytes(report.device_total_bytes).text);
  out.Add("Cached: %s in %llu pieces, the largest %s", FormatBytes(report.free_bytes).text,
          static_cast<unsigned long long>(report.free_pieces),
          FormatBytes(report.largest_free_bytes).text);
  if (report.pending_bytes != 0) {
    out.Add("; %s more wait for work that has not finished",
            FormatBytes(report.pending_bytes).text);
  }
  out.Add(".\nTried:");
  bool any = false;
  for (int i = 0; i < kLadderSteps; ++i) {
    const OutOfMemoryReport::Tried& tried = report.tried[i];
    if (tried.times == 0) continue;
    out.Add("%s %s (%s)", any ? "," : "", LadderStepName(static_cast<LadderStep>(i)),
            FormatBytes(tried.bytes).text);
    any = true;
  }
  out.Add("%s. Last driver result: %d.\n", any ? "" : " nothing", report.driver_result);
  if (report.capturing) {
    out.Add("A stream was being captured; until the capture ends, no memory can be moved.\n");
  }
  for (int i = 0; i < report.holder_count; ++i) {
    const OutOfMemoryReport::Holder& holder = report.holders[i];
    out.Add("  %s at 0x%llx (%s)\n", FormatBytes(holder.bytes).text,
            static_cast<unsigned long long>(holder.address), LayerName(holder.layer));
  }
  return out.used;
}

}  // namespace vramstow
