#include "tools/analysis/accounts/site_details.h"

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "tools/analysis/accounts/call_stack.h"
#include "tools/base/library_name.h"

namespace vramstow {
namespace {

// Many call sites of a file could share one longer name of a call or a library, and each has a
// copy.
constexpr size_t kLongestSiteName = 1024;

// A table that stores equal frames once.
class FrameTable {
 public:
  // `files` is null if the files of the frames are not needed.
  FrameTable(std::vector<std::string>* frames, std::vector<std::string>* files)
      : frames_(frames), files_(files) {}
  uint32_t Find(const std::string& frame, const std::string& file = "") {
    const auto [known, inserted] =
        numbers_.try_emplace(frame, static_cast<uint32_t>(frames_->size()));
    if (inserted) frames_->push_back(frame);
    if (files_ == nullptr) return known->second;
    if (inserted) files_->push_back(file);
    // Two files with the same name have the same function on the same line, so the file is
    // ambiguous.
    std::string& first = (*files_)[known->second];
    if (first != file) first.clear();
    return known->second;
  }

 private:
  std::vector<std::string>* frames_;
  std::vector<std::string>* files_;
  absl::flat_hash_map<std::string, uint32_t> numbers_;
};

// Returns the displayed names of modules. Modules that differ only in a number share a name:
// "blocks.*.up (8x)".
std::map<std::string, std::string> ModuleNames(const Detail& detail) {
  std::set<std::string> modules;
  for (const SiteDetail& site : detail.sites) {
    if (!site.module.empty()) modules.insert(site.module);
  }
  // If the paths of modules in the model are not known, the classes of the modules are used
  // instead.
  const bool any = !modules.empty();
  for (const SiteDetail& site : detail.sites) {
    if (!any && !site.classes.empty()) modules.insert(site.classes);
  }
  std::map<std::string, std::vector<std::string>> alike;
  for (const std::string& module : modules) {
    // A module that contains other modules (blocks.3) is a layer, like its neighbours.
    const std::string below = module + ".";
    const auto part = modules.lower_bound(below);
    const bool has_parts = part != modules.end() && part->starts_with(below);
    std::string name = WithoutNumbers(has_parts ? below : module);
    if (has_parts) name.pop_back();
    alike[name].push_back(module);
  }
  std::map<std::string, std::string> names;
  for (const auto& [name, same] : alike) {
    for (const std::string& module : same) {
      names[module] = same.size() == 1 ? module : absl::StrCat(name, " (", same.size(), "x)");
    }
  }
  return names;
}

// Returns the call sites grouped by name, the largest at the peak first. The operation with the
// most bytes stands for the group.
std::vector<SiteFacts> Grouped(const Detail& detail,
                               const std::function<std::string(const SiteDetail&)>& name_of) {
  std::map<std::string, SiteFacts> groups;
  std::map<std::string, uint64_t> most_of;
  for (const SiteDetail& site : detail.sites) {
    if (site.allocations == 0 && site.at_peak.blocks == 0 && site.at_end.blocks == 0) continue;
    const std::string name = name_of(site);
    const auto [known, inserted] = groups.try_emplace(name);
    SiteFacts& group = known->second;
    uint64_t& most = most_of[name];
    if (inserted || site.at_peak.bytes > most) {
      group.operation = site.operation;
      most = site.at_peak.bytes;
    }
    group.allocations += site.allocations;
    group.total_bytes += site.total_bytes;
    group.at_peak.bytes += site.at_peak.bytes;
    group.at_peak.blocks += site.at_peak.blocks;
    group.at_end.bytes += site.at_end.bytes;
    group.at_end.blocks += site.at_end.blocks;
  }
  std::vector<SiteFacts> sorted;
  sorted.reserve(groups.size());
  for (auto& [words, group] : groups) {
    group.site = words;
    sorted.push_back(std::move(group));
  }
  std::stable_sort(sorted.begin(), sorted.end(), [](const SiteFacts& a, const SiteFacts& b) {
    return std::tie(b.at_peak.bytes, b.total_bytes) < std::tie(a.at_peak.bytes, a.total_bytes);
  });
  if (sorted.size() > kMaxSites) sorted.resize(kMaxSites);
  return sorted;
}

// Returns the bytes and blocks that a call site held and allocated.
SiteDetail SumsOf(const Accounts& accounts, size_t number) {
  SiteDetail site;
  const Levels& levels = accounts.levels();
  if (number < levels.sites().size()) {
    site.at_peak = levels.sites()[number].AtPeak(levels.epoch());
    site.at_end = levels.sites()[number].now();
  }
  if (number < accounts.site_sums().size()) {
    site.allocations = accounts.site_sums()[number].allocations;
    site.total_bytes = accounts.site_sums()[number].bytes;
  }
  return site;
}

void NameByStack(StackWords words, FrameTable* frames, FrameTable* lines, SiteDetail* site) {
  site->by_stack = true;
  site->site = std::move(words.site);
  site->operation = std::move(words.operation);
  site->made_by = std::move(words.made_by);
  site->module = std::move(words.module);
  site->classes = std::move(words.classes);
  // The source line that calls a model does not say which part of the model allocates.
  if (!site->classes.empty()) {
    site->site += " in " + site->classes.substr(site->classes.rfind('.') + 1);
  }
  site->phase = words.phase;
  site->empties_cache = words.empties_cache;
  site->empty_cache_line = std::move(words.empty_cache_line);
  site->in_backward = words.in_backward;
  site->in_optimizer = words.in_optimizer;
  site->is_own_call = words.is_own_call;
  site->is_float64 = words.is_float64;
  for (const OwnLine& own : words.own) {
    site->own.push_back({lines->Find(own.text), own.function, own.line});
  }
  for (size_t i = 0; i < words.frames.size(); ++i) {
    site->frames.push_back(frames->Find(words.frames[i], words.files[i]));
  }
}

// If one line of the program, such as trainer.train(), stands for nearly all allocations, its name
// is useless. Then each of its call sites is named after the library's source line that made the
// request.
void NameNearer(const std::vector<std::string>& library_sites, Detail* detail) {
  constexpr double kNearlyAll = 0.9;
  constexpr size_t kLeastStacks = 8;
  struct Line {
    uint64_t bytes = 0;
    size_t stacks = 0;
  };
  std::map<uint32_t, Line> lines;
  uint64_t all = 0;
  for (const SiteDetail& site : detail->sites) {
    if (site.own.empty()) continue;
    Line& line = lines[site.own.back().text];
    line.bytes += site.total_bytes;
    ++line.stacks;
    all += site.total_bytes;
  }
  for (size_t i = 0; i < detail->sites.size(); ++i) {
    SiteDetail& site = detail->sites[i];
    if (site.own.empty() || library_sites[i].empty()) continue;
    const Line& line = lines[site.own.back().text];
    const bool is_most = static_cast<double>(line.bytes) >= kNearlyAll * static_cast<double>(all);
    if (is_most && line.stacks >= kLeastStacks) site.site = library_sites[i];
  }
}

// True if backward() or torch.autograd.grad() allocates the blocks on the program's thread that
// calls it.
bool IsCallOfAutograd(const Detail& detail, const SiteDetail& site) {
  if (!site.in_backward || site.own.empty()) return false;
  return std::ranges::any_of(site.frames, [&](uint32_t frame) {
    const std::string& text = detail.frames[frame];
    return text.starts_with("__init__.py:") &&
           (text.ends_with(" backward") || text.ends_with(" grad"));
  });
}

// Finds the program's line that called backward() for call sites on autograd's own threads, which
// have no Python frames. This line is the last call of backward() on the program's thread before
// the allocation. A call site gets this line unless much of its memory was allocated for other or
// unknown lines.
class BackwardCalls {
 public:
  explicit BackwardCalls(Detail* detail) : detail_(*detail), callers_(detail->sites.size()) {
    for (const Life& life : detail_.lives) {
      if (life.tensor && !life.opened && !life.pending) Add(life);
    }
  }
  void NameSites() {
    constexpr uint64_t kNearlyAll = 10;  // 1/10 of the bytes may be from unknown lines
    for (size_t i = 0; i < callers_.size(); ++i) {
      const Caller& caller = callers_[i];
      if (!caller.is_known || caller.others * kNearlyAll > caller.bytes) continue;
      SiteDetail& site = detail_.sites[i];
      const bool is_named = site.site.starts_with("backward of ");
      site.site = (is_named ? site.site : "backward") + " (" + detail_.lines[caller.line] + ")";
    }
  }

