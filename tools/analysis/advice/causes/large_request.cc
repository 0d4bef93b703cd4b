// A cause of an out-of-memory: the request itself.
#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "tools/analysis/advice/advice_words.h"
#include "tools/analysis/advice/batch.h"
#include "tools/analysis/advice/changes.h"
#include "tools/analysis/advice/no_backward.h"
#include "tools/analysis/advice/places.h"
#include "tools/analysis/advice/rule.h"

namespace vramstow {
namespace {

// The request is split into this many pieces, so that one piece is small compared with the bytes
// that are saved.
constexpr uint64_t kPieces = 16;

// True for matrix decompositions, which cannot work in pieces: each number of the result depends on
// the whole matrix.
bool IsDecomposition(const FailureMoment& moment, const SiteDetail& site) {
  const auto is_one = [](std::string_view name) {
    return name.find("linalg_svd") != std::string_view::npos ||
           name.find("linalg_qr") != std::string_view::npos;
  };
  return is_one(OperatorName(site)) || std::ranges::any_of(site.frames, [&](uint32_t frame) {
           return is_one(moment.detail().frames[frame]);
         });
}

// True if a function of a library that computes a loss made the call, for example
// "ForCausalLMLoss".
bool IsCalledByLoss(const FailureMoment& moment, const SiteDetail& site) {
  return std::ranges::any_of(site.frames, [&](uint32_t frame) {
    const std::string& text = moment.detail().frames[frame];
    return text.ends_with("Loss") || text.ends_with("cross_entropy");
  });
}

// Returns advice for a tensor of scores over a vocabulary (logits), which a matrix product makes or
// a loss uses.
std::string ForScores(const FailureMoment& moment, const std::string& name) {
  const bool is_product = name == "mm" || name == "addmm" || name == "linear";
  if (is_product && !moment.request_site().is_own_call && IsInferenceOnly(moment)) {
    return "; to predict the next word, the head needs only the last position (hidden[:, -1:])";
  }
  if (is_product || name.find("softmax") != std::string::npos ||
      name.find("nll_loss") != std::string::npos || IsCalledByLoss(moment, moment.request_site())) {
    return "; for a loss over a large vocabulary, compute the loss of each piece separately";
  }
  return "";
}

// Returns "backward of Addmm" for "backward of Addmm (train.py:31 step)". A request that failed has
// no such line in parentheses, so names are compared without it.
std::string_view WithoutCall(std::string_view site) { return site.substr(0, site.find(" (")); }

// True if the block was allocated for the same computation as the request: by the same line, called
// from the same lines (a helper function may allocate for many results), or, in a backward pass
// whose line is not known, by the same function.
bool IsOnTheWay(const FailureMoment& moment, const Life& life) {
  const SiteDetail& made = moment.site_of(life);
  const SiteDetail& request = moment.request_site();
  if (life.size * 4 <= moment.requested() || moment.PassOf(life) != moment.pass()) return false;
  if (made.own.empty() || request.own.empty()) {
    return made.own.empty() && request.own.empty() && made.in_backward && request.in_backward &&
           WithoutCall(made.site) == WithoutCall(request.site);
  }
  return std::ranges::equal(made.own, request.own, {}, &CodeLine::text, &CodeLine::text);
}

// Returns the live workspaces of cuBLAS that are larger than `bytes`: those that it requested from
// the driver, and those that PyTorch allocated for it and that are as large as this request.
std::vector<const Life*> LargerWorkspaces(const FailureMoment& moment, uint64_t bytes) {
  std::vector<const Life*> larger;
  for (const Life* life : moment.live()) {
    if (moment.site_of(*life).phase != Phase::kWorkspace || life->size <= bytes) continue;
    const std::vector<std::string>& libraries = moment.detail().libraries;
    const bool is_cublas =
        life->library < libraries.size() && libraries[life->library].starts_with("libcublas");
    if (life->tensor ? life->size == moment.requested() : is_cublas) larger.push_back(life);
  }
  return larger;
}

// Describes a request for scratch memory of a library, which has no input of the program that could
// be split.
Cause OfWorkspace(const FailureMoment& moment) {
  // The size of PyTorch's smaller workspace setting: two buffers of 4 MiB, and eight of 16 KiB.
  constexpr uint64_t kSmallWorkspace = 2 * (uint64_t{4} << 20) + 8 * (uint64_t{16} << 10);
  const uint64_t requested = moment.requested();
  const uint64_t smaller = std::min(requested, kSmallWorkspace);
  Cause cause;
  cause.title = "A workspace of " + AdviceText(requested) + " does not fit";
  cause.held = LargerWorkspaces(moment, smaller);
  cause.bytes = requested - smaller + BytesOf(cause.held) - cause.held.size() * smaller;
  cause.change = Resized(moment.detail(), cause.held, smaller);
  cause.change.requested = smaller;
  cause.is_estimate = true;
  cause.place = PlaceOfRequest(moment);
  cause.evidence =
      "The request was for a workspace, which is temporary memory of a library for matrix products "
      "or convolutions. Its size does not depend on the size of one input alone.";
  if (!cause.held.empty()) {
    cause.evidence += " " + AdviceText(BytesOf(cause.held)) + " are workspaces already.";
  }
  cause.cost = "Some matrix products are slower.";
  cause.action =
      "Free other memory before this line. For cuBLAS, set CUBLAS_WORKSPACE_CONFIG=:4096:2:16:8, "
      "so that each workspace takes " +
      AdviceText(smaller) + ".";
  return cause;
}

// Compares the request with the memory that the job can use and with its other tensors.
std::string EvidenceOf(const FailureMoment& moment, const std::string& name, uint64_t on_the_way,
                       uint64_t largest) {
  const uint64_t on_gpu = moment.room() - std::min(moment.room(), moment.away_bytes());
  std::string text = name + " asked for " + AdviceText(moment.requested()) + " at once";
  if (moment.is_room_known()) text += ", of " + AdviceText(on_gpu) + " that the job can use";
  if (on_the_way > 0) {
    text += "; the same line had allocated " + AdviceText(on_the_way) + " on the way";
  }
  text += largest == 0 ? "." : "; the largest other tensor has " + AdviceText(largest) + ".";
  if (moment.is_room_known() && moment.requested() > on_gpu) {
    text +=
        " This is more than the whole GPU has for the job: neither freeing other memory nor moving "
        "it to the host (--offload) makes room for it.";
  }
  return text;
}

Found FindLargeRequest(const FailureMoment& moment) {
  const SiteDetail& site = moment.request_site();
  const uint64_t requested = moment.requested();
  const bool is_workspace = site.phase == Phase::kWorkspace;
  // The advice for a workspace of cuBLAS costs little, so a smaller part of the memory suffices.
  const bool is_convolution = OperatorName(site).find("conv") != std::string_view::npos;
  const uint64_t parts = is_workspace && !is_convolution ? 16 : 4;
  if (site.in_optimizer || requested * parts < moment.room()) return std::nullopt;
  if (is_workspace) {
    Cause cause = OfWorkspace(moment);
    if (cause.bytes == 0) return std::nullopt;
    return cause;
  }
  // Blocks that the same line allocated before for the same result belong to the request.
  uint64_t largest = 0;
  uint64_t on_the_way = 0;
  std::vector<const Life*> made;
  for (const Life* life : moment.live()) {
    if (!life->tensor) continue;
    const bool is_same = IsOnTheWay(moment, *life);
    (is_same ? on_the_way : largest) = std::max(is_same ? on_the_way : largest, life->size);
    if (is_same) made.push_back(life);
  }
  if (requested * 5 < largest * 7) return std::nullopt;
  const std::string name(OperatorName(site));
  // CopiesOfOne has better advice for one-hot vectors that are converted.
  const bool converts_zeros = std::ranges::any_of(made, [&](const Life* life) {
    return life->size > requested &&
           OperatorName(moment.site_of(*life)).find("zeros") != std::string_view::npos;
  });
  if (name == "_to_copy" && converts_zeros) return std::nullopt;
  // If the tensor grows by concatenation, splitting the request does not help, and the
  // concatenation is reported as the cause.
  if (IsConcatenation(name) && on_the_way * 2 > requested) return std::nullopt;
  Cause cause;
  cause.title = "One request of " + AdviceText(requested) + " is too large";
  cause.bytes = requested + on_the_way - (requested + on_the_way) / kPieces;
  cause.change = InParts(moment.detail(), made, kPieces);
  cause.change.requested = requested / kPieces;
  cause.is_estimate = true;
  cause.place = PlaceOfRequest(moment);
  cause.evidence = EvidenceOf(moment, name, on_the_way, largest);
  cause.cost = "A loop over pieces.";
  if (IsDecomposition(moment, site)) {
    cause.cost = "None, if the rest of the basis is not needed.";
    cause.action =
        "Request the reduced form: torch.linalg.svd(..., full_matrices=False), "
        "torch.linalg.qr(..., mode=\"reduced\"); the full form computes a square matrix of the "
        "longer side. For a few components, call torch.svd_lowrank().";
    return cause;
  }
  cause.action = "Work in " + std::to_string(kPieces) +
                 " pieces (split() the input), so that only one of them is live at a time" +
                 ForScores(moment, name) + "." +
                 IfPadded(moment, moment.failure().site_number, requested);
  return cause;
}

}  // namespace

constinit const Rule kLargeRequest = {
    .rank = Rank::kTrade,
    .meaning = "the request itself",
    .help =
        "The request that failed is at least a quarter of the memory that the job can use, and "
        "much larger than any other tensor. Process it in pieces, so that only one of them is live "
        "at a time. A workspace of a library counts from a sixteenth of that memory on: set "
        "CUBLAS_WORKSPACE_CONFIG.",
    .needs = {kNeedsRequestOfProgram},
    .cause = FindLargeRequest,
};

}  // namespace vramstow
