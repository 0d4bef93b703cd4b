// A cause of an out-of-memory: the limit that --offload sets to the memory on the host was reached.
#include <string>

#include "absl/strings/str_cat.h"
#include "base/options.h"
#include "tools/analysis/advice/advice_words.h"
#include "tools/analysis/advice/memory_in_place.h"
#include "tools/analysis/advice/rule.h"
#include "tools/analysis/facts/named_facts.h"

namespace vramstow {
namespace {

constexpr uint64_t kChunk = uint64_t{2} << 20;
constexpr uint64_t kStep = uint64_t{16} << 20;  // of the limit that is recommended

// Returns the limit of the option; 0 if the user set none, or memory moves only on request.
uint64_t HostLimitOf(const Facts& facts) {
  OffloadSetting setting;
  const std::string text = FactText(facts.trace_metadata, "option.offload");
  if (!text.starts_with("auto") || !ParseOffload(text, &setting)) return 0;
  return setting.host_bytes;
}

// True if there was no room on the host for another chunk, and enough memory on the GPU to move.
bool IsHostLimitReached(const FailureMoment& moment) {
  const uint64_t limit = HostLimitOf(moment.facts());
  return limit != 0 && !moment.is_peak() && !moment.is_limited() && moment.away_bytes() != 0 &&
         moment.away_bytes() + 2 * kChunk > limit && MovableBytes(moment) >= moment.lacking();
}

Found FindHostLimit(const FailureMoment& moment) {
  const std::string limit = AdviceText(HostLimitOf(moment.facts()));
  const uint64_t enough = moment.away_bytes() + moment.lacking();
  const uint64_t mebibytes = (enough + kStep - 1) / kStep * (kStep >> 20);
  Cause cause;
  cause.bytes = MovableBytes(moment);
  cause.is_estimate = true;
  cause.place =
      absl::StrCat("--offload=", FactText(moment.facts().trace_metadata, "option.offload"));
  cause.title = absl::StrCat("The limit of ", limit, " of memory on the host (host=) was reached");
  cause.evidence =
      absl::StrCat(AdviceText(moment.away_bytes()),
                   " were on the host, and --offload may move no more than the limit. Another ",
                   AdviceText(moment.lacking()), " had to be moved for the request, and ",
                   AdviceText(cause.bytes), " of live memory on the GPU could have moved.");
  cause.cost = "Host memory; work that uses this memory takes longer.";
  cause.action = absl::StrCat("Give --offload a larger limit, at least host=", mebibytes,
                              "MiB for this request and more for later ones, or leave host= out.");
  return cause;
}

constexpr Precondition kNeedsHostLimit = {
    .words = "--offload=auto has a limit host=, and had moved memory up to this limit",
    .in_failure = IsHostLimitReached};

}  // namespace

constinit const Rule kHostLimit = {
    .rank = Rank::kMistake,
    .meaning = "the limit host= of --offload was reached",
    .help =
        "Memory was moved to the host up to the limit that --offload=auto,host=SIZE sets, and no "
        "more could be moved. Give host= a larger size, or leave it out.",
    .needs = {kNeedsHostLimit},
    .cause = FindHostLimit,
};

}  // namespace vramstow
