// A cause of an out-of-memory: a limit that the program has set to a part of the GPU.
#include <string>

#include "tools/analysis/advice/advice_words.h"
#include "tools/analysis/advice/rule.h"
#include "tools/analysis/facts/named_facts.h"

namespace vramstow {
namespace {

Found FindOwnLimit(const FailureMoment& moment) {
  if (!moment.is_limited()) return std::nullopt;
  const OutOfMemoryFacts& failure = moment.failure();
  const std::string free = AdviceText(failure.free_bytes);
  const std::string request = AdviceText(failure.requested_bytes);
  Cause cause;
  cause.bytes = failure.free_bytes;
  const std::string device = "device." + std::to_string(failure.device);
  // The start-up hook reports the line or the environment variable that set the limit.
  const auto limited_at = moment.facts().trace_metadata.find(device + ".limited_at");
  const bool is_known = limited_at != moment.facts().trace_metadata.end();
  cause.place = is_known ? limited_at->second : "the program's own limit";
  // If the program did not set the limit itself, the limit may be the option --limit of vramstow
  // run, which applies to the pool.
  const auto option = moment.facts().trace_metadata.find("option.limit");
  const bool is_of_pool = !is_known && option != moment.facts().trace_metadata.end() &&
                          !option->second.empty() && option->second != "0";
  if (is_of_pool) cause.place = "--limit=" + option->second;
  const auto allowed =
      FactNumber<uint64_t>(moment.facts().trace_metadata, device + ".allowed_bytes");
  cause.title = allowed.has_value()
                    ? "The program allows itself " + AdviceText(*allowed) + " of the card"
                    : "The program limits itself to a part of the GPU's memory";
  if (is_of_pool) cause.title = "--limit limits the pool to a part of the GPU's memory";
  if (is_of_pool && allowed.has_value()) {
    cause.title = "--limit allows the pool " + AdviceText(*allowed) + " of the card";
  }
  cause.evidence = (is_of_pool ? "The pool refused " : "PyTorch refused ") + request + " while " +
                   free +
                   " of the GPU's memory were free, but the program's limit does not allow it to "
                   "use them. It held " +
                   AdviceText(failure.reserved_bytes) + ".";
  cause.cost = "None, if no other process needs that part of the GPU's memory.";
  cause.action =
      "Pass a larger fraction to torch.cuda.set_per_process_memory_fraction(), or leave the call "
      "out. The same holds for per_process_memory_fraction in PYTORCH_CUDA_ALLOC_CONF.";
  if (is_of_pool) {
    cause.action = "Give --limit (VRAMSTOW_LIMIT) a larger value, or leave it out.";
  } else if (is_known && !limited_at->second.starts_with("per_process")) {
    cause.action =
        "Pass a larger fraction to torch.cuda.set_per_process_memory_fraction() at this line, or "
        "leave the call out.";
  } else if (is_known) {
    cause.action = "Give per_process_memory_fraction a larger value, or leave it out.";
  }
  return cause;
}

bool IsLimitedByProgram(const FailureMoment& moment) { return moment.is_limited(); }

constexpr Precondition kNeedsLimit = {
    .words = "PyTorch refused the request although the driver had the memory",
    .in_failure = IsLimitedByProgram};

}  // namespace

constinit const Rule kOwnLimit = {
    .rank = Rank::kMistake,
    .meaning = "the program limits itself to a part of the GPU's memory",
    .help =
        "PyTorch refused a request that the GPU could have served, because the program has set a "
        "limit for itself. Raise torch.cuda.set_per_process_memory_fraction(), or leave it out.",
    .needs = {kNeedsLimit},
    .cause = FindOwnLimit,
};

}  // namespace vramstow
