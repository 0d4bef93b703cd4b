#include "tools/analysis/advice/memory_in_place.h"

#include <algorithm>
#include <string>

#include "base/options.h"
#include "tools/analysis/advice/advice_words.h"
#include "tools/analysis/advice/places.h"
#include "tools/analysis/facts/named_facts.h"

namespace vramstow {
namespace {

std::string KeyOf(const FailureMoment& moment, const char* what) {
  return "device." + std::to_string(moment.failure().device) + "." + what;
}

}  // namespace

bool IsLastWithOffload(const FailureMoment& moment) {
  const Facts& facts = moment.facts();
  OffloadSetting setting;
  if (!ParseOffload(FactText(facts.trace_metadata, "option.offload"), &setting)) return false;
  return setting.automatic && !moment.is_peak() && !moment.is_limited() &&
         moment.event() == facts.out_of_memory.back().event;
}

bool WasCapturing(const FailureMoment& moment) {
  return FactText(moment.facts().trace_metadata, KeyOf(moment, "refused_in_capture")) == "1";
}

uint64_t BytesInPlace(const FailureMoment& moment) {
  if (!IsLastWithOffload(moment)) return 0;
  return FactNumber<uint64_t>(moment.facts().trace_metadata, KeyOf(moment, "graph_bytes"))
      .value_or(0);
}

uint64_t MovableBytes(const FailureMoment& moment) {
  const uint64_t stay = moment.away_bytes() + BytesInPlace(moment);
  return moment.live_bytes() - std::min(moment.live_bytes(), stay);
}

bool FailedByMemoryInPlace(const FailureMoment& moment) {
  return BytesInPlace(moment) >= moment.lacking() && MovableBytes(moment) < moment.lacking() &&
         BytesInPlace(moment) != 0 && !WasCapturing(moment);
}

Cause OfMemoryInPlace(const FailureMoment& moment) {
  Cause cause;
  cause.bytes = BytesInPlace(moment);
  cause.is_estimate = true;
  cause.place = PlaceOfRequest(moment);
  cause.evidence = AdviceText(moment.lacking()) + " were missing for the request of " +
                   AdviceText(moment.requested()) + ". ";
  if (moment.away_bytes() != 0) {
    cause.evidence += AdviceText(moment.away_bytes()) + " were on the host. ";
  }
  return cause;
}

}  // namespace vramstow
