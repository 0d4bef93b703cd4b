// Finds the purpose of memory. If the program states the purpose by marks (docs/contracts.md), the
// mark decides. Otherwise the purpose follows from the lines where a block was allocated and freed,
// and from whether the block outlived the phase that made it. Each category is reported with its
// evidence.
#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <ranges>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tools/analysis/explain/bucket_sites.h"
#include "tools/analysis/explain/category_of.h"
#include "tools/analysis/explain/census_summary.h"
#include "tools/analysis/explain/explain.h"
#include "tools/analysis/explain/holders.h"
#include "tools/analysis/explain/phases_over.h"

namespace vramstow {
namespace {

enum Category : uint8_t {
  kParameters,
  kGradients,
  kOptimizerState,
  kActivations,
  kTemporaries,
  kInputs,
  kWorkspaces,
  kCaches,
  kKept,
  kUnknownUse,
  kCategories,
};

constexpr std::array<const char*, kCategories> kNames = {
    "parameters", "gradients",  "optimizer_state", "activations", "temporaries",
    "inputs",     "workspaces", "caches",          "kept",        "unknown"};

constexpr std::array<const char*, kCategories> kEvidence = {
    "allocated while a model was created or moved, and still live afterwards",
    "allocated in the backward pass, and still live when it was over",
    "allocated in an optimizer, and still live afterwards",
    "allocated in the forward pass or before the recording, and needed in the backward pass",
    "freed in the phase in which it was allocated",
    "allocated where data are loaded",
    "allocated by a math library or by a function that makes workspaces",
    "allocated by a function that creates a cache of keys and values, or grows or stays like one",
    "referenced by the program's own variables, as a census found",
    "neither call stack nor lifetime shows the purpose"};

constexpr char kReported[] = "reported by the program";
constexpr char kHeld[] = "held by modules";
constexpr char kOwned[] = "referenced by optimizers";
constexpr std::string_view kMark = "vramstow.category ";
constexpr std::string_view kWeights = "vramstow.weights ";
constexpr std::string_view kMasters = "vramstow.masters ";

// The purpose that the program states for the block at this address at that time.
struct MarkedUse {
  uint64_t address = 0;
  uint64_t event = 0;
  Category category = kUnknownUse;
  bool by_hook = false;  // reported by the start-up hook, from modules and optimizers
  // True if a census (a reference scan) found the block in an object that outlives the call that
  // allocated the block.
  bool is_kept = false;
  bool is_buffer = false;  // a census found it as a module's buffer
};

// Parses "vramstow.category CATEGORY 0xADDRESS …". Returns false if the text is not such a mark.
bool ReadMarkedUse(const MarkDetail& mark, MarkedUse* use) {
  std::string_view text = mark.text;
  if (!text.starts_with(kMark)) return false;
  text.remove_prefix(kMark.size());
  const std::string_view name = text.substr(0, text.find(' '));
  const auto known = std::ranges::find(kNames, name);
  if (known == kNames.end() || !text.substr(name.size()).starts_with(" 0x")) return false;
  text.remove_prefix(name.size() + 3);
  const auto read = std::from_chars(text.data(), text.data() + text.size(), use->address, 16);
  if (read.ec != std::errc()) return false;
  use->category = static_cast<Category>(known - kNames.begin());
  use->event = mark.event;
  return true;
}

// Parses "vramstow.weights 0xADDRESS 0xADDRESS …", the parameters and buffers that modules hold,
// and "vramstow.masters …", an optimizer's copies of them and its state that modules hold.
void ReadWeights(const MarkDetail& mark, std::vector<MarkedUse>* marked) {
  std::string_view text = mark.text;
  const bool are_masters = text.starts_with(kMasters);
  if (!are_masters && !text.starts_with(kWeights)) return;
  text.remove_prefix(are_masters ? kMasters.size() : kWeights.size());
  while (text.starts_with("0x")) {
    MarkedUse use = {0, mark.event, are_masters ? kOptimizerState : kParameters, true};
    const auto read = std::from_chars(text.data() + 2, text.data() + text.size(), use.address, 16);
    if (read.ec != std::errc()) return;
    marked->push_back(use);
    text.remove_prefix(static_cast<size_t>(read.ptr - text.data()));
    if (text.starts_with(' ')) text.remove_prefix(1);
  }
}

// Derives the category from the role that a census (a reference scan) gives to memory. Returns
// false if the role implies no category.
bool ReadRole(const std::string& role, Category* category) {
  if (role == "parameter" || role == "buffer") {
    *category = kParameters;
  } else if (role == "gradient") {
    *category = kGradients;
  } else if (role == "optimizer_state") {
    *category = kOptimizerState;
  } else if (role == "saved") {
    *category = kActivations;
  } else {
    return false;
  }
  return true;
}

// True if the program references the block, and autograd does not use it.
bool IsPlainResult(const HeldBlock& block) {
  if (IsGarbage(block)) return block.role == "other";
  return block.role == "other" && !IsInGraph(block) &&
         block.about.find("made by") == std::string::npos &&
         block.about.find("requires grad") == std::string::npos;
}

class MarkedCategories {
 public:
  explicit MarkedCategories(const Detail& detail) {
    MarkedUse use;
    for (const CensusDetail& census : detail.censuses) {
      for (const HeldBlock& block : census.blocks) {
        const bool is_garbage = IsGarbage(block) && block.role == "saved";
        const bool has_role = !is_garbage && ReadRole(block.role, &use.category);
        if (!has_role && !is_garbage && !IsPlainResult(block)) continue;
        marked_.push_back({block.address, census.event, has_role ? use.category : kUnknownUse,
                           false, !is_garbage && !IsLocal(block.holder), block.role == "buffer"});
      }
    }
    for (const MarkDetail& mark : detail.marks) {
      if (ReadMarkedUse(mark, &use)) marked_.push_back(use);
      const size_t before = marked_.size();
      ReadWeights(mark, &marked_);
      reports_weights_ |= marked_.size() > before;
    }
    std::ranges::stable_sort(marked_, {},
                             [](const MarkedUse& t) { return std::tie(t.address, t.event); });
  }
  // True if Python's start-up hook reports which memory modules hold.
  bool reports_weights() const { return reports_weights_; }
  // Returns the mark that states the purpose of a block, or null if there is none. The last of
  // several marks counts.
  const MarkedUse* Find(const Life& life) const {
    const MarkedUse end = {life.address, life.death, kUnknownUse, false};
    auto after =
        std::ranges::lower_bound(marked_, std::tie(end.address, end.event), {},
                                 [](const MarkedUse& t) { return std::tie(t.address, t.event); });
    if (after == marked_.begin()) return nullptr;
    --after;
    if (!IsOf(*after, life)) return nullptr;
    // If the census (a reference scan) reports a buffer, an earlier mark of the start-up hook has
    // precedence, because the hook knows whether an optimizer owns the buffer.
    for (auto earlier = after; after->is_buffer && earlier != marked_.begin();) {
      --earlier;
      if (!IsOf(*earlier, life)) break;
      if (earlier->by_hook) return &*earlier;
    }
    return &*after;
  }

