// Advice if empty_cache() releases memory that is allocated from the device again.
#include <string>
#include <vector>

#include "tools/analysis/advice/advice_words.h"
#include "tools/analysis/advice/rule.h"

namespace vramstow {
namespace {

constexpr uint64_t kLeastShareOfTime = 100;  // the calls must take 1/100 of the time

// The calls of empty_cache() by the program's own lines. Libraries also empty the cache, and so
// does PyTorch itself, for example when cuDNN tries its algorithms.
struct OwnCalls {
  uint64_t calls = 0;
  uint64_t given = 0;
  uint64_t again = 0;
  uint64_t took_ns = 0;
  uint64_t begin_ns = 0;
  uint64_t end_ns = 0;
  std::vector<std::string> lines;

  void Add(const FlushFacts& flush) {
    if (calls == 0) begin_ns = flush.time_ns;
    end_ns = flush.time_ns + flush.duration_ns;
    ++calls;
    given += flush.bytes;
    again += flush.taken_again_bytes;
    took_ns += flush.duration_ns;
    lines.push_back(flush.line);
  }
};

OwnCalls OwnCallsOf(const Evidence& evidence) {
  OwnCalls own;
  for (const FlushFacts& flush : evidence.facts().cache.flushes) {
    if (flush.by == "empty_cache" && !flush.line.empty()) own.Add(flush);
  }
  return own;
}

// The advice is given if the calls of empty_cache() take at least a hundredth of the time between
// the first and the last of them.
Hint FindStopEmptyCache(const Evidence& evidence) {
  const OwnCalls own = OwnCallsOf(evidence);
  if (own.again * 2 < own.given) return std::nullopt;
  const uint64_t span_ns = own.end_ns - own.begin_ns;
  if (own.took_ns * kLeastShareOfTime < span_ns) return std::nullopt;
  return AdviceFacts{
      .title = "empty_cache() returns memory that is then requested again",
      .evidence =
          std::to_string(own.calls) + " calls gave back " + AdviceText(own.given) + ", of which " +
          AdviceText(own.again) + " were requested from the device again. The calls took " +
          AdvicePercent(own.took_ns, span_ns) + " of the time from the first call to the last one.",
      .cost = "The allocator may reserve more memory, because it keeps what the calls gave back.",
      .action = "Leave out the calls of torch.cuda.empty_cache() at " + FirstNames(own.lines) + ".",
      .place = own.lines.front(),
      .change = {.keeps_cache = true}};
}

bool HasOwnCalls(const Evidence& evidence) { return OwnCallsOf(evidence).calls > 1; }

constexpr Precondition kNeedsOwnCalls = {
    .words = "lines of the program itself called empty_cache() twice or more",
    .in_job = HasOwnCalls};

}  // namespace

constinit const Rule kStopEmptyCache = {
    .rank = Rank::kUrgent,
    .meaning = "`empty_cache()` returns memory that is then requested from the device again",
    .help =
        "Source lines of the program called torch.cuda.empty_cache() at least twice, half of the "
        "returned memory was requested from the device again, and the calls took a hundredth of "
        "the time or more. Each such call waits for all work. Leave the calls out. The "
        "cost says how much more memory the allocator then reserves. Calls by PyTorch itself or by "
        "a library do not count.",
    .needs = {kNeedsOwnCalls},
    .advice = FindStopEmptyCache,
    .saves = false,
    .is_fault = true,
};

}  // namespace vramstow
