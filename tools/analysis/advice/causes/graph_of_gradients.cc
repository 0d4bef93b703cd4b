// A cause of an out-of-memory: a backward pass that records a graph of its own.
#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "tools/analysis/advice/advice_words.h"
#include "tools/analysis/advice/changes.h"
#include "tools/analysis/advice/last_backward.h"
#include "tools/analysis/advice/places.h"
#include "tools/analysis/advice/rule.h"
#include "tools/analysis/explain/census_summary.h"

namespace vramstow {
namespace {

constexpr size_t kLeastGradientsKept = 3;
constexpr uint64_t kSmallFreedPart = 20;

// The bytes that autograd saved in the forward pass: those it still holds, and those that the
// backward pass has freed.
struct ForwardSaved {
  uint64_t kept = 0;
  uint64_t freed = 0;
  std::set<uint64_t> sizes;
  std::vector<const Life*> saved;
};

ForwardSaved ForwardOf(const FailureMoment& moment, uint64_t begin) {
  ForwardSaved forward;
  for (const Life& life : moment.detail().lives) {
    if (life.birth >= begin) break;
    const SiteDetail& site = moment.site_of(life);
    if (!life.tensor || life.pending || site.in_backward || site.in_optimizer) continue;
    if (life.birth < moment.pass_begin() || site.phase == Phase::kInit) continue;
    if (!life.LivesAt(moment.event())) {
      forward.freed += life.death >= begin ? life.size : 0;
      continue;
    }
    const HeldBlock* block = moment.holders().Of(life);
    if (block == nullptr || !IsInGraph(*block)) continue;
    forward.kept += life.size;
    forward.sizes.insert(life.size);
    forward.saved.push_back(&life);
  }
  return forward;
}

// Returns the least number of autograd nodes that made these blocks. A node that is running may
// hold several blocks, but its function makes each of them by another operator.
size_t NodesOf(const FailureMoment& moment, const std::vector<const Life*>& lives) {
  std::map<std::string, std::map<uint32_t, size_t>> by_function;  // then by call site
  for (const Life* life : lives) {
    const std::string& site = moment.site_of(*life).site;  // "backward of Pow (train.py:18 main)"
    ++by_function[site.substr(0, site.find(" ("))][life->site];
  }
  size_t nodes = 0;
  for (const auto& [function, sites] : by_function) {
    nodes +=
        std::ranges::max_element(sites, {}, [](const auto& one) { return one.second; })->second;
  }
  return nodes;
}

// A backward pass normally frees the gradient of a result when it has computed the next gradient
// from it. This function finds gradients that were not freed.
Found FindGraphOfGradients(const FailureMoment& moment) {
  const LastBackward backward = LastBackwardOf(moment);
  if (backward.begin == 0 || backward.begin < moment.pass_begin()) return std::nullopt;
  const ForwardSaved forward = ForwardOf(moment, backward.begin);
  if (forward.freed * kSmallFreedPart > forward.kept || forward.kept == 0) return std::nullopt;
  Cause cause;
  for (const Life* life : moment.live()) {
    const SiteDetail& site = moment.site_of(*life);
    if (!life->tensor || !site.in_backward || !site.own.empty()) continue;
    if (life->birth < backward.begin || !forward.sizes.contains(life->size)) continue;
    // With retain_graph=True, the backward pass of cuDNN's recurrent layers copies what it reads.
    if (OperatorName(site) == "clone") continue;
    const HeldBlock* block = moment.holders().Of(*life);
    if (block == nullptr || IsInGraph(*block)) cause.held.push_back(life);
  }
  // Without such a graph, the backward pass would have freed the saved results that it no longer
  // needs. These are about as many bytes as the gradients that it has made.
  const uint64_t gradients = BytesOf(cause.held);
  cause.bytes = gradients + std::min(gradients, forward.kept);
  if (NodesOf(moment, cause.held) < kLeastGradientsKept || !moment.IsLarge(cause.bytes)) {
    return std::nullopt;
  }
  cause.change = Without(moment.detail(), cause.held);
  uint64_t freed = 0;  // from the last result to the first
  for (auto life = forward.saved.rbegin(); life != forward.saved.rend(); ++life) {
    if (freed + (*life)->size > gradients) break;
    freed += (*life)->size;
    const Change one = FreedBefore(moment.detail(), {*life}, moment.event());
    cause.change.lives.insert(cause.change.lives.end(), one.lives.begin(), one.lives.end());
  }
  cause.is_estimate = true;
  cause.title = "The backward pass records a graph of its own";
  cause.place = moment.passes().BackwardCall(moment.detail(), moment.event());
  if (cause.place.empty()) cause.place = PlaceInProgram(moment, forward.saved);
  cause.evidence = AdviceText(gradients) +
                   " of gradients of results were allocated and stay, and " +
                   AdviceText(forward.kept) +
                   " that the forward pass had saved stay, too: create_graph=True retains both for "
                   "a second derivative.";
  cause.cost = "None, if these gradients are not differentiated again.";
  cause.action =
      "Leave create_graph=True out of backward() or torch.autograd.grad(), because a norm, a log "
      "or a step does not need it. If a penalty on gradients needs it, compute the penalty on a "
      "part of the batch.";
  return cause;
}

}  // namespace

constinit const Rule kGraphOfGradients = {
    .rank = Rank::kMistake,
    .meaning = "a backward pass records a graph of its own",
    .help =
        "Normally a backward pass frees, while it runs, what the forward pass saved and the "
        "gradients of results. Here both stay: create_graph=True retains them for a second "
        "derivative. Leave it out if the gradients are not differentiated again.",
    .needs = {kNeedsBackwardPass},
    .cause = FindGraphOfGradients,
};

}  // namespace vramstow