 private:
  static bool IsOf(const MarkedUse& use, const Life& life) {
    return use.address == life.address && use.event >= life.birth;
  }

  std::vector<MarkedUse> marked_;
  bool reports_weights_ = false;
};

// Returns "Class." for "file.py:12 Class.method"; empty if the function belongs to no class.
std::string_view ClassOf(std::string_view frame) {
  const std::string_view function = frame.substr(frame.rfind(' ') + 1);
  return function.substr(0, function.rfind('.') + 1);
}

// True if a constructor of the program or of a library makes the block, itself or through methods
// of its class, but not through a function of PyTorch's. Weights are reported when a module gets
// them, so a block that is not reported is a buffer or a table.
bool IsOfConstructor(const Detail& detail, const SiteDetail& site) {
  if (site.phase != Phase::kInit) return false;
  std::string_view own_class;
  for (const uint32_t frame : std::views::reverse(site.frames)) {
    const std::string& text = detail.frames[frame];
    if (text.find(".py:") == std::string::npos) continue;
    const bool is_torch =
        frame < detail.files.size() && detail.files[frame].find("torch/") != std::string::npos;
    if (is_torch || (!own_class.empty() && ClassOf(text) != own_class)) return false;
    if (text.ends_with("__init__")) return true;
    own_class = ClassOf(text);
    if (own_class.empty()) return false;
  }
  return false;
}

Category CategoryOf(const Detail& detail, const PhasesOver& phases, const Life& life) {
  const SiteDetail& site = detail.sites[life.site];
  const Phase freed = detail.sites[life.free_site].phase;
  const bool kept = life.death == kStillLive;
  if (MakesGradientBuckets(detail, site)) return kGradients;
  switch (site.phase) {
    case Phase::kWorkspace:
      return kWorkspaces;
    case Phase::kCache:
      // In training, the keys and values of a batch wait for its backward pass.
      return freed == Phase::kBackward || phases.LivesIntoBackward(life) ? kActivations : kCaches;
    case Phase::kData:
      return kInputs;
    case Phase::kInit:
      return kept || phases.Outlives(life, Phase::kInit) ? kParameters : kTemporaries;
    case Phase::kOptimizer:
      return kept || phases.Outlives(life, Phase::kOptimizer) ? kOptimizerState : kTemporaries;
    case Phase::kBackward:
      if (freed != Phase::kUnknown) return freed == Phase::kBackward ? kTemporaries : kGradients;
      return phases.Outlives(life, Phase::kBackward) ? kGradients : kTemporaries;
    case Phase::kForward:
      if (freed == Phase::kBackward) return kActivations;
      if (kept) return kUnknownUse;
      if (freed != Phase::kUnknown) return kTemporaries;
      // The call site of the free is unknown, but the trace shows which phases came before it.
      if (phases.LivesIntoBackward(life)) return kActivations;
      return phases.Outlives(life, Phase::kForward) ? kUnknownUse : kTemporaries;
    case Phase::kUnknown:
      break;
  }
  // For a block that was allocated before the recording, only the end of its life is known.
  if (freed == Phase::kBackward) return kActivations;
  if (freed == Phase::kOptimizer && life.opened) return kGradients;
  // The block may belong to a loss that the program computes outside of any module.
  if (!life.opened && phases.BridgesToBackward(life)) return kActivations;
  return kUnknownUse;
}

}  // namespace

struct CategoryFinder::Known {
  explicit Known(const Detail& all)
      : detail(all),
        phases(all),
        own_caches(std::in_place, all, phases),
        caches(*own_caches),
        marked(all) {}
  Known(const Detail& all, const KvCaches& of_text)
      : detail(all), phases(all), caches(of_text), marked(all) {}
  // Returns the category of a block. *by_mark is set to the mark that states it, or to null.
  Category Of(const Life& life, const MarkedUse** by_mark) const {
    const MarkedUse* said = marked.Find(life);
    *by_mark = said != nullptr && said->category != kUnknownUse ? said : nullptr;
    if (*by_mark != nullptr) return said->category;
    if (caches.Has(life)) return kCaches;
    const Category seen = CategoryOf(detail, phases, life);
    if (seen == kParameters && marked.reports_weights() && life.tensor &&
        IsOfConstructor(detail, detail.sites[life.site])) {
      return kUnknownUse;
    }
    // Blocks that a checkpoint recomputed wait for their backward pass in a list that the
    // checkpoint holds.
    if (said == nullptr || detail.sites[life.site].in_backward) return seen;
    const bool is_open = seen == kTemporaries || seen == kActivations || seen == kUnknownUse;
    if (said->is_kept && is_open) return kKept;
    return seen == kActivations ? kUnknownUse : seen;
  }

