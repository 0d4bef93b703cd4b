#include "tools/inputs/snapshot_source.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "base/typed_event.h"
#include "tools/formats/text_helpers.h"

namespace vramstow {
namespace {

std::string TextOf(const AllocatorSetting& setting) {
  if (const auto* flag = std::get_if<bool>(&setting.value)) return *flag ? "true" : "false";
  if (const auto* number = std::get_if<int64_t>(&setting.value)) return Concat(*number);
  if (const auto* real = std::get_if<double>(&setting.value)) {
    std::string text = std::to_string(*real);
    text.erase(text.find_last_not_of('0') + 1);
    if (text.ends_with('.')) text.pop_back();
    return text;
  }
  if (const auto* text = std::get_if<std::string>(&setting.value)) return *text;
  return "";
}

// Returns the number of the call with this name. All numbers are tried, because SnapshotEvents has
// only a few calls.
uint16_t CallNumber(std::string_view name) {
  for (uint16_t call = 1; call < 64; ++call) {
    if (SnapshotEvents::CallName(call) == name) return call;
  }
  return 0;
}

std::string Sentence(const std::string& text) { return text.ends_with('.') ? text : text + "."; }

}  // namespace

SnapshotSource::SnapshotSource(Snapshot snapshot)
    : snapshot_(std::make_unique<Snapshot>(std::move(snapshot))),
      events_(std::make_unique<SnapshotEvents>(snapshot_.get())),
      opening_call_(CallNumber("window_start")),
      begin_call_(CallNumber("annotation_start")),
      end_call_(CallNumber("annotation_end")) {
  for (const AllocatorSetting& setting : snapshot_->settings) {
    facts_["allocator." + setting.name] = TextOf(setting);
  }
  if (events_->start_time_us() != kNoTime) {
    facts_["process.start_time"] = Concat(events_->start_time_us(), "000");
  }
  for (const std::string& text : snapshot_->missing) missing_.push_back(Sentence(text));
  for (const std::string& text : events_->missing()) missing_.push_back(Sentence(text));
}

bool SnapshotSource::Next(Event* event) {
  if (!events_->Next(event)) return false;
  if (event->kind == EventKind::kMark) {
    SetMarkKind(event, event->call == begin_call_ ? MarkKind::kRangeBegins
                       : event->call == end_call_ ? MarkKind::kRangeEnds
                                                  : MarkKind::kMoment);
  }
  return true;
}

ReadReport SnapshotSource::report() const {
  ReadReport report;
  for (const uint64_t count : events_->counts().entries) report.events += count;
  report.closed = snapshot_->complete && events_->fits();
  return report;
}

std::vector<CallFrame> SnapshotSource::Frames(uint32_t stack) const {
  std::vector<CallFrame> frames;
  for (const FrameId number : snapshot_->stacks.Stack(stack)) {
    const Frame& frame = snapshot_->stacks.FrameOf(number);
    frames.push_back({.function = snapshot_->texts.Text(frame.name),
                      .file = snapshot_->texts.Text(frame.filename),
                      .line = frame.line});
  }
  return frames;
}

std::string_view SnapshotSource::MarkText(const Event& mark) const {
  const uint64_t number = TextNumber(mark);
  return number < snapshot_->texts.size() ? snapshot_->texts.Text(static_cast<TextId>(number))
                                          : std::string_view();
}

SnapshotStateFacts SnapshotSource::State() const {
  const SnapshotSpace& space = snapshot_->device;
  const SnapshotTotals totals = TotalsOf(space);
  SnapshotStateFacts state;
  state.segments = totals.segments;
  state.blocks = totals.blocks;
  state.reserved_bytes = totals.reserved;
  state.allocated_bytes = totals.allocated;
  state.requested_bytes = totals.requested;
  state.pending_bytes = totals.pending_bytes;
  state.inactive_blocks = totals.block_states[static_cast<int>(BlockState::kInactive)];
  state.allocated_blocks = totals.block_states[static_cast<int>(BlockState::kActiveAllocated)];
  state.pending_blocks = totals.block_states[static_cast<int>(BlockState::kActivePendingFree)];
  using Key = std::tuple<int32_t, uint64_t, uint64_t, uint64_t>;
  std::map<Key, SnapshotStateFacts::Pool> pools;
  for (const SnapshotSegment& segment : space.segments) {
    auto& pool =
        pools[Key(segment.device, segment.pool.first, segment.pool.second, segment.stream)];
    pool.device = segment.device;
    pool.stream = segment.stream;
    pool.id = Concat(segment.pool.first, ",", segment.pool.second);
    ++pool.segments;
    pool.reserved_bytes += segment.total_size;
    pool.allocated_bytes += segment.allocated_size;
    for (const SnapshotBlock& block : space.BlocksOf(segment)) {
      if (block.state != BlockState::kInactive) continue;
      pool.largest_free_bytes = std::max(pool.largest_free_bytes, block.size);
    }
  }
  for (auto& [key, pool] : pools) state.pools.push_back(std::move(pool));
  return state;
}

}  // namespace vramstow
