// References that stay longer than what they are for.
#include <algorithm>
#include <map>
#include <set>
#include <string>

#include "tools/analysis/advice/advice_words.h"
#include "tools/analysis/advice/cause.h"
#include "tools/analysis/advice/changes.h"
#include "tools/analysis/advice/keepers.h"
#include "tools/analysis/advice/places.h"
#include "tools/analysis/explain/testimony.h"

namespace vramstow {
namespace {

constexpr size_t kLeastPasses = 3;  // that left something: less may be on its way
constexpr uint64_t kSmallPart = 20;

// What earlier passes left behind, and how much of that one pass leaves.
struct Pile {
  std::vector<const Life*> lives;
  std::set<int64_t> passes;
  size_t blocks = 0;        // of a pass, at sites that have a part in it worth naming
  bool graph_made = false;  // autograd keeps a part of it, for sure
  bool is_graph = false;    // it is more than results
};

bool MayPileUp(const Scene& scene, const Life& life) {
  const SiteDetail& site = scene.site_of(life);
  return life.tensor && !site.in_optimizer && site.phase != Phase::kInit &&
         site.phase != Phase::kWorkspace;
}

Pile CollectPile(const Scene& scene) {
  Pile pile;
  if (scene.passes().all().size() < kLeastPasses) return pile;
  struct BySite {
    std::vector<const Life*> lives;
    std::set<int64_t> passes;
  };
  std::map<uint32_t, BySite> sites;
  for (const Life* life : scene.live()) {
    const int64_t pass = scene.PassOf(*life);
    if (pass < 0 || pass >= scene.pass() || !MayPileUp(scene, *life)) continue;
    BySite& site = sites[life->site];
    site.lives.push_back(life);
    site.passes.insert(pass);
  }
  for (auto& [number, site] : sites) {
    if (site.passes.size() < kLeastPasses) continue;
    pile.lives.insert(pile.lives.end(), site.lives.begin(), site.lives.end());
    pile.passes.insert(site.passes.begin(), site.passes.end());
  }
  const uint64_t bytes = BytesOf(pile.lives);
  for (const auto& [number, site] : sites) {
    if (site.passes.size() < kLeastPasses) continue;
    const uint64_t of_site = BytesOf(site.lives);
    if (of_site * kSmallPart < bytes) continue;
    pile.blocks += (site.lives.size() + site.passes.size() - 1) / site.passes.size();
    pile.graph_made |= scene.detail().sites[number].in_backward;
  }
  return pile;
}

// Whether what these passes have put into the model was freed. Autograd would have saved it.
bool InputsAreGone(const Scene& scene, const Pile& pile) {
  constexpr uint64_t kLeast = 1 << 12;
  const std::vector<Pass>& passes = scene.passes().all();
  size_t gone = 0;
  for (const int64_t number : pile.passes) {
    const Pass& pass = passes[static_cast<size_t>(number)];
    const Life* input = nullptr;  // the last one before the model runs
    bool runs = false;
    auto life = std::ranges::lower_bound(scene.detail().lives, pass.begin, {}, &Life::birth);
    for (; life != scene.detail().lives.end() && life->birth < pass.end && !runs; ++life) {
      if (!life->tensor) continue;
      runs = scene.site_of(*life).phase == Phase::kForward;
      if (!runs && life->size >= kLeast) input = &*life;
    }
    if (!runs || input == nullptr) continue;
    if (input->LivesAt(scene.event())) return false;
    ++gone;
  }
  return gone * 2 >= pile.passes.size();
}

// Copies are of what is there already, and none of them leads to another.
bool AreCopies(const Scene& scene, const Pile& pile) {
  return std::ranges::all_of(pile.lives, [&](const Life* life) {
    const SiteDetail& site = scene.site_of(*life);
    const std::string_view name = OperatorName(site);
    return site.module.empty() && (name == "clone" || name == "_to_copy" || name == "to");
  });
}

// One block of each pass is a result; several are what led to it, unless something tells better.
bool IsGraph(const Scene& scene, const Pile& pile) {
  const Testimony told = TestimonyOf(scene.holders(), pile.lives);
  if (told.decides()) return told.in_graph * 4 >= told.known;
  if (pile.graph_made) return true;
  if (pile.blocks <= 1 || AreCopies(scene, pile)) return false;
  const bool without_gradients = std::ranges::all_of(
      pile.lives, [&](const Life* life) { return scene.passes().IsInference(life->birth); });
  return !without_gradients && !InputsAreGone(scene, pile);
}

Pile PileOf(const Scene& scene) {
  Pile pile = CollectPile(scene);
  pile.is_graph = !pile.lives.empty() && IsGraph(scene, pile);
  return pile;
}

// Whether the model went on after it had made this: it is no result of the call.
bool IsInside(const Scene& scene, const Life& made) {
  for (auto life = std::ranges::upper_bound(scene.detail().lives, made.birth, {}, &Life::birth);
       life != scene.detail().lives.end() && life->birth < scene.event(); ++life) {
    const Phase phase = scene.site_of(*life).phase;
    if (!life->tensor || life->pending || phase == Phase::kWorkspace) continue;
    return phase == Phase::kForward && scene.PassOf(*life) == scene.PassOf(made);
  }
  return false;
}

// Whether a backward pass ran while the later half of these piled up. An evaluation has none.
bool IsTrained(const Scene& scene, std::vector<const Life*> lives) {
  const auto middle = lives.begin() + static_cast<ptrdiff_t>(lives.size() / 2);
  std::ranges::nth_element(lives, middle, {}, &Life::birth);
  const uint64_t first = (*middle)->birth;
  auto life = std::ranges::lower_bound(scene.detail().lives, first, {}, &Life::birth);
  for (; life != scene.detail().lives.end() && life->birth < scene.event(); ++life) {
    if (life->tensor && !life->pending && scene.site_of(*life).in_backward) return true;
  }
  return false;
}

// Where the program took what it keeps, or called the model that made it.
std::string PlaceOfPile(const Scene& scene, const std::vector<const Life*>& lives,
                        bool stops_at_model) {
  const std::vector<HolderFacts> holders = scene.holders().OfAll(lives);
  if (!holders.empty()) {
    const std::string place = PlaceOfHolder(scene.detail(), lives, holders.front().holder);
    if (!place.empty()) return place;
  }
  const std::string place = CommonPlace(scene.detail(), lives, stops_at_model);
  return place.empty() ? PlaceInProgram(scene, lives) : place;
}

// A backward pass that was recorded: what its nodes saved has their names
// ("TanhBackwardBackward0"), and a gradient of a parameter tells which of them made it.
bool HasGraphOfGradients(const Scene& scene) {
  return std::ranges::any_of(scene.live(), [&](const Life* life) {
    const HeldBlock* block = scene.holders().Of(*life);
    if (block == nullptr) return false;
    return block->holder.find("BackwardBackward") != std::string::npos ||
           (block->role == "gradient" && block->about.find("made by") != std::string::npos);
  });
}

Cause OfPile(const Scene& scene, const Pile& pile) {
  Cause cause;
  cause.grows = true;
  cause.held = pile.lives;
  cause.bytes = BytesOf(pile.lives);
  cause.change = FreedWithPass(scene, pile.lives);
  cause.place =
      PlaceOfPile(scene, pile.lives, pile.is_graph || !IsInside(scene, *pile.lives.back()));
  const uint64_t each = cause.bytes / pile.passes.size();
  cause.evidence = std::to_string(pile.passes.size()) + " passes of the loop left " +
                   AdviceText(each) + " behind each, " + AdviceText(cause.bytes) +
                   " in all: " + LargestPlaces(scene.detail(), pile.lives) + ".";
  cause.cost = "None, if only the values are needed.";
  return cause;
}

// The depth at which two stacks part, at different lines of one function; -1: they do not.
int64_t DepthOfParting(const std::vector<CodeLine>& a, const std::vector<CodeLine>& b) {
  for (size_t depth = 0; depth < std::min(a.size(), b.size()); ++depth) {
    if (a[depth].function != b[depth].function) return -1;
    if (a[depth].line != b[depth].line) return static_cast<int64_t>(depth);
  }
  return -1;
}

// A loop of the program's own, that calls no module, made one graph, which one variable holds: a
// backward pass behind the loop may want all of it.
bool IsUnrolledLoop(const Scene& scene, const std::vector<const Life*>& lives) {
  const bool any_module = std::ranges::any_of(lives, [&](const Life* life) {
    return !scene.site_of(*life).module.empty() || scene.site_of(*life).in_backward;
  });
  const std::vector<HolderFacts> holders = scene.holders().OfAll(lives);
  if (any_module || holders.empty()) return false;
  const std::string& holder = holders.front().holder;
  const std::string root = holder.substr(0, holder.find(".grad_fn"));
  return root.size() < holder.size() && root.find('[') == std::string::npos &&
         holders.front().amount.bytes * 2 > BytesOf(lives);
}

void TellOfUnrolledLoop(Cause* cause) {
  cause->is_estimate = true;  // what goes from turn to turn stays
  cause->title = "The graph of a loop grows with each turn";
  cause->evidence += " One variable's graph holds all of them.";
  cause->cost = "Recomputing: about a third more of a pass.";
  cause->action =
      "If backward() comes after the loop: torch.utils.checkpoint around some turns at a time, "
      "fewer turns, or detach() every few of them. If none comes: torch.no_grad() around it.";
}

}  // namespace

// Blocks of an earlier attempt, made below a line that is over: its frames can only live on in the
// exception that ended it.
Found HeldByHandler(const Scene& scene) {
  for (const OutOfMemoryFacts& before : scene.facts().out_of_memory) {
    if (before.event >= scene.event()) break;
    const std::vector<CodeLine>& tried = scene.detail().sites[before.site_number].own;
    const int64_t depth = DepthOfParting(tried, scene.request_site().own);
    if (depth < 0) continue;
    const size_t levels = static_cast<size_t>(depth) + 1;
    std::vector<const Life*> held;
    for (const Life* life : scene.live()) {
      const std::vector<CodeLine>& own = scene.site_of(*life).own;
      if (life->birth > before.event || own.size() < levels) continue;
      const bool is_below =
          std::equal(own.begin(), own.begin() + static_cast<ptrdiff_t>(levels), tried.begin(),
                     [](const CodeLine& a, const CodeLine& b) { return a.text == b.text; });
      if (is_below) held.push_back(life);
    }
    Cause cause;
    cause.bytes = BytesOf(held);
    cause.held = held;
    if (!scene.IsLarge(cause.bytes)) continue;
    cause.id = "retry_in_handler";
    cause.change = FreedBefore(scene.detail(), held, before.event + 1);
    cause.title = "The first try's tensors are held while the second one runs";
    cause.place = CommonPlace(scene.detail(), held);
    cause.evidence = AdviceText(cause.bytes) +
                     " of an attempt that had failed were still there: the exception that is "
                     "being handled holds the frames of that attempt, and they hold " +
                     LargestPlaces(scene.detail(), held) + ".";
    cause.cost = "None.";
    cause.action =
        "Leave the except block before the second try: set a flag in it, and try again behind it.";
    return cause;
  }
  return std::nullopt;
}

Found HeldGraphs(const Scene& scene) {
  const Pile pile = PileOf(scene);
  if (!pile.is_graph) return std::nullopt;
  Cause cause = OfPile(scene, pile);
  if (!scene.IsLarge(cause.bytes)) return std::nullopt;
  cause.id = "held_graphs";
  cause.title = "Graphs of earlier passes are kept";
  // What goes into the model is held with what the model makes of it.
  std::vector<const Life*> made;
  for (const Life* life : pile.lives) {
    if (scene.site_of(*life).phase == Phase::kForward) made.push_back(life);
  }
  if (!made.empty()) cause.place = PlaceOfPile(scene, made, true);
  const bool trains = IsTrained(scene, pile.lives);
  cause.evidence +=
      trains ? " More than the results: what autograd saved for a backward pass is held with them."
             : " More than the results: autograd saved it for a backward pass that never comes.";
  cause.action = trains ? "Keep loss.item() instead of the loss, and state.detach() of what goes "
                          "on into the next pass; no retain_graph."
                        : "Run it under torch.no_grad() or torch.inference_mode(); of a loss keep "
                          "loss.item().";
  if (!trains && IsUnrolledLoop(scene, pile.lives)) {
    TellOfUnrolledLoop(&cause);
    return cause;
  }
  if (HasGraphOfGradients(scene)) {
    cause.evidence += " Gradients have a graph of their own, which create_graph=True records.";
    const std::string about =
        "create_graph=True only where gradients are differentiated again, and with "
        "torch.autograd.grad(): after backward(create_graph=True) a parameter and its gradient "
        "hold one another, until p.grad = None.";
    // What Python holds would have been found.
    const bool is_held = TestimonyOf(scene.holders(), pile.lives).decides();
    cause.action = is_held ? cause.action + " " + about : about + " Else: " + cause.action;
  }
  return cause;
}

Found KeptOutputs(const Scene& scene) {
  const Pile pile = PileOf(scene);
  if (pile.lives.empty() || pile.is_graph) return std::nullopt;
  Cause cause = OfPile(scene, pile);
  if (!scene.IsLarge(cause.bytes)) return std::nullopt;
  cause.id = "kept_outputs";
  cause.title = "A result of each pass stays on the card";
  cause.evidence += " A list, a dict or a hook holds them.";
  cause.cost = "A transfer for each.";
  const Testimony told = TestimonyOf(scene.holders(), pile.lives);
  if (told.viewed * 2 > told.known) {
    cause.evidence += " What is held are views: a view keeps the whole tensor that it is cut from.";
    cause.action = "Keep a .clone() of the part that is needed, or .cpu() of it.";
    cause.cost = "A copy of the part.";
  } else {
    cause.action =
        "Keep what is needed of it (a mean, an index, a .clone() of a slice), or .cpu() of it.";
  }
  const std::vector<HolderFacts> holders = scene.holders().OfAll(pile.lives);
  const std::string about = holders.empty() ? "" : WhatToDoAbout(holders.front().holder);
  if (!about.empty()) cause.action = about + " Else: " + cause.action;
  return cause;
}

// Several graphs of one pass: a sum of losses, or a loop that is unrolled.
Found SummedGraphs(const Scene& scene) {
  if (scene.pass() < 0) return std::nullopt;
  const uint64_t begin = scene.pass_begin();
  const std::vector<uint64_t> turns = Passes::TurnsWithin(scene.detail(), begin, scene.event() + 1);
  if (turns.size() < kLeastPasses) return std::nullopt;
  std::map<uint32_t, std::set<size_t>> turns_of;  // by site
  std::vector<const Life*> made;
  uint64_t backward = 0;  // made by one that runs, or has run
  for (const Life* life : scene.live()) {
    const SiteDetail& site = scene.site_of(*life);
    if (site.in_backward && life->tensor && life->birth >= begin) backward += life->size;
    if (life->birth < begin || !MayPileUp(scene, *life)) continue;
    const auto turn = std::ranges::upper_bound(turns, life->birth) - turns.begin();
    turns_of[life->site].insert(static_cast<size_t>(turn));
    made.push_back(life);
  }
  const uint64_t all = BytesOf(made);
  std::erase_if(made, [&](const Life* life) {
    return turns_of[life->site].size() < kLeastPasses || life->birth >= turns.back();
  });
  Cause cause;
  cause.held = made;
  cause.bytes = BytesOf(made);
  if (backward * kSmallPart > all || cause.bytes * 2 < all || !scene.IsLarge(cause.bytes))
    return std::nullopt;
  const Testimony told = TestimonyOf(scene.holders(), made);
  if (told.decides() && told.in_graph * 4 < told.known) return std::nullopt;
  cause.id = "held_graphs";
  cause.change = FreedWithTurn(scene, made, turns);
  cause.title = "The graphs of several turns wait for one backward pass";
  cause.place = CommonPlace(scene.detail(), made, true);
  if (cause.place.empty()) cause.place = PlaceInProgram(scene, made);
  cause.evidence = std::to_string(turns.size()) + " turns of a loop within one step made " +
                   AdviceText(cause.bytes) +
                   " that wait for one backward pass: " + LargestPlaces(scene.detail(), made) + ".";
  if (IsNewWork(scene, made, begin)) {
    cause.title = "Graphs are recorded where nobody calls backward()";
    cause.evidence =
        std::to_string(turns.size()) + " turns of a loop left " + AdviceText(cause.bytes) +
        " that autograd saved for a backward pass: " + LargestPlaces(scene.detail(), made) +
        ". No step before had one for these lines.";
    cause.cost = "None.";
    cause.action =
        "If it is an evaluation: run it under torch.no_grad() or torch.inference_mode(). Else call "
        "backward() on each turn's loss, instead of on the sum of all.";
    return cause;
  }
  cause.cost = "None: gradients add up.";
  cause.action =
      "Call backward() on each turn's loss, divided by their number, instead of on the sum of all; "
      "where a turn needs the one before, every few turns, and detach() what goes on.";
  return cause;
}

// x = f(x): the old block goes when the new one is there, which was too late.
Found KeptReference(const Scene& scene) {
  if (scene.pass() < 1) return std::nullopt;
  std::vector<const Life*> same;
  for (const Life* life : scene.live()) {
    const bool is_same = life->site == scene.failure().site_number ||
                         SameWork(scene.site_of(*life), scene.request_site());
    if (!is_same || !life->tensor) continue;
    if (life->size + (1 << 20) < scene.requested()) continue;
    same.push_back(life);
  }
  if (same.size() != 1 || scene.PassOf(*same.front()) >= scene.pass()) return std::nullopt;
  if (!scene.IsLarge(same.front()->size)) return std::nullopt;
  Cause cause;
  cause.id = "delete_reference";
  cause.change = FreedBefore(scene.detail(), same, scene.pass_begin());
  cause.title = "The last pass's result is still there while the next one is made";
  cause.bytes = same.front()->size;
  cause.held = same;
  cause.place = PlaceOfRequest(scene);
  cause.evidence = "The same line had made " + AdviceText(cause.bytes) +
                   " in the pass before, and the variable keeps it until the new value is there.";
  cause.cost = "None, if nothing reads it any more.";
  cause.action = "del the variable before " + cause.place + " runs again.";
  return cause;
}

}  // namespace vramstow
