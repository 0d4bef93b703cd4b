// Finds the causes of differences between a GPU and a simulated run, by rules that are tried in
// order.
#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include "absl/strings/str_cat.h"
#include "base/units.h"
#include "tools/analysis/fidelity/fidelity.h"

namespace vramstow {
namespace {

// The workspace that PyTorch allocates for cuBLAS by default, and the one on GPUs of compute
// capability 9.0.
constexpr uint64_t kWorkspace = 8519680;
constexpr uint64_t kLargeWorkspace = 32 * kMiB;
// A larger difference cannot be an error in the model of a library's own workspace.
constexpr uint64_t kMaxLibraryWorkspace = 1 * kMiB;
constexpr uint64_t kMaxMultiprocessors = 1024;
// The limit for staging memory that is recognised by its size alone, because no kernel is named.
constexpr uint64_t kMaxStaging = 8 * kMiB;

std::vector<uint64_t> AllocatedIn(const std::vector<SequenceItem>& items) {
  std::vector<uint64_t> sizes;
  for (const SequenceItem& item : items) {
    if (!item.is_free) sizes.push_back(item.bytes);
  }
  return sizes;
}

// Returns the ratio of the real GPU's sizes to the simulated sizes. Returns nullopt unless both
// sides have the same number of sizes and all ratios are equal.
std::optional<double> RatioOf(const std::vector<uint64_t>& card,
                              const std::vector<uint64_t>& rehearsed) {
  if (card.empty() || card.size() != rehearsed.size()) return std::nullopt;
  const double ratio =
      static_cast<double>(card.front()) / static_cast<double>(std::max<uint64_t>(rehearsed[0], 1));
  for (size_t i = 1; i < card.size(); ++i) {
    const double one =
        static_cast<double>(card[i]) / static_cast<double>(std::max<uint64_t>(rehearsed[i], 1));
    if (std::abs(one - ratio) > 0.02 * ratio) return std::nullopt;
  }
  return ratio;
}

bool IsWorkspaceSize(uint64_t bytes) { return bytes == kWorkspace || bytes == kLargeWorkspace; }

SequenceCause UnknownCause(uint64_t events) {
  return {"unknown", "no setting that vramstow knows explains it", {}, events};
}

// Finds the cause of one difference.
class PartCause {
 public:
  PartCause(const SequencePart& part, const Multiprocessors& multiprocessors)
      : card_(AllocatedIn(part.on_card)),
        rehearsed_(AllocatedIn(part.rehearsed)),
        stages_(part.stages),
        multiprocessors_(multiprocessors) {}

  SequenceCause Find() const {
    for (const auto rule : {&PartCause::Workspace, &PartCause::Staging, &PartCause::Precision,
                            &PartCause::SmallStaging, &PartCause::LibraryWorkspace}) {
      const std::optional<SequenceCause> cause = (this->*rule)();
      if (cause.has_value()) return *cause;
    }
    return UnknownCause(0);
  }

 private:
  std::optional<SequenceCause> Workspace() const {
    const bool on_card = std::ranges::any_of(card_, IsWorkspaceSize);
    const bool rehearsed = std::ranges::any_of(rehearsed_, IsWorkspaceSize);
    const auto only = [](const std::vector<uint64_t>& sizes) {
      return !sizes.empty() && std::ranges::all_of(sizes, IsWorkspaceSize);
    };
    if (on_card && rehearsed && card_ != rehearsed_) {
      const bool large = std::ranges::find(card_, kLargeWorkspace) != card_.end();
      return SequenceCause{
          "card",
          absl::StrCat("cuBLAS's workspace is the one of ", large ? "" : "another card than ",
                       "compute capability 9.0, or CUBLAS_WORKSPACE_CONFIG is set"),
          large ? std::vector<std::string>{"cc=9.0"} : std::vector<std::string>(), 0};
    }
    if (only(rehearsed_) && card_.empty()) {
      return SequenceCause{
          "release",
          "the simulated run allocates cuBLAS's workspace repeatedly, while the real GPU's process "
          "keeps one: PyTorch 2.15 allocates it for each call, earlier releases once; simulate "
          "with the release that ran on the real GPU",
          {},
          0};
    }
    if (only(card_) && rehearsed_.empty()) {
      return SequenceCause{
          "workspace",
          "on the real GPU there is a workspace of cuBLAS that the simulated run does not have: "
          "another release, CUBLAS_WORKSPACE_CONFIG, or work before the recording",
          {},
          0};
    }
    return std::nullopt;
  }

  std::optional<SequenceCause> Precision() const {
    const std::optional<double> ratio = RatioOf(card_, rehearsed_);
    if (!ratio.has_value()) return std::nullopt;
    for (const double times : {2.0, 4.0}) {
      if (std::abs(*ratio - times) < 0.02 * times) {
        return SequenceCause{"precision",
                             absl::StrCat("the real GPU's are ", times,
                                          " times as large: the simulated run uses a lower "
                                          "precision (autocast, dtype), or a smaller batch"),
                             {},
                             0};
      }
      if (std::abs(*ratio * times - 1) < 0.02) {
        return SequenceCause{"precision",
                             absl::StrCat("the sizes in the simulated run are ", times,
                                          " times as large: the real GPU ran in a lower precision "
                                          "(autocast, dtype), or with a smaller batch"),
                             {},
                             0};
      }
    }
    return std::nullopt;
  }

