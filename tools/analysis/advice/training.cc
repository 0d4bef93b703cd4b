// What training needs: activations, gradients, the optimizer.
#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "tools/analysis/advice/advice_words.h"
#include "tools/analysis/advice/batch.h"
#include "tools/analysis/advice/cause.h"
#include "tools/analysis/advice/changes.h"
#include "tools/analysis/advice/places.h"
#include "tools/analysis/explain/holders.h"

namespace vramstow {
namespace {

constexpr uint64_t kMostMicroBatches = 16;
constexpr size_t kLeastActivations = 3;

bool IsForeach(const SiteDetail& site) {
  const std::string_view name = OperatorName(site);
  return name.starts_with("_foreach") || name.starts_with("foreach_");
}

// Gradients that are there: as many bytes as the parameters that are trained.
std::vector<const Life*> Gradients(const Scene& scene) {
  std::vector<const Life*> gradients;
  for (const Life* life : scene.live()) {
    const SiteDetail& site = scene.site_of(*life);
    if (life->tensor && site.in_backward && site.phase == Phase::kBackward) {
      gradients.push_back(life);
    }
  }
  return gradients;
}

std::vector<const Life*> OfOptimizer(const Scene& scene, bool temporaries) {
  std::vector<const Life*> lives;
  for (const Life* life : scene.live()) {
    const SiteDetail& site = scene.site_of(*life);
    if (life->tensor && site.in_optimizer && IsForeach(site) == temporaries) lives.push_back(life);
  }
  return lives;
}

std::string PlaceOfStep(const Scene& scene, const std::vector<const Life*>& lives) {
  if (scene.request_site().in_optimizer) {
    return PlaceOfRequest(scene);
  }
  return CommonPlace(scene.detail(), lives);
}

// Parameters that a census has found.
std::vector<const Life*> Parameters(const Scene& scene) {
  std::vector<const Life*> parameters;
  for (const Life* life : scene.live()) {
    const HeldBlock* block = scene.holders().Of(*life);
    if (block != nullptr && block->role == "parameter") parameters.push_back(life);
  }
  return parameters;
}

// A smaller batch would not help.
void TellOfNoBatch(const Scene& scene, const std::vector<const Life*>& without, Cause* cause) {
  const auto largest = std::ranges::max_element(without, {}, &Life::size);
  const std::string about = scene.holders().Of(**largest)->about;
  cause->title = "Intermediate results are too large, whatever the batch";
  cause->place = PlaceOf(scene.detail(), (*largest)->site);
  cause->evidence += " " + AdviceText(BytesOf(without)) + " of it do not grow with the batch, as " +
                     about.substr(0, about.find(']')) + "].";
  cause->cost = "Recomputing: about a third more of a pass.";
  cause->action =
      "Do what this line does for a part of it at a time, each part under "
      "torch.utils.checkpoint; a smaller batch does not help.";
}

}  // namespace

// A pass makes new gradients while those of an earlier one are there.
Found KeptGradients(const Scene& scene) {
  std::vector<const Life*> old;
  std::multiset<uint64_t> fresh;
  for (const Life* life : Gradients(scene)) {
    const int64_t pass = scene.PassOf(*life);
    if (pass < 0) continue;
    if (pass < scene.pass()) {
      old.push_back(life);
    } else {
      fresh.insert(life->size);
    }
  }
  if (fresh.empty()) return std::nullopt;
  Cause cause;
  cause.bytes = BytesOf(old);
  cause.held = old;
  if (!scene.IsLarge(cause.bytes)) return std::nullopt;
  cause.id = "gradients_kept";
  cause.change = FreedBefore(scene.detail(), old, scene.pass_begin());
  cause.title = "Gradients of an earlier pass are kept while new ones are made";
  cause.place = scene.passes().BackwardCall(scene.detail(), old.front()->birth);
  if (cause.place.empty()) cause.place = PlaceOf(scene.detail(), old.front()->site);
  cause.evidence = AdviceText(cause.bytes) +
                   " of gradients were there from before this pass, which makes its own: " +
                   LargestPlaces(scene.detail(), old) + ".";
  cause.cost = "None.";
  cause.action =
      "optimizer.zero_grad() right after optimizer.step(), of each model before the next one "
      "trains.";
  return cause;
}

Found OptimizerTemporaries(const Scene& scene) {
  const SiteDetail& site = scene.request_site();
  if (!site.in_optimizer || !IsForeach(site)) return std::nullopt;
  const std::vector<const Life*> temporaries = OfOptimizer(scene, true);
  Cause cause;
  cause.id = "optimizer_temporaries";
  cause.title = "The optimizer's step makes temporaries as large as the parameters";
  const uint64_t now = BytesOf(temporaries) + scene.requested();
  cause.bytes = std::max(now, BytesOf(Gradients(scene)));
  // One at a time is left.
  cause.change = Without(scene.detail(), temporaries);
  cause.change.requested = scene.requested();
  cause.change.spared_later = cause.bytes - now;
  cause.is_estimate = true;
  if (!scene.IsLarge(cause.bytes)) return std::nullopt;
  cause.place = PlaceOfStep(scene, temporaries);
  cause.evidence = std::string(OperatorName(site)) + " asked for " + AdviceText(scene.requested()) +
                   ": the step takes all parameters together, with " + AdviceText(cause.bytes) +
                   " of temporaries.";
  cause.cost = "A slower step.";
  cause.action = "Pass foreach=False to the optimizer, or fused=True.";
  return cause;
}

// State is made once for each parameter. Who makes it again is another optimizer.
Found SecondOptimizer(const Scene& scene) {
  const std::vector<const Life*> state = OfOptimizer(scene, false);
  std::vector<const Life*> old;
  std::vector<const Life*> fresh;
  for (const Life* life : state) {
    const std::string_view name = OperatorName(scene.site_of(*life));
    if (name.find("zero") == std::string_view::npos &&
        name.find("full") == std::string_view::npos) {
      continue;
    }
    (scene.PassOf(*life) < scene.pass() ? old : fresh).push_back(life);
  }
  // Both have made some for the same parameters.
  absl::flat_hash_set<uint64_t> sizes;
  for (const Life* life : old) sizes.insert(life->size);
  std::erase_if(fresh, [&](const Life* life) { return !sizes.contains(life->size); });
  Cause cause;
  cause.bytes = BytesOf(old);
  if (fresh.empty() || BytesOf(fresh) * 8 < cause.bytes || !scene.IsLarge(cause.bytes)) {
    return std::nullopt;
  }
  cause.id = "optimizer_state";
  cause.title = "A second optimizer makes state of its own for the same parameters";
  cause.held = old;
  cause.change = FreedBefore(scene.detail(), old, scene.pass_begin());
  cause.place = PlaceOfStep(scene, fresh);
  cause.evidence = AdviceText(cause.bytes) +
                   " of state were there from before this pass, and this step makes state of the "
                   "same sizes again (" +
                   AdviceText(BytesOf(fresh)) + " so far).";
  cause.cost = "None, if the first one has done its work.";
  cause.action =
      "Keep one optimizer and change its param_groups, or del the first one, with its scheduler, "
      "before the second one steps.";
  return cause;
}

Found OptimizerState(const Scene& scene) {
  const std::vector<const Life*> state = OfOptimizer(scene, false);
  const SiteDetail& request = scene.request_site();
  const bool is_made_now = request.in_optimizer && !IsForeach(request);
  Cause cause;
  cause.bytes = BytesOf(state);
  cause.held = state;
  cause.change = Without(scene.detail(), state);
  if (is_made_now) {
    // Each line that makes state makes it for every parameter. A line may have several sites, by
    // the way through C++.
    std::set<std::vector<uint32_t>> lines = {request.frames};
    for (const Life* life : state) {
      if (life->size >= (1 << 12)) lines.insert(scene.site_of(*life).frames);
    }
    cause.bytes = std::max(cause.bytes + scene.requested(),
                           BytesOf(Gradients(scene)) * static_cast<uint64_t>(lines.size()));
    cause.change.requested = 0;
    cause.change.spared_later = cause.bytes - BytesOf(state) - scene.requested();
    cause.is_estimate = true;
  }
  if (!scene.IsLarge(cause.bytes) || (state.empty() && !is_made_now)) return std::nullopt;
  cause.id = "optimizer_state";
  cause.title = is_made_now ? "The optimizer's state is made now, at its first step"
                            : "The optimizer's state is a large part";
  cause.place = PlaceOfStep(scene, state);
  cause.evidence = is_made_now
                       ? AdviceText(cause.bytes) + " of state belong to these parameters; " +
                             AdviceText(BytesOf(state)) + " of it were there when it failed."
                       : AdviceText(cause.bytes) + " were made by the optimizer and kept.";
  cause.cost = "8 bits none that is known; on the host a transfer for each step.";
  cause.action =
      "An optimizer with 8-bit state or with less of it (Adafactor, SGD), one that is sharded over "
      "the ranks, or state on the host.";
  return cause;
}

// What one pass has made and needs again in its backward pass.
Found Activations(const Scene& scene) {
  std::vector<const Life*> activations;
  for (const Life* life : scene.live()) {
    const SiteDetail& site = scene.site_of(*life);
    if (!life->tensor || site.in_backward || site.in_optimizer) continue;
    if (scene.pass() >= 0 ? scene.PassOf(*life) < scene.pass() : site.phase != Phase::kForward) {
      continue;
    }
    if (site.phase == Phase::kInit || site.phase == Phase::kWorkspace) continue;
    activations.push_back(life);
  }
  uint64_t bytes = BytesOf(activations);
  if (activations.size() < kLeastActivations) return std::nullopt;
  // So does the request, unless a backward pass or an optimizer makes it.
  const SiteDetail& request = scene.request_site();
  const bool grows = !request.in_backward && !request.in_optimizer;
  if (grows) bytes += scene.requested();
  uint64_t parts = 2;
  while (parts < kMostMicroBatches && bytes - bytes / parts < scene.lacking()) parts *= 2;
  Cause cause;
  cause.bytes = bytes - bytes / parts;
  cause.held = activations;
  cause.is_estimate = true;
  if (!scene.IsLarge(cause.bytes)) return std::nullopt;
  cause.id = "activations";
  cause.change = InParts(scene.detail(), activations, parts);
  if (grows) cause.change.requested = (scene.requested() + parts - 1) / parts;
  cause.title = "The activations of one batch are too many";
  cause.place = PlaceInProgram(scene, activations);
  cause.evidence = AdviceText(BytesOf(activations)) +
                   " were made in this pass and wait for its backward pass: " +
                   LargestPlaces(scene.detail(), activations) + ".";
  cause.cost = "Micro-batches a little time; recomputing about a third more of a pass.";
  cause.action = "Divide the batch by " + std::to_string(parts) + " and step after every " +
                 std::to_string(parts) + ", or torch.utils.checkpoint around the repeated layer.";
  const std::vector<const Life*> without = WithoutBatch(scene, activations);
  if (BytesOf(without) * 2 > BytesOf(activations)) TellOfNoBatch(scene, without, &cause);
  return cause;
}

// The card is full before the model is whole: nothing has been computed yet.
Found ModelTooLarge(const Scene& scene) {
  const SiteDetail& site = scene.request_site();
  if (!site.module.empty() || site.phase == Phase::kForward || site.in_backward ||
      site.in_optimizer) {
    return std::nullopt;
  }
  const std::vector<const Life*> parameters = Parameters(scene);
  const uint64_t bytes = BytesOf(parameters);
  if (parameters.empty() || bytes * 4 < scene.live_bytes() * 3) return std::nullopt;
  // The parameter that was asked for is made as the last one was.
  if (!SameWork(scene.site_of(*parameters.back()), site)) return std::nullopt;
  Cause cause;
  cause.id = "model_too_large";
  cause.bytes = (bytes + scene.requested()) / 2;
  if (!scene.IsLarge(cause.bytes)) return std::nullopt;
  cause.change = InParts(scene.detail(), parameters, 2);
  cause.change.requested = scene.requested() / 2;
  cause.is_estimate = true;
  cause.held = parameters;
  cause.title = "The model's parameters alone do not fit";
  cause.place = PlaceOfRequest(scene);
  cause.evidence = AdviceText(bytes) + " of " + AdviceText(scene.room()) +
                   " that the job can have are parameters, and the model is not yet whole.";
  cause.cost = "Precision, or time for transfers.";
  cause.action =
      "Load it in bfloat16 (half of float32) or quantised, or keep a part of its layers on the "
      "host.";
  return cause;
}

}  // namespace vramstow
