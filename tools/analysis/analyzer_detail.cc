// The end of the analysis: what the facts rest on, and what is said of pools and call sites.
#include <algorithm>
#include <map>
#include <tuple>

#include "tools/analysis/analyzer.h"
#include "tools/analysis/call_stack.h"
#include "tools/analysis/library_name.h"

namespace vramstow {
namespace {

constexpr size_t kMostMarks = 100000;

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

}  // namespace

void Analyzer::AddText(const Event& event, std::string_view text) {
  if (event.kind == EventKind::kLaunch) return launches_.Add(event, text, events_);
  launches_.Mark(event, text);
  AddMark(event, text);
}

void Analyzer::AddMark(const Event& event, std::string_view text) {
  if (marks_.size() == kMostMarks) {
    ++marks_left_out_;
    return;
  }
  MarkDetail mark;
  mark.event = events_;
  mark.time_ns = now_ns_;
  mark.text = text;
  // Event::offset: 1 begins, 2 ends.
  if (event.offset == 1) mark.kind = MarkDetail::Kind::kBegin;
  if (event.offset == 2) mark.kind = MarkDetail::Kind::kEnd;
  marks_.push_back(std::move(mark));
}

void Analyzer::FillSites(const EventSource& source, Detail* detail) const {
  FrameTable frames(&detail->frames);
  const uint64_t epoch = levels_.epoch();
  detail->sites.resize(sites_.sites().size());
  detail->sites[0].site = "unknown";
  for (size_t i = 0; i < detail->sites.size(); ++i) {
    SiteDetail& site = detail->sites[i];
    if (i < levels_.sites().size()) {
      site.at_peak = levels_.sites()[i].AtPeak(epoch);
      site.at_end = levels_.sites()[i].now();
    }
    if (i < site_allocations_.size()) {
      site.allocations = site_allocations_[i];
      site.total_bytes = site_bytes_[i];
    }
    const SiteTable::Site& known = sites_.sites()[i];
    if (known.stack != 0) {
      StackWords words = WordsOf(source.Frames(known.stack));
      site.by_stack = true;
      site.site = std::move(words.site);
      site.operation = std::move(words.operation);
      site.module = std::move(words.module);
      site.phase = words.phase;
      site.empties_cache = words.empties_cache;
      for (const std::string& frame : words.frames) site.frames.push_back(frames.Find(frame));
      continue;
    }
    const std::string library =
        known.library == kUnknownName ? "" : LibraryName(source.LibraryPath(known.library));
    const std::string call(source.CallName(known.call));
    if (i != 0) {
      site.operation = opening_call_ == known.call ? "before the recording" : call;
      site.site = !library.empty()              ? library
                  : opening_call_ == known.call ? "before the recording"
                                                : "no call stack";
    }
    site.frames.push_back(frames.Find(site.site));
    if (!library.empty()) site.frames.push_back(frames.Find(site.operation));
    // Math libraries ask the driver for workspaces.
    if (library.starts_with("libcublas") || library.starts_with("libcudnn")) {
      site.phase = Phase::kWorkspace;
    }
  }
}

void Analyzer::FillLives(Detail* detail) {
  ForEachLive([this](const LiveBlock& block) {
    if (IsDeviceMemory(block.memory)) lives_.Add(LifeOf(block));
  });
  for (const auto& [address, pending] : pending_) {
    Life life = LifeOf(pending.block);
    life.pending = true;
    life.birth = pending.since;
    life.birth_ns = pending.since_ns;
    lives_.Add(life);
  }
  for (const auto& [address, segment] : segments_) {
    Life life;
    life.address = address;
    life.size = segment.size;
    life.birth = segment.birth;
    life.birth_ns = segment.birth_ns;
    life.site = segment.site;
    life.device = segment.device;
    life.stream = segment.stream;
    life.opened = segment.opened;
    life.pending = segment.grows;
    segment_lives_.Add(life);
  }
  detail->lives_left_out = lives_.left_out();
  detail->segments_left_out = segment_lives_.left_out();
  detail->lives = lives_.Take();
  detail->segments = segment_lives_.Take();
  detail->away = residency_.Take();
  const auto by_birth = [](const Life& a, const Life& b) {
    return std::tie(a.birth, a.address) < std::tie(b.birth, b.address);
  };
  std::sort(detail->lives.begin(), detail->lives.end(), by_birth);
  std::sort(detail->segments.begin(), detail->segments.end(), by_birth);
  detail->events_per_step = level_log_.events_per_step();
  detail->levels = level_log_.Take();
  detail->marks = std::move(marks_);
  detail->marks_left_out = marks_left_out_;
  detail->launches = launches_.TakeSteps();
  detail->events = events_;
  detail->peak_event = levels_.peak_event();
  detail->first_event = opening_events_ + 1;
}

void Analyzer::FillLayers(const Detail& detail, Facts* facts) {
  facts->launches = launches_.Facts();
  facts->offload = residency_.facts();
  facts->offload.sites = FindOffloadSites(detail.away, detail.lives);
  for (OffloadSite& site : facts->offload.sites) {
    site.site = detail.sites[site.number].site;
    site.operation = detail.sites[site.number].operation;
  }
  facts->by_site = Grouped(detail, &SiteDetail::site);
  facts->by_operation = Grouped(detail, &SiteDetail::operation);
  for (SiteFacts& row : facts->by_operation) row.site.clear();
  facts->by_module = Grouped(detail, &SiteDetail::module);
  std::erase_if(facts->by_module, [](const SiteFacts& row) { return row.site.empty(); });
  for (auto* blocks : {&facts->largest_at_peak, &facts->live.groups}) {
    for (BlockFacts& block : *blocks) {
      if (detail.sites[block.site_number].by_stack) {
        block.site = detail.sites[block.site_number].site;
      }
    }
  }
  const auto name = [&detail](uint32_t memory) {
    return memory == 0 ? "" : detail.sites[memory - 1].site;
  };
  for (size_t i = 0; i < out_of_memory_.size(); ++i) {
    facts->out_of_memory[i].largest_hole.before = name(out_of_memory_[i].before);
    facts->out_of_memory[i].largest_hole.after = name(out_of_memory_[i].after);
    const SiteDetail& site = detail.sites[out_of_memory_[i].site];
    if (!site.by_stack) continue;
    facts->out_of_memory[i].site = site.site;
    facts->out_of_memory[i].operation = site.operation;
  }
  const bool only_frameworks =
      facts->counts.allocations + opening_events_ > 0 && addresses_.empty() && !any_driver_;
  facts->reserved_known = reserved_known_ || !only_frameworks;
  facts->cache = cache_;
  facts->cache.known = pool_space_.any();
  facts->cache.tells_steps = pool_space_.moves();
  for (size_t i = 0; i < flush_sites_.size(); ++i) {
    std::string& by = facts->cache.flushes[i].by;
    if (by.empty()) {
      by = detail.sites[flush_sites_[i]].empties_cache ? "empty_cache" : "allocator";
    }
    facts->cache.empty_cache_calls += by == "empty_cache";
  }
  facts->host = host_.facts();
  facts->host.pinned_rounding_bytes =
      facts->peak.host_bytes - std::min(facts->peak.host_bytes, levels_.host_requested_at_peak());
}

}  // namespace vramstow
