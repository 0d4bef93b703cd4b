// A cause of an out-of-memory: other processes hold a large part of the GPU.
#include <algorithm>
#include <functional>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "tools/analysis/advice/advice_words.h"
#include "tools/analysis/advice/rule.h"
#include "tools/analysis/facts/context_request.h"

namespace vramstow {
namespace {

// A context with the modules of PyTorch's libraries takes no more than this.
constexpr uint64_t kContextBytes = uint64_t{768} << 20;
constexpr uint64_t kLeastForeign = uint64_t{512} << 20;

// Another process, as the driver's management library lists it.
struct Listed {
  std::string pid;
  uint64_t bytes = 0;
};

// Parses a fact of the trace, "1622:1803550720 1700:…". The process with the most bytes comes
// first.
std::vector<Listed> ListedOn(const Facts& facts, int device) {
  std::vector<Listed> listed;
  const auto fact =
      facts.trace_metadata.find("device." + std::to_string(device) + ".other_processes");
  if (fact == facts.trace_metadata.end()) return listed;
  std::istringstream words(fact->second);
  Listed one;
  while (std::getline(words >> std::ws, one.pid, ':') && words >> one.bytes) {
    listed.push_back(one);
  }
  std::ranges::stable_sort(listed, std::ranges::greater(), &Listed::bytes);
  return listed;
}

Found DescribeListedProcesses(const FailureMoment& moment, const std::vector<Listed>& listed) {
  Cause cause;
  std::string names;
  for (const Listed& one : listed) {
    cause.bytes += one.bytes;
    names +=
        (names.empty() ? "process " : ", process ") + one.pid + " (" + AdviceText(one.bytes) + ")";
  }
  if (!moment.IsLarge(cause.bytes)) return std::nullopt;
  cause.place = "process " + listed.front().pid;
  cause.holder = cause.place;
  cause.title = listed.size() == 1 ? "Another process uses a part of the GPU's memory"
                                   : "Other processes use a part of the GPU's memory";
  cause.evidence = "When the request failed, the driver listed " + names +
                   " on the GPU in addition to this process; each amount includes the context of "
                   "its process.";
  cause.cost = "None for this program.";
  cause.action = "End process " + listed.front().pid +
                 ", or wait for it, or choose another GPU with CUDA_VISIBLE_DEVICES.";
  return cause;
}

// True if the process had neither a context nor memory on the GPU when it asked for its first
// context.
bool IsFirstContext(const OutOfMemoryFacts& failure) {
  return IsForContext(failure) && failure.free_from == FreeKnownFrom::kNothing &&
         failure.allocated_bytes == 0;
}

std::optional<uint64_t> TotalOf(const FailureMoment& moment) {
  for (const DeviceFacts& device : moment.facts().devices) {
    if (device.device == moment.failure().device) return device.total_bytes;
  }
  return std::nullopt;
}

// Returns a cause whose evidence is not written yet, for processes that the driver did not list.
Cause OfUnlistedProcesses(uint64_t bytes) {
  Cause cause;
  cause.bytes = bytes;
  cause.is_estimate = true;
  cause.title = "Other processes use much of the GPU's memory";
  cause.place = "another process";
  cause.holder = cause.place;
  cause.cost = "None for this program.";
  cause.action =
      "nvidia-smi lists the processes on the GPU: end the other one, or wait for it, or choose "
      "another GPU with CUDA_VISIBLE_DEVICES.";
  return cause;
}

// Explains why the first context of the process had no room. The process had nothing on the GPU, so
// others hold all but what a context may take.
Found WithoutRoomForContext(uint64_t total) {
  if (total <= kContextBytes) return std::nullopt;
  Cause cause = OfUnlistedProcesses(total - kContextBytes);
  cause.evidence =
      "The driver had no room for a context. This process had no memory of the GPU, "
      "which has " +
      AdviceText(total) + ", and a context with its modules takes at most " +
      AdviceText(kContextBytes) +
      " of that; other processes probably hold the rest. If nvidia-smi lists none, look at the "
      "limit of the address space (ulimit -v).";
  return cause;
}

Found FindOtherProcesses(const FailureMoment& moment) {
  const OutOfMemoryFacts& failure = moment.failure();
  if (IsForContext(failure)) return WithoutRoomForContext(TotalOf(moment).value_or(0));
  if (failure.free_from == FreeKnownFrom::kNothing || moment.is_limited()) return std::nullopt;
  const std::vector<Listed> listed = ListedOn(moment.facts(), failure.device);
  if (!listed.empty()) return DescribeListedProcesses(moment, listed);
  const std::optional<uint64_t> total = TotalOf(moment);
  if (!total.has_value()) return std::nullopt;
  const uint64_t outside = *total - std::min(*total, moment.room());
  const uint64_t foreign = outside - std::min(outside, kContextBytes);
  if (foreign < kLeastForeign || !moment.IsLarge(foreign)) return std::nullopt;
  Cause cause = OfUnlistedProcesses(foreign);
  cause.evidence = AdviceText(outside) + " are neither free nor this program's blocks, of the " +
                   AdviceText(*total) +
                   " that the GPU has. A context with its modules takes at most " +
                   AdviceText(kContextBytes) + " of that; the rest belongs to another process.";
  return cause;
}

bool IsCardKnown(const FailureMoment& moment) {
  if (IsForContext(moment.failure())) {
    return IsFirstContext(moment.failure()) && TotalOf(moment).has_value();
  }
  return moment.failure().free_from != FreeKnownFrom::kNothing && !moment.is_limited();
}

constexpr Precondition kNeedsRoomOfCard = {
    .words =
        "the size of the GPU and its free memory are known, and the program sets itself no limit; "
        "or its size is known, and it had no room for the first context of the process",
    .in_failure = IsCardKnown};

}  // namespace

constinit const Rule kOtherProcesses = {
    .rank = Rank::kMistake,
    .meaning = "other processes use much of the GPU's memory",
    .help =
        "Much of the GPU's memory is neither free nor this program's: more than a context takes. "
        "Another process uses it. A process that finds no room for its context has nothing on the "
        "GPU, so others hold it. nvidia-smi lists the processes on a GPU.",
    .needs = {kNeedsRoomOfCard},
    .cause = FindOtherProcesses,
};

}  // namespace vramstow
