#include "tracer/format/reader.h"

#include <errno.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <set>
#include <utility>

#include "base/typed_event.h"
#include "tracer/format/chunk_index.h"
#include "tracer/format/crc32c.h"
#include "tracer/format/event_decoder.h"
#include "tracer/format/layout.h"
#include "tracer/format/table_decoder.h"
#include "tracer/format/trace_bytes.h"

namespace vramstow {
namespace {

// The most threads that a recorder lets record at the same time. A valid trace has no more active
// chunks at once; without a limit a small malicious file could demand a lot of memory.
constexpr size_t kMaxActiveChunks = 16384;

}  // namespace

class TraceReader::Impl {
 public:
  ReadError OpenFile(const char* path);
  ReadError OpenBytes(std::string_view bytes);
  bool Next(Event* event);
  void Rewind();
  double Part() const {
    const size_t chunks = index_.events().size();
    return chunks == 0 ? 1.0 : static_cast<double>(pending_) / static_cast<double>(chunks);
  }

  TraceTables tables;
  TraceSums sums;
  bool has_sums = false;
  ReadReport report;
  std::vector<TraceGap> gaps;

 private:
  // A chunk that is being read. Its next event has been decoded already.
  struct Active {
    Event next;
    EventDecoder decoder;
    std::vector<uint8_t> payload;
    size_t size = 0;
    bool is_cut = false;
    const ChunkEntry* entry = nullptr;
    uint64_t first_sequence = 0;  // of the chunk's events that Next returned; 0 if there is none
    uint64_t last_sequence = 0;
  };
  // The numbers of a buffer's events that were read from one ticked chunk: those after `first` up
  // to `last`.
  struct Span {
    uint32_t buffer;
    uint32_t chunk;
    uint64_t first;
    uint64_t last;
    uint64_t first_sequence;  // where the chunk's events are in the order of all events
    uint64_t last_sequence;
    bool is_damaged;  // the chunk has further events, which cannot be read
  };
  static bool IsLater(const Active* a, const Active* b) {
    return a->next.sequence > b->next.sequence;
  }

  ReadError ReadTables();
  void ReadSums();
  bool NextKept(Event* event);
  DecodeResult DecodeNext(Active* chunk);
  void Note(Event* event);
  bool IsInOrder(const Active& chunk) const;
  bool SelectChunk();
  void ActivateNext();
  void Advance();
  void NameRange(Event* event);
  void CountDamage(const Active& chunk);
  void Retire(Active* chunk);
  void NoteSpan(const Active& chunk, bool is_damaged);
  void NoteGapBefore(const Active& chunk, const Event& event);
  bool EmitFinalGap(Event* event);
  void Finish();
  uint64_t MissingNumbers() const;
  uint64_t MissingInBuffers();
  uint64_t FindGapsInBuffers();
  uint64_t FirstOfLostChunks() const;
  void FinishGaps();

  TraceBytes bytes_;
  FileHeader header_ = {};
  ChunkIndex index_;
  ReadReport report_at_open_;