  // Kernels that reduce allocate staging memory, whose size depends on the number of
  // multiprocessors. This memory may be of any size, and may exist on both sides or only on one
  // side.
  std::optional<SequenceCause> Staging() const {
    if (!stages_ || (card_.empty() && rehearsed_.empty())) return std::nullopt;
    SequenceCause cause{
        "multiprocessors",
        absl::StrCat(
            "reductions use staging memory for each multiprocessor; the simulated GPU has ",
            multiprocessors_.simulated),
        {},
        0};
    const uint64_t number = NumberOfSizes();
    const auto add = [&cause](uint64_t one) {
      const std::string spec = absl::StrCat("sms=", one);
      if (std::ranges::find(cause.specs, spec) == cause.specs.end()) cause.specs.push_back(spec);
    };
    // Small staging memory is proportional to the number of multiprocessors. Large staging memory
    // is rounded, so that its size says little about that number.
    const bool is_exact = number != 0 && std::ranges::max(card_) <= kMaxStaging;
    if (is_exact) {
      add(number);
      absl::StrAppend(&cause.sentence, ", and ", number, " would give these sizes");
    }
    for (const uint64_t possible : multiprocessors_.possible) {
      if (possible != multiprocessors_.simulated) add(possible);
    }
    if (number != 0) add(number);
    return cause;
  }

  // Finds small staging memory of reductions by its size, if no call stacks name the operator.
  std::optional<SequenceCause> SmallStaging() const {
    const uint64_t number = NumberOfSizes();
    if (number == 0 || std::ranges::max(card_) > kMaxStaging) return std::nullopt;
    return SequenceCause{
        "multiprocessors",
        absl::StrCat("sizes depend on the number of multiprocessors: ", number,
                     " would give these sizes, the simulated GPU has ", multiprocessors_.simulated),
        {absl::StrCat("sms=", number)},
        0};
  }

  // Returns the number of multiprocessors that would explain the sizes of the real GPU; 0 if the
  // sizes imply no other number than the simulated one.
  uint64_t NumberOfSizes() const {
    const std::optional<double> ratio = RatioOf(card_, rehearsed_);
    const uint64_t simulated = multiprocessors_.simulated;
    if (!ratio.has_value() || simulated == 0) return 0;
    const uint64_t number = NumberNear(*ratio * static_cast<double>(simulated));
    return number > kMaxMultiprocessors || number == simulated ? 0 : number;
  }

  // Returns the number of multiprocessors closest to the estimate that divides the sizes of the
  // real GPU. Staging memory is proportional to that number, but is sometimes rounded.
  uint64_t NumberNear(double estimate) const {
    const auto nearest = static_cast<uint64_t>(std::llround(estimate));
    const uint64_t room = nearest / 8;
    for (uint64_t away = 0; away <= room; ++away) {
      for (const uint64_t number : {nearest - away, nearest + away}) {
        const bool divides = number > 0 && std::ranges::all_of(card_, [number](uint64_t bytes) {
                               return bytes % number == 0;
                             });
        if (divides) return number;
      }
    }
    return nearest;
  }

  std::optional<SequenceCause> LibraryWorkspace() const {
    const std::vector<uint64_t>& sizes = card_.empty() ? rehearsed_ : card_;
    if (sizes.empty() || (!card_.empty() && !rehearsed_.empty())) return std::nullopt;
    if (std::ranges::max(sizes) > kMaxLibraryWorkspace) return std::nullopt;
    return SequenceCause{"library_workspace",
                         "a small block exists on one side only: the simulator only estimates "
                         "workspaces of cuDNN and staging memory of reductions",
                         {},
                         0};
  }

  const std::vector<uint64_t> card_;
  const std::vector<uint64_t> rehearsed_;
  const bool stages_;
  const Multiprocessors& multiprocessors_;
};

}  // namespace

std::vector<SequenceCause> CausesOf(const std::vector<SequencePart>& parts,
                                    const Multiprocessors& multiprocessors) {
  std::map<std::string, SequenceCause> by_sentence;
  for (const SequencePart& part : parts) {
    // A difference that only frees blocks follows from another difference, which allocated them.
    if (AllocatedIn(part.on_card).empty() && AllocatedIn(part.rehearsed).empty()) continue;
    SequenceCause cause = PartCause(part, multiprocessors).Find();
    const std::string sentence = cause.sentence;
    SequenceCause& known = by_sentence.try_emplace(sentence, std::move(cause)).first->second;
    known.events += part.times * (part.on_card.size() + part.rehearsed.size());
  }
  std::vector<SequenceCause> causes;
  for (auto& [sentence, cause] : by_sentence) causes.push_back(std::move(cause));
  std::ranges::stable_sort(causes, std::ranges::greater(), &SequenceCause::events);
  return causes;
}

SequenceCause ReleaseCause(const MovedFunction& moved, uint64_t events) {
  return {"release",
          absl::StrCat("another release of PyTorch ran on the real GPU: ", moved.function, " of ",
                       moved.file, " calls the next function in line ", moved.card_line,
                       " there and in line ", moved.rehearsed_line,
                       " in the simulated run; simulate with the release that ran on the real GPU"),
          {},
          events};
}

SequenceCause SegmentsCause() {
  return {"allocator",
          "the same requests are in other segments: memory was cached before the recording, or "
          "PYTORCH_CUDA_ALLOC_CONF is different on one side",
          {},
          0};
}

void DropVainCauses(std::vector<SequenceCause>* causes) {
  uint64_t vain = 0;
  for (const SequenceCause& cause : *causes) vain += cause.is_vain ? cause.events : 0;
  if (vain == 0) return;
  std::erase_if(*causes, [](const SequenceCause& cause) { return cause.is_vain; });
  const auto unknown = std::ranges::find(*causes, "unknown", &SequenceCause::setting);
  if (unknown != causes->end()) {
    unknown->events += vain;
  } else {
    causes->push_back(UnknownCause(vain));
  }
}

}  // namespace vramstow
