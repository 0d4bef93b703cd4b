// A cause of an out-of-memory: a limit that the program has set to a part of the GPU.
#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "tools/analysis/advice/advice_words.h"
#include "tools/analysis/advice/rule.h"
#include "tools/analysis/facts/named_facts.h"

namespace vramstow {
namespace {

// What set the limit.
enum class Setter : uint8_t {
  kUnknown,
  kOption,    // --limit of vramstow run
  kFunction,  // vramstow_set_limit() of the program
  kCommand,   // vramstow ctl limit
  kFraction,  // set_per_process_memory_fraction()
  kVariable,  // per_process_memory_fraction in PYTORCH_CUDA_ALLOC_CONF
};

bool IsOfPool(Setter setter) {
  return setter == Setter::kOption || setter == Setter::kFunction || setter == Setter::kCommand;
}

Setter SetterOf(const std::map<std::string, std::string>& facts, const std::string& device) {
  // The start-up hook reports the line or the environment variable, and the pool reports its own
  // functions. If neither did, the limit may be the option --limit, which applies to the pool.
  const std::string at = FactText(facts, device + ".limited_at");
  if (at.empty()) {
    const std::string option = FactText(facts, "option.limit");
    return option.empty() || option == "0" ? Setter::kUnknown : Setter::kOption;
  }
  if (IsLimitOfPool(facts, device + ".limited_by")) {
    const bool is_command = FactText(facts, device + ".limited_by").ends_with("ctl limit");
    return is_command ? Setter::kCommand : Setter::kFunction;
  }
  return at.starts_with("per_process") ? Setter::kVariable : Setter::kFraction;
}

std::string TitleOf(Setter setter, std::optional<uint64_t> allowed) {
  const std::string bytes = allowed.has_value() ? AdviceText(*allowed) : "";
  switch (setter) {
    case Setter::kOption:
      return allowed.has_value() ? "--limit allows the pool " + bytes + " of the card"
                                 : "--limit limits the pool to a part of the GPU's memory";
    case Setter::kCommand:
      return allowed.has_value() ? "vramstow ctl limit allows the pool " + bytes + " of the card"
                                 : "vramstow ctl limited the pool to a part of the GPU's memory";
    default:
      return allowed.has_value() ? "The program allows itself " + bytes + " of the card"
                                 : "The program limits itself to a part of the GPU's memory";
  }
}

std::string ActionOf(Setter setter) {
  switch (setter) {
    case Setter::kOption:
      return "Give --limit (VRAMSTOW_LIMIT) a larger value, or leave it out.";
    case Setter::kFunction:
      return "Pass a larger limit to vramstow_set_limit() (vramstow.set_limit() in Python), or "
             "leave the call out.";
    case Setter::kCommand:
      return "Give vramstow ctl PID limit a larger value, or none.";
    case Setter::kVariable:
      return "Give per_process_memory_fraction a larger value, or leave it out.";
    case Setter::kFraction:
      return "Pass a larger fraction to torch.cuda.set_per_process_memory_fraction() at this "
             "line, or leave the call out.";
    case Setter::kUnknown:
      return "Pass a larger fraction to torch.cuda.set_per_process_memory_fraction(), or leave "
             "the call out. The same holds for per_process_memory_fraction in "
             "PYTORCH_CUDA_ALLOC_CONF.";
  }
  return "";
}

Found FindOwnLimit(const FailureMoment& moment) {
  if (!moment.is_limited()) return std::nullopt;
  const OutOfMemoryFacts& failure = moment.failure();
  const auto& facts = moment.facts().trace_metadata;
  const std::string device = "device." + std::to_string(failure.device);
  const Setter setter = SetterOf(facts, device);
  Cause cause;
  cause.bytes = failure.free_bytes;
  cause.place = FactText(facts, device + ".limited_at");
  if (setter == Setter::kOption) cause.place = "--limit=" + FactText(facts, "option.limit");
  if (setter == Setter::kUnknown) cause.place = "the program's own limit";
  cause.title = TitleOf(setter, FactNumber<uint64_t>(facts, device + ".allowed_bytes"));
  cause.evidence = (IsOfPool(setter) ? "The pool refused " : "PyTorch refused ") +
                   AdviceText(failure.requested_bytes) + " while " +
                   AdviceText(failure.free_bytes) +
                   " of the GPU's memory were free, but the program's limit does not allow it to "
                   "use them. It held " +
                   AdviceText(failure.reserved_bytes) + ".";
  cause.cost = "None, if no other process needs that part of the GPU's memory.";
  cause.action = ActionOf(setter);
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
        "limit for itself. Raise torch.cuda.set_per_process_memory_fraction(), or leave it out. "
        "The "
        "same holds for --limit and vramstow_set_limit() of vramstow's pool.",
    .needs = {kNeedsLimit},
    .cause = FindOwnLimit,
};

}  // namespace vramstow