 private:
  struct Caller {
    bool is_known = false;
    uint32_t line = 0;
    uint64_t bytes = 0;
    uint64_t others = 0;  // bytes of other lines or of unknown ones
  };

  void Add(const Life& life) {
    const SiteDetail& site = detail_.sites[life.site];
    if (IsCallOfAutograd(detail_, site)) {
      is_called_ = true;
      is_running_ = false;
      line_ = site.own.back().text;
    } else if (site.in_backward && site.own.empty() && site.by_stack) {
      is_running_ = true;
      if (!site.module.empty()) return;
      Caller& caller = callers_[life.site];
      if (is_called_ && !caller.is_known) {
        caller.is_known = true;
        caller.line = line_;
      }
      const bool is_same = is_called_ && caller.line == line_;
      (is_same ? caller.bytes : caller.others) += life.size;
    } else if (is_running_ && !site.own.empty() && !site.in_backward) {
      // The backward pass is over. The next one may begin without an allocation that shows its
      // line.
      is_called_ = is_running_ = false;
    }
  }

  Detail& detail_;
  std::vector<Caller> callers_;  // the index is the site
  uint32_t line_ = 0;
  bool is_called_ = false;
  bool is_running_ = false;
};

// True for math and communication libraries, which request workspaces from the driver. It does not
// matter which line of the program called them.
bool TakesWorkspaces(const std::string& library) {
  return library.starts_with("libcublas") || library.starts_with("libcudnn") ||
         library.starts_with("libnccl");
}

// `is_opening` says that the blocks were allocated before the recording began.
void NameByCall(const std::string& library, const std::string& call, bool is_opening,
                FrameTable* frames, SiteDetail* site) {
  constexpr const char* kBefore = "before the recording";
  site->operation = is_opening ? kBefore : call;
  site->made_by = site->operation;
  site->site = !library.empty() ? library : is_opening ? kBefore : "no call stack";
  site->frames.push_back(frames->Find(site->site));
  if (!library.empty()) site->frames.push_back(frames->Find(site->operation));
  if (TakesWorkspaces(library)) site->phase = Phase::kWorkspace;
}

}  // namespace

void FillSites(const Accounts& accounts, const EventSource& source, Detail* detail) {
  FrameTable frames(&detail->frames, &detail->files);
  FrameTable lines(&detail->lines, nullptr);
  const std::vector<SiteTable::Site>& known = accounts.sites().sites();
  detail->sites.reserve(known.size());
  std::vector<std::string> library_sites(known.size());
  for (size_t i = 0; i < known.size(); ++i) {
    SiteDetail site = SumsOf(accounts, i);
    if (i == 0) {
      site.site = "unknown";
      site.frames.push_back(frames.Find(site.site));
      detail->sites.push_back(std::move(site));
      continue;
    }
    const std::string library =
        known[i].library == kUnknownName
            ? ""
            : LibraryName(source.LibraryPath(known[i].library)).substr(0, kLongestSiteName);
    if (known[i].stack != 0) {
      StackWords words = WordsOf(source.Frames(known[i].stack));
      library_sites[i] = words.library_site;
      NameByStack(std::move(words), &frames, &lines, &site);
      if (TakesWorkspaces(library)) site.phase = Phase::kWorkspace;
    } else {
      NameByCall(library, std::string(source.CallName(known[i].call).substr(0, kLongestSiteName)),
                 accounts.opening_call() == known[i].call, &frames, &site);
    }
    detail->sites.push_back(std::move(site));
  }
  NameNearer(library_sites, detail);
}

void NameBackward(Detail* detail) { BackwardCalls(detail).NameSites(); }

void FillSiteFacts(const Detail& detail, Facts* facts) {
  facts->by_site = Grouped(detail, &SiteDetail::site);
  facts->by_operation = Grouped(detail, &SiteDetail::operation);
  for (SiteFacts& row : facts->by_operation) row.site.clear();
  const std::map<std::string, std::string> modules = ModuleNames(detail);
  facts->by_module = Grouped(detail, [&modules](const SiteDetail& site) {
    const auto name = modules.find(site.module.empty() ? site.classes : site.module);
    return name == modules.end() ? "" : name->second;
  });
  std::erase_if(facts->by_module, [](const SiteFacts& row) { return row.site.empty(); });
  for (auto* blocks : {&facts->largest_at_peak, &facts->live.groups}) {
    for (BlockFacts& block : *blocks) {
      const SiteDetail& site = detail.sites[block.site_number];
      if (site.by_stack) block.site = site.site;
    }
  }
}

}  // namespace vramstow
