#include "tools/analysis/site_details.h"

#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "tools/analysis/call_stack.h"
#include "tools/analysis/library_name.h"

namespace vramstow {
namespace {

// Frames are kept once.
class FrameTable {
 public:
  explicit FrameTable(std::vector<std::string>* frames) : frames_(frames) {}
  uint32_t Find(const std::string& frame) {
    const auto [known, inserted] =
        numbers_.try_emplace(frame, static_cast<uint32_t>(frames_->size()));
    if (inserted) frames_->push_back(frame);
    return known->second;
  }

 private:
  std::vector<std::string>* frames_;
  absl::flat_hash_map<std::string, uint32_t> numbers_;
};

// Sites of which `name` is the same, together; who held most at the peak first. The operation that
// held most stands for the group.
std::vector<SiteFacts> Grouped(const Detail& detail, std::string SiteDetail::*name) {
  std::map<std::string, SiteFacts> groups;
  std::map<std::string, uint64_t> most_of;
  for (const SiteDetail& site : detail.sites) {
    if (site.allocations == 0 && site.at_peak.blocks == 0 && site.at_end.blocks == 0) continue;
    const auto [known, inserted] = groups.try_emplace(site.*name);
    SiteFacts& group = known->second;
    uint64_t& most = most_of[site.*name];
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
  if (sorted.size() > kMostSites) sorted.resize(kMostSites);
  return sorted;
}

// What a site held and allocated.
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
  site->module = std::move(words.module);
  site->phase = words.phase;
  site->empties_cache = words.empties_cache;
  site->in_backward = words.in_backward;
  site->in_optimizer = words.in_optimizer;
  site->is_own_call = words.is_own_call;
  site->is_float64 = words.is_float64;
  for (const OwnLine& own : words.own) {
    site->own.push_back({lines->Find(own.text), own.function, own.line});
  }
  for (const std::string& frame : words.frames) site->frames.push_back(frames->Find(frame));
}

// `is_opening`: of blocks that were there before the recording.
void NameByCall(const std::string& library, const std::string& call, bool is_opening,
                FrameTable* frames, SiteDetail* site) {
  constexpr const char* kBefore = "before the recording";
  site->operation = is_opening ? kBefore : call;
  site->site = !library.empty() ? library : is_opening ? kBefore : "no call stack";
  site->frames.push_back(frames->Find(site->site));
  if (!library.empty()) site->frames.push_back(frames->Find(site->operation));
  // Math libraries ask the driver for workspaces.
  if (library.starts_with("libcublas") || library.starts_with("libcudnn")) {
    site->phase = Phase::kWorkspace;
  }
}

}  // namespace

void FillSites(const Accounts& accounts, const EventSource& source, Detail* detail) {
  FrameTable frames(&detail->frames);
  FrameTable lines(&detail->lines);
  const std::vector<SiteTable::Site>& known = accounts.sites().sites();
  detail->sites.reserve(known.size());
  for (size_t i = 0; i < known.size(); ++i) {
    SiteDetail site = SumsOf(accounts, i);
    if (i == 0) {
      site.site = "unknown";
      site.frames.push_back(frames.Find(site.site));
    } else if (known[i].stack != 0) {
      NameByStack(WordsOf(source.Frames(known[i].stack)), &frames, &lines, &site);
    } else {
      const std::string library =
          known[i].library == kUnknownName ? "" : LibraryName(source.LibraryPath(known[i].library));
      NameByCall(library, std::string(source.CallName(known[i].call)),
                 accounts.opening_call() == known[i].call, &frames, &site);
    }
    detail->sites.push_back(std::move(site));
  }
}

void FillSiteFacts(const Detail& detail, Facts* facts) {
  facts->by_site = Grouped(detail, &SiteDetail::site);
  facts->by_operation = Grouped(detail, &SiteDetail::operation);
  for (SiteFacts& row : facts->by_operation) row.site.clear();
  facts->by_module = Grouped(detail, &SiteDetail::module);
  std::erase_if(facts->by_module, [](const SiteFacts& row) { return row.site.empty(); });
  for (auto* blocks : {&facts->largest_at_peak, &facts->live.groups}) {
    for (BlockFacts& block : *blocks) {
      const SiteDetail& site = detail.sites[block.site_number];
      if (site.by_stack) block.site = site.site;
    }
  }
}

}  // namespace vramstow
