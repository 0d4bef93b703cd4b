#include "tools/analysis/accounts/analyzer.h"

#include <algorithm>
#include <functional>
#include <tuple>
#include <utility>
#include <vector>

#include "tools/analysis/accounts/event_pipe.h"
#include "tools/analysis/accounts/live_facts.h"
#include "tools/analysis/accounts/site_details.h"
#include "tools/analysis/facts/named_facts.h"
#include "tools/base/library_name.h"

namespace vramstow {

Analyzer::Analyzer(const EventSource& source)
    : accounts_(source),
      space_(&accounts_),
      segments_(&accounts_, &space_),
      failures_(&accounts_, &space_, &segments_, this),
      looks_(&accounts_, &space_),
      driver_(&accounts_, &space_, &segments_, &failures_, &looks_),
      pool_(&accounts_, &segments_, &looks_),
      framework_(&accounts_, &space_, &segments_, &failures_, source.ReportsFreeCompleted()) {}

namespace {

// Joins the entries of call sites on the same source line; such a line has one call site for each
// call path. The result is sorted by bytes, largest first.
void JoinAlike(std::vector<OffloadSite>* sites) {
  std::vector<OffloadSite> joined;
  for (const OffloadSite& site : *sites) {
    const auto same = std::ranges::find_if(joined, [&](const OffloadSite& one) {
      return one.site == site.site && one.operation == site.operation;
    });
    if (same == joined.end()) {
      joined.push_back(site);
    } else {
      same->bytes += site.bytes;
    }
  }
  std::ranges::stable_sort(joined, std::greater(), &OffloadSite::bytes);
  *sites = std::move(joined);
}

bool IsOfModelClock(EventKind kind) {
  return kind == EventKind::kModelClock || kind == EventKind::kModelWork;
}

}  // namespace

void Analyzer::Add(const Event& event, uint32_t stack) {
  if (next_loss_ < losses_.size()) [[unlikely]]
    LoseBlocks();
  accounts_.Begin(event, stack);
  if (timeline_.IsBeyond(accounts_.now_ns())) CloseInterval();
  samples_.Pass(accounts_.now_ns(), accounts_.levels());
  switch (event.layer) {
    case Layer::kDriver:
      if (IsOfModelClock(event.kind)) [[unlikely]] {
        model_clock_.Add(event, accounts_.events());
      } else {
        driver_.Add(event);
      }
      break;
    case Layer::kPool:
      pool_.Add(event);
      break;
    case Layer::kFramework:
      pool_.cache().EndFlush();
      if (event.kind == EventKind::kAllocate && event.result == 0) driver_.NoteTensor(event);
      framework_.Add(event);
      collections_.Note(event);
      break;
    default:
      ++accounts_.counts().other_layers;
      break;
  }
  const Levels& levels = accounts_.levels();
  samples_.Note(accounts_.now_ns(), levels);
  timeline_.Note(levels.allocated(), levels.reserved(), levels.host(), levels.managed());
  level_log_.Note(accounts_.now_ns(), levels.allocated(), levels.reserved(), levels.requested());
}

// Ends the blocks that do not count any more from the next event on.
void Analyzer::LoseBlocks() {
  for (; next_loss_ < losses_.size(); ++next_loss_) {
    const Loss& loss = losses_[next_loss_];
    if (loss.event > accounts_.events() + 1) return;
    if (loss.layer == Layer::kFramework) {
      framework_.Lose(loss.address);
    } else if (loss.layer == Layer::kPool) {
      segments_.Lose(loss.address);
    } else {
      driver_.Lose(loss.address, loss.memory);
    }
  }
}

void Analyzer::AddBatch(const EventBatch& batch) {
  // While one event is analysed, the memory for a later event is prefetched: its table slot 32
  // events ahead, and the block that the slot refers to a few events later.
  constexpr size_t kSlotsAhead = 32;
  constexpr size_t kBlocksAhead = 16;
  auto text = batch.texts.begin();
  auto reserved = batch.reserved.begin();
  for (size_t i = 0; i < std::min(kSlotsAhead, batch.count); ++i) PrefetchSlot(batch.events[i]);
  for (size_t i = 0; i < batch.count; ++i) {
    if (i + kSlotsAhead < batch.count) PrefetchSlot(batch.events[i + kSlotsAhead]);
    if (i + kBlocksAhead < batch.count) PrefetchBlock(batch.events[i + kBlocksAhead]);
    const Event& event = batch.events[i];
    Add(event, event.stack);
    if (text != batch.texts.end() && text->first == i) AddText(event, (text++)->second);
    if (reserved != batch.reserved.end() && reserved->first == i) {
      SetReserved(event, (reserved++)->second);
    }
  }
}

void Analyzer::AddText(const Event& event, std::string_view text) {
  // The recorder keeps no more of a text (TableWriter::InternAnnotation). A file of another origin
  // could have one long text that a hundred thousand events name.
  constexpr size_t kMaxTextBytes = 1024;
  text = text.substr(0, kMaxTextBytes);
  if (event.kind == EventKind::kLaunch) return launches_.Add(event, text, accounts_.events());
  if (censuses_.Add(event, text, accounts_.events()) || collections_.Add(event, text)) return;
  if (turns_.Add(text, accounts_.events())) return;
  launches_.Mark(event, text);
  marks_.Add(event, text, accounts_.events(), accounts_.now_ns());
}

TimelinePoint Analyzer::State() const {
  const Levels& levels = accounts_.levels();
  TimelinePoint state;
  state.allocated_last = levels.allocated();
  state.reserved_highest = levels.reserved();
  state.requested_last = levels.requested();
  state.host_highest = levels.host();
  state.managed_highest = levels.managed();
  state.ranges = space_.Now();
  return state;
}

void Analyzer::CloseInterval() {
  const TimelinePoint state = State();
  space_.NoteWorst(state.ranges, accounts_.now_ns());
  timeline_.Close(state, accounts_.now_ns());
}

void Analyzer::ForEachLive(const std::function<void(const LiveBlock&)>& visit) const {
  const auto unless_it_holds = [&visit](const LiveBlock& block) {
    if (!block.holds) visit(block);
  };
  driver_.memory().ForEach(unless_it_holds);
  framework_.blocks().ForEach(visit);
  driver_.memory().ForEachPhysical(unless_it_holds);
}

void Analyzer::ForEachPooled(const std::function<void(const LiveBlock&)>& visit) const {
  const auto look = [&visit](const LiveBlock& block) {
    if (block.pooled) visit(block);
  };
  ForEachLive(look);
  framework_.ForEachPending(look);
}

uint64_t Analyzer::PendingBytes(int16_t device) const {
  uint64_t bytes = 0;
  framework_.ForEachPending([&bytes, device](const LiveBlock& block) {
    if (block.device == device) bytes += block.size;
  });
  return bytes;
}

void Analyzer::AddSums(const TraceSums& sums) {
  accounts_.AddSums(sums);
  samples_.Pass(accounts_.now_ns(), accounts_.levels());
  samples_.AddSums(sums.samples, sums.totals.until_ns, &accounts_);
  if (timeline_.IsBeyond(accounts_.now_ns())) CloseInterval();
  lives_gone_ = sums.totals.device_blocks;
  timeline_.AddPoints(sums.points, sums.totals.point_shift, sums.totals.until_ns);
}

Analysis Analyzer::Finish(const EventSource& source) {
  space_.KeepPeak();
  pool_.cache().EndFlush();
  if (const TraceSums* sums = source.Sums()) AddSums(*sums);
  Analysis analysis;
  Facts& facts = analysis.facts;
  facts.end_ns = accounts_.now_ns();
  facts.trace_metadata = marks_.MoveOutFacts();
  failures_.End(source, &facts.trace_metadata);
  for (const auto& [device, event] : failures_.LastEvents()) {
    marks_.SetLimitAt(device, event, &facts.trace_metadata);
  }
  accounts_.FillFacts(source, &facts);
  facts.peak.mapped_bytes = space_.addresses().highest_mapped_bytes();
  facts.peak.address_range_bytes = space_.addresses().highest_reserved_bytes();
  facts.timeline = timeline_.Finish(State());
  const auto for_each_live = [this](const auto& visit) { ForEachLive(visit); };
  FillPeakBlocks(accounts_.levels(), for_each_live, source, &facts);
  FillLive(for_each_live, source, &facts);
  space_.FillFacts(&facts.fragmentation);
  facts.fragmentation.pending_peak_bytes = framework_.pending_peak_bytes();
  FillDetail(source, &analysis.detail);
  FillLayers(source, analysis.detail, &facts);
  analysis.detail.flushes = pool_.cache().EmptyCacheCalls(facts.cache);
  return analysis;
}

void Analyzer::FillLives(Detail* detail) {
  ForEachLive([this](const LiveBlock& block) {
    if (IsDeviceMemory(block.memory)) accounts_.lives().Add(Accounts::LifeOf(block));
  });
  framework_.EndLives();
  Lives segments = segments_.MoveOutLives();
  detail->lives_left_out = accounts_.lives().left_out() + lives_gone_;
  detail->segments_left_out = segments.left_out();
  detail->lives = accounts_.lives().Take();
  detail->segments = segments.Take();
  detail->away = pool_.residency().Take();
  const auto by_birth = [](const Life& a, const Life& b) {
    return std::tie(a.birth, a.address) < std::tie(b.birth, b.address);
  };
  std::sort(detail->lives.begin(), detail->lives.end(), by_birth);
  std::sort(detail->segments.begin(), detail->segments.end(), by_birth);
}

void Analyzer::FillDetail(const EventSource& source, Detail* detail) {
  FillSites(accounts_, source, detail);
  for (size_t i = 0; i < accounts_.levels().libraries().size(); ++i) {
    detail->libraries.push_back(LibraryName(source.LibraryPath(static_cast<uint16_t>(i))));
  }
  FillLives(detail);
  NameBackward(detail);
  detail->events_per_step = level_log_.events_per_step();
  detail->levels = level_log_.Take();
  detail->marks = marks_.Take();
  detail->marks_left_out = marks_.left_out();
  detail->censuses = censuses_.Take();
  detail->launches = launches_.MoveOutSteps();
  detail->model_clock = model_clock_.Take();
  detail->turns = turns_.Take();
  detail->events = accounts_.events();
  detail->peak_event = accounts_.levels().peak_event();
  detail->first_event = accounts_.opening_events() + 1;
}

void Analyzer::FillLayers(const EventSource& source, const Detail& detail, Facts* facts) const {
  facts->launches = launches_.Facts();
  FillOffload(detail, &facts->offload);
  facts->garbage = collections_.Facts();
  FillSiteFacts(detail, facts);
  facts->by_hour = samples_.Growth(detail.sites, facts->end_ns);
  facts->out_of_memory = failures_.Facts(source, detail.sites);
  const bool only_frameworks = facts->counts.allocations + accounts_.opening_events() > 0 &&
                               driver_.memory().addresses().empty() && !driver_.any();
  facts->reserved_known = reserved_known_ || pool_.any() || !only_frameworks;
  facts->cache = pool_.cache().Facts(detail.sites);
  facts->cache.known = space_.pool().any();
  facts->cache.counts_steps = space_.pool().moves();
  facts->host = looks_.host();
  facts->host.pinned_rounding_bytes =
      facts->peak.host_bytes -
      std::min(facts->peak.host_bytes, accounts_.levels().host_requested_at_peak());
}

void Analyzer::FillOffload(const Detail& detail, OffloadFacts* offload) const {
  *offload = pool_.residency().facts();
  offload->sites = FindOffloadSites(detail.away, detail.lives);
  for (OffloadSite& site : offload->sites) {
    site.site = detail.sites[site.number].site;
    site.operation = detail.sites[site.number].operation;
  }
  JoinAlike(&offload->sites);
}

namespace {

Analysis AnalyzeOnce(EventSource* source, std::vector<Loss> losses) {
  Analyzer analyzer(*source);
  analyzer.SetLosses(std::move(losses));
  {
    EventPipe pipe(source);
    while (const EventBatch* batch = pipe.Next()) analyzer.AddBatch(*batch);
  }
  return analyzer.Finish(*source);
}

// Raises the reserved bytes to those that were allocated: memory is reserved if blocks lie in it,
// although it is not known where the gaps of the trace have its allocation.
void ReserveWhatIsAllocated(Facts* facts) {
  if (!facts->reserved_known) return;
  const auto raise = [](uint64_t* reserved, uint64_t allocated) {
    *reserved = std::max(*reserved, allocated);
  };
  raise(&facts->peak.reserved_bytes, facts->peak.allocated_bytes);
  raise(&facts->peak.reserved_then_bytes, facts->peak.allocated_bytes);
  for (DeviceFacts& device : facts->devices) raise(&device.peak_reserved_bytes, device.peak_bytes);
}

}  // namespace

Analysis AnalyzeInDetail(EventSource* source, const std::string& file) {
  Analysis analysis = AnalyzeOnce(source, {});
  const std::vector<TraceGap> gaps = source->Gaps();
  if (!gaps.empty() && source->Rewind()) {
    std::vector<Loss> losses = FindLosses(source, gaps);
    source->Rewind();
    analysis = AnalyzeOnce(source, std::move(losses));
    ReserveWhatIsAllocated(&analysis.facts);
  }
  Facts& facts = analysis.facts;
  facts.kind = source->Kind();
  facts.file = file;
  std::map<std::string, std::string> marked = std::move(facts.trace_metadata);
  facts.trace_metadata = source->facts();
  facts.trace_metadata.merge(marked);  // the trace's own facts take precedence
  facts.report = source->report();
  // If events were overwritten and no sums of them are left, freed blocks seem to be live, so the
  // growth per hour would be wrong.
  if (facts.report.overwritten_events != 0) facts.by_hour = {};
  facts.missing = source->missing();
  facts.rank = FactNumber<int64_t>(facts.trace_metadata, "process.rank");
  facts.simulated = facts.trace_metadata.contains("simulated");
  return analysis;
}

Facts Analyze(EventSource* source, const std::string& file) {
  return AnalyzeInDetail(source, file).facts;
}

}  // namespace vramstow