  std::vector<std::unique_ptr<Active>> pool_;
  std::vector<Active*> unused_;
  std::vector<Active*> heap_;  // the one with the least sequence first
  // The last number of each buffer whose event is in the sums.
  std::map<uint32_t, uint64_t> cuts_;
  uint64_t last_cut_ = 0;  // the greatest of them
  Active kept_;            // the chunk of retained events
  size_t pending_kept_ = 0;
  uint64_t last_kept_ = 0;  // the sequence of the last retained event
  bool is_kept_loaded_ = false;
  size_t pending_ = 0;         // chunks of the index before this one were activated
  Active* current_ = nullptr;  // not in the heap
  uint64_t limit_ = 0;         // current_ remains current while its next sequence is below this
  uint64_t first_sequence_ = 0;
  uint64_t last_sequence_ = 0;
  uint64_t last_order_ = 0;  // the sequence of the last event in its chunk
  uint64_t last_time_ns_ = 0;
  uint64_t gap_events_ = 0;          // dropped events, according to kGap events
  uint64_t events_after_latch_ = 0;  // recorded by threads that had not noticed the stop
  bool is_ticked_ = false;           // the trace has ticked chunks
  bool is_closed_ = false;           // the recorder set the totals in the header
  std::vector<Span> spans_;
  // The buffer and the number of each chunk that a running process overwrote before it was read.
  std::set<std::pair<uint32_t, uint32_t>> replaced_;
  std::map<uint32_t, std::vector<uint64_t>> ranges_;  // the open ranges of each thread
  bool is_finished_ = false;
};

ReadError TraceReader::Impl::OpenFile(const char* path) {
  const int error = bytes_.OpenFile(path);
  if (error != 0) {
    errno = error;
    return ReadError::kCannotOpen;
  }
  return ReadTables();
}

ReadError TraceReader::Impl::OpenBytes(std::string_view bytes) {
  bytes_.OpenMemory(bytes);
  return ReadTables();
}

ReadError TraceReader::Impl::ReadTables() {
  const size_t count = bytes_.Read(0, &header_, sizeof header_);
  if (count < sizeof header_.magic ||
      std::memcmp(header_.magic, kFileMagic, sizeof kFileMagic) != 0) {
    return ReadError::kNotATrace;
  }
  if (header_.major > kFormatMajor) return ReadError::kNewerVersion;
  const bool is_whole = count == sizeof header_;
  if (!is_whole) std::memset(&header_.state, 0, sizeof header_ - offsetof(FileHeader, state));
  const bool is_right = is_whole &&
                        header_.checksum == Crc32c(&header_, offsetof(FileHeader, checksum)) &&
                        header_.header_bytes >= sizeof(FileHeader);
  if (!is_right) {
    report.damaged_bytes += std::min<uint64_t>(count, offsetof(FileHeader, state));
    header_.header_bytes = kFileHeaderBytes;
    header_.trace_id = 0;
  }
  is_closed_ = header_.state == static_cast<uint32_t>(TraceState::kClosed);
  report.closed = is_closed_;
  if (header_.major < 2) header_.lost_events = 0;
  index_.Build(&bytes_, header_.header_bytes, header_.trace_id, header_.ring_bytes != 0, &report);
  for (const ChunkEntry& entry : index_.events()) is_ticked_ = is_ticked_ || entry.is_ticked();
  std::vector<uint8_t> payload;
  for (const ChunkEntry& entry : index_.tables()) {
    size_t consumed = 0;
    size_t size = 0;
    const bool is_loaded = ChunkIndex::Load(bytes_, entry, &payload, &size);
    if (is_loaded && tables.Decode(payload.data(), size, &consumed)) continue;
    if (!entry.is_cut) ++report.damaged_chunks;
    report.damaged_bytes += is_loaded ? size - consumed : entry.available;
  }
  if (IsExited(header_.state)) {
    report.closed = true;
    tables.facts.try_emplace("process.exit_status", std::to_string(ExitStatusOf(header_.state)));
  }
  ReadSums();
  report_at_open_ = report;
  Rewind();
  return ReadError::kOk;
}

void TraceReader::Impl::Rewind() {
  report = report_at_open_;
  heap_.clear();
  unused_.clear();
  for (const std::unique_ptr<Active>& chunk : pool_) unused_.push_back(chunk.get());
  pending_ = 0;
  pending_kept_ = 0;
  last_kept_ = 0;
  is_kept_loaded_ = false;
  current_ = nullptr;
  first_sequence_ = last_sequence_ = last_order_ = last_time_ns_ = 0;
  gap_events_ = events_after_latch_ = 0;
  gaps.clear();
  spans_.clear();
  replaced_.clear();
  ranges_.clear();
  is_finished_ = false;
}

void TraceReader::Impl::ReadSums() {
  std::vector<uint8_t> payload;
  uint64_t chunks = 0;
  for (const ChunkEntry& entry : index_.sums()) {
    size_t size = 0;
    if (ChunkIndex::Load(bytes_, entry, &payload, &size) &&
        DecodeSums(payload.data(), size, &sums, &chunks)) {
      continue;
    }
    ++report.damaged_chunks;
    report.damaged_bytes += entry.available;
  }
  has_sums = !index_.sums().empty();
  report.folded_events = sums.totals.events;
  report.folded_until_ns = sums.totals.until_ns;
  report.left_out_events = sums.totals.left_out;
  for (const SumCut& cut : sums.cuts) {
    cuts_[cut.buffer] = cut.last_number;
    last_cut_ = std::max(last_cut_, cut.last_number);
  }
  index_.LeaveOut(sums.cuts);
}

// Returns the next event that a fold has retained. These events come before all others.
bool TraceReader::Impl::NextKept(Event* event) {
  const std::vector<ChunkEntry>& chunks = index_.kept_events();
  for (; pending_kept_ < chunks.size(); ++pending_kept_, is_kept_loaded_ = false) {
    kept_.entry = &chunks[pending_kept_];
    kept_.is_cut = kept_.entry->is_cut;
    if (!is_kept_loaded_) {
      if (!ChunkIndex::Load(bytes_, *kept_.entry, &kept_.payload, &kept_.size)) {
        ++report.damaged_chunks;
        report.damaged_bytes += kept_.entry->available;
        continue;
      }
      kept_.decoder.Begin(kept_.entry->header, kept_.payload.data(), kept_.size);
      is_kept_loaded_ = true;
    }
    const DecodeResult result = kept_.decoder.Next(event);
    const bool is_right = result == DecodeResult::kEvent && event->sequence > last_sequence_;
    if (is_right) return true;
    if (result != DecodeResult::kEnd) CountDamage(kept_);
  }
  return false;
}

// Decodes the chunk's next event that is not contained in the sums.
DecodeResult TraceReader::Impl::DecodeNext(Active* chunk) {
  DecodeResult result = chunk->decoder.Next(&chunk->next);
  if (cuts_.empty()) [[likely]]
    return result;
  const auto cut = cuts_.find(chunk->entry->header.buffer);
  if (cut == cuts_.end()) return result;
  while (result == DecodeResult::kEvent &&
         (chunk->entry->is_ticked() ? chunk->decoder.last_number() : chunk->next.sequence) <=
             cut->second) {
    result = chunk->decoder.Next(&chunk->next);
  }
  return result;
}

// Updates the counts for an event that Next returns.
void TraceReader::Impl::Note(Event* event) {
  last_sequence_ = event->sequence;
  last_time_ns_ = std::max(last_time_ns_, event->time_ns);
  if (report.events++ == 0) first_sequence_ = last_sequence_;
  if (event->kind == EventKind::kGap) [[unlikely]]
    gap_events_ += GapEvent::Of(*event).lost_events;
  if (event->kind == EventKind::kMark) [[unlikely]]
    NameRange(event);
  if (last_sequence_ >= header_.latch_sequence) ++events_after_latch_;
}

bool TraceReader::Impl::Next(Event* event) {
  if (has_sums && NextKept(event)) {
    Note(event);
    last_kept_ = last_sequence_;
    return true;
  }
  while (current_ != nullptr || SelectChunk()) {
    const uint64_t order = current_->next.sequence;
    if (order <= last_sequence_) [[unlikely]] {
      if (!IsInOrder(*current_)) {
        CountDamage(*current_);
        NoteSpan(*current_, /*is_damaged=*/true);
        Retire(current_);
        current_ = nullptr;
        continue;
      }
      current_->next.sequence = last_sequence_ + 1;
    }
    last_order_ = order;
    *event = current_->next;
    NoteGapBefore(*current_, *event);
    Note(event);
    if (current_->first_sequence == 0) current_->first_sequence = event->sequence;
    current_->last_sequence = event->sequence;
    Advance();
    return true;
  }
  if (is_finished_) return false;
  is_finished_ = true;
  Finish();
  return EmitFinalGap(event);
}

// True if the chunk is not damaged although its next event has the sequence of an earlier event, or
// a smaller one.
bool TraceReader::Impl::IsInOrder(const Active& chunk) const {
  const uint64_t order = chunk.next.sequence;
  // The event was recorded so late that the events before and after it had been folded already.
  if (order <= last_kept_) return true;
  // Only the reader itself gave the last event a greater sequence than this one.
  if (order > last_order_) return true;
  // If two chunks contain the same sequence, one is damaged. In chunks with ticks this is no
  // damage: the event has the same tick as events of other buffers, and the numbers of these
  // buffers have the same low bits.
  return chunk.entry->is_ticked() && order == last_order_;
}

// Adds the name of a range to the event that ends it. The end of a thread's range contains no name,
// because it ends the innermost range.
void TraceReader::Impl::NameRange(Event* event) {
  const MarkEvent mark = MarkEvent::Of(*event);
  const bool is_process_range = mark.number != 0;
  if (is_process_range || mark.kind == MarkKind::kMoment) return;
  std::vector<uint64_t>& ranges = ranges_[event->thread];
  if (mark.kind == MarkKind::kRangeBegins) {
    ranges.push_back(mark.annotation);
  } else if (mark.annotation == 0 && !ranges.empty()) {
    event->object = ranges.back();
    ranges.pop_back();
  }
}

// Makes the chunk with the next event the current one. Returns false if there is none.
bool TraceReader::Impl::SelectChunk() {
  const std::vector<ChunkEntry>& chunks = index_.events();
  while (pending_ < chunks.size() &&
         (heap_.empty() || chunks[pending_].base_order() < heap_.front()->next.sequence)) {
    ActivateNext();
  }
  if (heap_.empty()) return false;
  std::pop_heap(heap_.begin(), heap_.end(), IsLater);
  current_ = heap_.back();
  heap_.pop_back();
  limit_ = std::numeric_limits<uint64_t>::max();
  if (!heap_.empty()) limit_ = heap_.front()->next.sequence;
  // The next chunk's first event may have this sequence or a later one; base_order is less than all
  // of them.
  if (pending_ < chunks.size()) limit_ = std::min(limit_, chunks[pending_].base_order());
  return true;
}

void TraceReader::Impl::ActivateNext() {
  const ChunkEntry& entry = index_.events()[pending_++];
  if (unused_.empty()) {
    if (pool_.size() == kMaxActiveChunks) {
      ++report.damaged_chunks;
      report.damaged_bytes += entry.available;
      return;
    }
    pool_.push_back(std::make_unique<Active>());
    unused_.push_back(pool_.back().get());
  }
  Active* const chunk = unused_.back();
  chunk->is_cut = entry.is_cut;
  chunk->entry = &entry;
  if (!ChunkIndex::Load(bytes_, entry, &chunk->payload, &chunk->size)) {
    // A process that is still running has overwritten the chunk meanwhile.
    if (!is_closed_ && ChunkIndex::WasReplaced(bytes_, entry)) {
      replaced_.emplace(entry.header.buffer, entry.header.number);
      return;
    }
    ++report.damaged_chunks;
    report.damaged_bytes += entry.available;
    const uint64_t base = entry.header.base_sequence;
    const uint64_t order = entry.base_order();
    spans_.push_back({entry.header.buffer, entry.header.number, base, base, order, order, true});
    return;
  }
  chunk->first_sequence = chunk->last_sequence = 0;
  chunk->decoder.Begin(entry.header, chunk->payload.data(), chunk->size);
  const DecodeResult result = DecodeNext(chunk);
  if (result == DecodeResult::kDamaged) CountDamage(*chunk);
  if (result != DecodeResult::kEvent) NoteSpan(*chunk, result == DecodeResult::kDamaged);
  if (result != DecodeResult::kEvent) return;
  unused_.pop_back();
  heap_.push_back(chunk);
  std::push_heap(heap_.begin(), heap_.end(), IsLater);
}

// Decodes the next event of the current chunk. Another chunk may have to become the current one
// afterwards.
void TraceReader::Impl::Advance() {
  const DecodeResult result = DecodeNext(current_);
  if (result == DecodeResult::kEvent) [[likely]] {
    if (current_->next.sequence <= limit_) [[likely]]
      return;
    heap_.push_back(current_);
    std::push_heap(heap_.begin(), heap_.end(), IsLater);
  } else {
    if (result == DecodeResult::kDamaged) CountDamage(*current_);
    NoteSpan(*current_, result == DecodeResult::kDamaged);
    Retire(current_);
  }
  current_ = nullptr;
}

// Ends the use of a chunk that has no more events.
void TraceReader::Impl::Retire(Active* chunk) { unused_.push_back(chunk); }

// Records which events of a buffer the chunk contains. A chunk without events is recorded, too,
// because it contains the number of the buffer's earlier events.
void TraceReader::Impl::NoteSpan(const Active& chunk, bool is_damaged) {
  if (!chunk.entry->is_ticked()) return;
  const ChunkHeader& header = chunk.entry->header;
  const bool has_events = chunk.first_sequence != 0;
  const uint64_t order = chunk.entry->base_order();
  spans_.push_back({header.buffer, header.number, header.base_sequence, chunk.decoder.last_number(),
                    has_events ? chunk.first_sequence : order,
                    has_events ? chunk.last_sequence : order, is_damaged || chunk.is_cut});
}

// Notes a gap that lies directly before an event that Next is about to return: the recorder says
// that it lost events there, or numbers of the one counter of all threads are missing.
void TraceReader::Impl::NoteGapBefore(const Active& chunk, const Event& event) {
  if (event.kind == EventKind::kGap) [[unlikely]] {
    const bool has_events = chunk.last_sequence != 0;
    gaps.push_back({has_events ? chunk.last_sequence : chunk.entry->base_order(), event.sequence});
  }
  if (is_ticked_) return;
  const bool is_known = last_sequence_ > std::max(last_kept_, last_cut_);
  if (is_known && event.sequence - last_sequence_ > 1) [[unlikely]]
    gaps.push_back({last_sequence_, event.sequence});
}

// Counts the rest of the chunk as damaged.
void TraceReader::Impl::CountDamage(const Active& chunk) {
  // If the chunk was cut short, it has been counted as damaged before.
  if (!chunk.is_cut) ++report.damaged_chunks;
  report.damaged_bytes += chunk.size - chunk.decoder.consumed();
}

void TraceReader::Impl::Finish() {
  // These fields have no checksum, because a killed process could not have updated a checksum
  // together with them.
  report.dropped_events = std::max(header_.dropped_events, gap_events_);
  if (header_.major >= 2) {
    report.dropped_events += header_.lost_events + index_.lost_events();
  } else if (header_.latch_sequence != 0 && header_.last_sequence >= header_.latch_sequence) {
    const uint64_t given_out = header_.last_sequence - header_.latch_sequence + 1;
    report.dropped_events += given_out - std::min(given_out, events_after_latch_);
  }
  report.write_error = header_.latch_error;
  std::sort(spans_.begin(), spans_.end(), [](const Span& a, const Span& b) {
    return a.buffer != b.buffer ? a.buffer < b.buffer : a.chunk < b.chunk;
  });
  report.missing_events = is_ticked_ ? MissingInBuffers() : MissingNumbers();
  FinishGaps();
}

// Finds where events of a buffer are missing: between two of its chunks, before its first chunk
// unless older ones were overwritten, and after a damaged chunk. Returns how many are missing
// between chunks.
uint64_t TraceReader::Impl::FindGapsInBuffers() {
  const bool is_ring = header_.ring_bytes != 0;
  uint64_t missing = 0;
  uint64_t known = 0;
  for (size_t i = 0; i < spans_.size(); ++i) {
    const Span& span = spans_[i];
    const bool is_first = i == 0 || spans_[i - 1].buffer != span.buffer;
    if (is_first) {
      const auto cut = cuts_.find(span.buffer);
      known = cut == cuts_.end() ? 0 : cut->second;
      if (is_ring) known = std::max(known, span.first);
    }
    if (span.first > known) {
      missing += span.first - known;
      gaps.push_back({is_first ? 0 : spans_[i - 1].last_sequence, span.first_sequence});
    }
    const bool is_last = i + 1 == spans_.size() || spans_[i + 1].buffer != span.buffer;
    if (is_last && span.is_damaged) gaps.push_back({span.last_sequence, TraceGap().before});
    known = std::max(known, span.last);
  }
  return missing;
}

// Returns a place in the order of events before all events of those chunks that were not found at
// all: chunks are numbered in the order in which they were begun.
uint64_t TraceReader::Impl::FirstOfLostChunks() const {
  std::map<uint32_t, uint64_t> begins;  // where each chunk begins, by its number; 0 for tables
  for (const ChunkEntry& entry : index_.tables()) begins[entry.header.number] = 0;
  for (const Span& span : spans_) begins[span.chunk] = span.first_sequence;
  uint64_t begin = 0;
  uint32_t expected = 1;
  for (const auto& [number, place] : begins) {
    if (number != expected) break;
    begin = std::max(begin, place);
    ++expected;
  }
  return begin;
}

// Completes the list of gaps, sorts it, and joins those that overlap.
void TraceReader::Impl::FinishGaps() {
  if (is_ticked_) {
    const uint64_t between_chunks = FindGapsInBuffers();
    // If more events are missing than those between known chunks, the last chunks of a buffer are
    // missing. Only a closed trace that retained all chunks says how many events it has.
    const bool knows_total = is_closed_ && header_.ring_bytes == 0;
    if (knows_total ? report.missing_events > between_chunks
                    : report.damaged_bytes > 0 && gaps.empty()) {
      gaps.push_back({FirstOfLostChunks(), TraceGap().before});
    }
  }
  std::sort(gaps.begin(), gaps.end(),
            [](const TraceGap& a, const TraceGap& b) { return a.after < b.after; });
  size_t count = 0;
  for (const TraceGap& gap : gaps) {
    if (count > 0 && gap.after < gaps[count - 1].before) {
      gaps[count - 1].before = std::max(gaps[count - 1].before, gap.before);
    } else {
      gaps[count++] = gap;
    }
  }
  gaps.resize(count);
}

// Counts the missing events of a trace in which the events of all threads are numbered by one
// counter.
uint64_t TraceReader::Impl::MissingNumbers() const {
  uint64_t last = last_sequence_;
  if (is_closed_) last = std::max(last, header_.last_sequence);
  const uint64_t first = report.events == 0 ? 1 : first_sequence_;
  const uint64_t numbers = last < first ? 0 : last - first + 1;
  uint64_t explained = report.events;
  // In format version 1 dropped events had sequences, too.
  if (header_.major < 2) explained += report.dropped_events;
  return numbers - std::min(numbers, explained);
}

// Counts missing events by the numbers of each buffer's events. Events may be missing between two
// chunks of a buffer and, in a closed trace, after the buffer's last chunk. If the file is a ring,
// chunks that are missing before a buffer's first one were overwritten.
uint64_t TraceReader::Impl::MissingInBuffers() {
  const bool is_ring = header_.ring_bytes != 0;
  if (is_closed_ && !is_ring) {
    // There may be sums although no chunk has been overwritten yet.
    const uint64_t known_events = report.events + report.folded_events + sums.totals.lost_events;
    return header_.last_sequence - std::min(header_.last_sequence, known_events);
  }
  uint64_t missing = 0;
  uint64_t known = 0;
  uint32_t buffer = 0;
  uint32_t chunk = 0;
  for (const Span& span : spans_) {
    if (span.buffer != buffer) {
      const auto cut = cuts_.find(span.buffer);
      const uint64_t in_sums = cut == cuts_.end() ? 0 : cut->second;
      known = is_ring ? std::max(span.first, in_sums) : in_sums;
      report.overwritten_events += known - in_sums;
    }
    if (span.first > known) {
      const auto replaced = replaced_.lower_bound({span.buffer, chunk});
      const bool is_overwritten =
          span.buffer == buffer && replaced != replaced_.end() &&
          *replaced < std::pair<uint32_t, uint32_t>(span.buffer, span.chunk);
      (is_overwritten ? report.overwritten_events : missing) += span.first - known;
    }
    buffer = span.buffer;
    chunk = span.chunk;
    known = std::max(known, span.last);
  }
  if (is_ring) report.overwritten_events += sums.totals.lost_events;
  // The total in the header also counts events of buffers of which all chunks were overwritten.
  if (is_ring && is_closed_) {
    const uint64_t known_events =
        std::min(header_.last_sequence, report.events + report.folded_events + missing);
    report.overwritten_events = header_.last_sequence - known_events;
  }
  return missing;
}

// Returns one more event, which counts the losses after the last recorded event.
bool TraceReader::Impl::EmitFinalGap(Event* event) {
  const uint64_t unreported = report.dropped_events - std::min(report.dropped_events, gap_events_);
  if (unreported == 0 || last_sequence_ == std::numeric_limits<uint64_t>::max()) return false;
  *event = GapEvent{unreported}.ToEvent();
  event->sequence = std::max(last_sequence_ + 1, header_.latch_sequence);
  event->time_ns = std::max(last_time_ns_, header_.latch_time_ns);
  return true;
}

TraceReader::TraceReader() : impl_(std::make_unique<Impl>()) {}
TraceReader::~TraceReader() = default;

ReadError TraceReader::Open(const char* path) { return impl_->OpenFile(path); }
ReadError TraceReader::OpenBytes(std::string_view bytes) { return impl_->OpenBytes(bytes); }
bool TraceReader::Next(Event* event) { return impl_->Next(event); }
const std::vector<TraceGap>& TraceReader::gaps() const { return impl_->gaps; }
double TraceReader::Part() const { return impl_->Part(); }
void TraceReader::Rewind() { impl_->Rewind(); }

const std::map<std::string, std::string>& TraceReader::facts() const { return impl_->tables.facts; }

std::string_view TraceReader::CallName(uint16_t call) const {
  const std::vector<std::string>& calls = impl_->tables.calls;
  return call < calls.size() ? calls[call] : calls[0];
}

const TraceLibrary& TraceReader::Library(uint16_t library) const {
  const std::vector<TraceLibrary>& libraries = impl_->tables.libraries;
  return library < libraries.size() ? libraries[library] : libraries[0];
}

const std::vector<TraceLibrary>& TraceReader::libraries() const { return impl_->tables.libraries; }

std::string_view TraceReader::Annotation(uint64_t number) const {
  const auto found = impl_->tables.annotations.find(number);
  return found == impl_->tables.annotations.end() ? "unknown" : std::string_view(found->second);
}

std::vector<TraceFrame> TraceReader::Stack(uint32_t stack) const {
  return impl_->tables.Stack(stack);
}

const std::vector<TraceFunction>& TraceReader::Functions(uint16_t library, uint64_t offset) const {
  static const std::vector<TraceFunction> none;
  const auto found = impl_->tables.functions.find({library, offset});
  return found == impl_->tables.functions.end() ? none : found->second;
}

bool TraceReader::HasFunctions() const { return !impl_->tables.functions.empty(); }

std::vector<TraceFrame> TraceReader::NativeFrames() const {
  std::set<std::pair<uint32_t, uint64_t>> seen;
  std::vector<TraceFrame> frames;
  for (const TraceTables::StackNode& node : impl_->tables.stacks) {
    if (node.kind != static_cast<uint8_t>(FrameKind::kNative) || node.source == kUnknownName ||
        !seen.insert({node.source, node.place}).second) {
      continue;
    }
    TraceFrame& frame = frames.emplace_back();
    frame.kind = TraceFrame::Kind::kNative;
    frame.library = static_cast<uint16_t>(node.source);
    frame.offset = node.place;
  }
  return frames;
}

const TraceSums* TraceReader::sums() const { return impl_->has_sums ? &impl_->sums : nullptr; }

const ReadReport& TraceReader::report() const { return impl_->report; }

}  // namespace vramstow