  const Detail& detail;
  PhasesOver phases;
  std::optional<KvCaches> own_caches;
  const KvCaches& caches;
  MarkedCategories marked;
};

CategoryFinder::CategoryFinder(const Detail& detail) : known_(std::make_unique<Known>(detail)) {}
CategoryFinder::CategoryFinder(const Detail& detail, const KvCaches& caches)
    : known_(std::make_unique<Known>(detail, caches)) {}
CategoryFinder::~CategoryFinder() = default;

std::string CategoryFinder::NameOf(const Life& life) const {
  const MarkedUse* by_mark = nullptr;
  return kNames[known_->Of(life, &by_mark)];
}

void CategoryFinder::AddUp(Facts* facts) const {
  if (!facts->by_category.empty() || facts->peak.allocated_bytes == 0) return;
  const Detail& detail = known_->detail;
  std::array<Amount, kCategories> amounts = {};
  std::array<uint64_t, kCategories> marked_blocks = {};
  std::array<uint64_t, kCategories> held_blocks = {};
  uint64_t known_bytes = 0;
  for (const Life& life : detail.lives) {
    if (life.pending || !life.LivesAt(detail.peak_event)) continue;
    const MarkedUse* by_mark = nullptr;
    const Category category = known_->Of(life, &by_mark);
    if (by_mark != nullptr) ++(by_mark->by_hook ? held_blocks : marked_blocks)[category];
    Amount& amount = amounts[category];
    amount.bytes += life.size;
    ++amount.blocks;
    known_bytes += life.size;
  }
  // A long trace does not store small and short lives, so their bytes count as temporaries.
  if (detail.lives_left_out > 0 && facts->peak.allocated_bytes > known_bytes) {
    amounts[kTemporaries].bytes += facts->peak.allocated_bytes - known_bytes;
  }
  for (size_t i = 0; i < kCategories; ++i) {
    if (amounts[i].bytes == 0) continue;
    std::string evidence = kEvidence[i];
    const uint64_t blocks = amounts[i].blocks;
    if (held_blocks[i] > 0) {
      const bool is_rest = held_blocks[i] + marked_blocks[i] < blocks;
      const char* held = i == kOptimizerState ? kOwned : kHeld;
      evidence = is_rest ? absl::StrCat(held, ", or ", evidence) : held;
    }
    if (marked_blocks[i] > 0) {
      evidence =
          marked_blocks[i] == blocks ? kReported : absl::StrCat(kReported, ", or ", evidence);
    }
    facts->by_category.push_back({kNames[i], amounts[i], std::move(evidence)});
  }
  std::ranges::stable_sort(facts->by_category, [](const auto& a, const auto& b) {
    return a.at_peak.bytes > b.at_peak.bytes;
  });
}

}  // namespace vramstow
