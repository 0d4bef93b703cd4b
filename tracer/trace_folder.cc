#include "tracer/trace_folder.h"

#include <limits.h>
#include <sys/mman.h>

#include <algorithm>
#include <new>

#include "tracer/chunk_writer.h"
#include "tracer/format/crc32c.h"
#include "tracer/format/sums.h"

namespace vramstow {
namespace {

constexpr size_t kEventsBetweenRests = 8192;

}  // namespace

TraceFolder* TraceFolder::Create(OpenTrace* trace, const ThreadRegistry* threads,
                                 Compressor* compressor) {
  EventFolder* const folder = EventFolder::Create();
  FoldInput* const input = FoldInput::Create(trace, threads);
  void* const memory = mmap(nullptr, sizeof(TraceFolder), PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (folder == nullptr || input == nullptr || memory == MAP_FAILED) return nullptr;
  TraceFolder* const made = new (memory) TraceFolder;
  made->trace_ = trace;
  made->threads_ = threads;
  made->compressor_ = compressor;
  made->folder_ = folder;
  made->input_ = input;
  return made;
}

bool TraceFolder::IsNeeded() const {
  return !is_given_up_ && !trace_->file.ring_is_left() &&
         trace_->file.RingUse() > std::max(trace_->file.most_ring_use() / 8 * 5, next_try_);
}

// True if the ring still has room, so that no chunk that is needed was overwritten.
bool TraceFolder::HasRoom() const {
  return trace_->file.RingUse() <= trace_->file.ring_bytes() / 16 * 15;
}

bool TraceFolder::Rests() { return rest_(context_) && trace_->IsRecording() && HasRoom(); }

void TraceFolder::Fold(bool (*rest)(void* context), void* context) {
  rest_ = rest;
  context_ = context;
  if (trace_->is_copy_due.exchange(false, std::memory_order_relaxed)) {
    // If there is no space for a copy, recording continues without it.
    char name[PATH_MAX];
    trace_->file.WriteCopy("oom", true, name, sizeof name);
  }
  const bool has_begun = folder_->Begin() && input_->Begin(generation_);
  const bool is_read = has_begun && LookAtAll();
  const size_t events = folder_->looked_at();
  if (is_read) folder_->Decide();
  const bool is_done = is_read && WriteKept(events) && WriteSums();
  if (is_done) {
    ++generation_;
    trace_->file.NeedsRingFrom(std::min(input_->Accept(), first_position_));
  }
  // If a fold failed after it had begun to read, no fold is tried again: it would fail at the same
  // event, or the sums contain these events already. A fold that could not begin is tried again
  // when the ring has got fuller, as long as no needed chunk was overwritten.
  is_given_up_ = !is_done && (has_begun || !HasRoom());
  next_try_ = is_done ? 0 : trace_->file.RingUse() + trace_->file.ring_bytes() / 16;
  input_->End();
  folder_->End();
}

bool TraceFolder::LookAtAll() {
  Event event;
  bool was_kept = false;
  while (input_->Next(&event, &was_kept)) {
    if (!folder_->Look(event, was_kept)) return false;
    if (folder_->looked_at() == EventFolder::kMaxEvents) break;
    if (folder_->looked_at() % kEventsBetweenRests == 0 && !Rests()) return false;
  }
  return !input_->failed();
}

bool TraceFolder::WriteKept(size_t events) {
  if (!input_->Rewind()) return false;
  first_position_ = trace_->file.Ring().end;
  turn_ = 0;
  next_ = nullptr;
  Event event;
  bool was_kept = false;
  for (size_t i = 0; i < events; ++i) {
    if (!input_->Next(&event, &was_kept)) return false;
    if (folder_->Keeps(event) && !Keep(event)) return false;
    if (i % kEventsBetweenRests == 0 && !Rests()) return false;
  }
  folder_->sums().CountLost(input_->lost_events());
  return next_ == nullptr || EndChunk();
}

void TraceFolder::BeginChunk(ChunkKind kind) {
  header_ = {};
  std::copy_n(kChunkMagic, sizeof kChunkMagic, header_.magic);
  header_.trace_id = trace_->id;
  header_.number = trace_->NextChunkNumber();
  header_.kind = static_cast<uint8_t>(kind);
  header_.header_bytes = sizeof(ChunkHeader);
  header_.buffer = generation_ + 1;
  header_.turn = ++turn_;
  next_ = payload_;
}

bool TraceFolder::EndChunk() {
  const uint32_t size = static_cast<uint32_t>(next_ - payload_);
  next_ = nullptr;
  const Compressor::Encoded encoded =
      Compressor::Encode(compressor_, static_cast<ChunkKind>(header_.kind), payload_, size);
  const int error =
      AppendChunk(&trace_->file, header_, encoded.encoding, encoded.bytes, encoded.size, size);
  if (error != 0) trace_->Latch(error);
  return error == 0 && HasRoom();
}

bool TraceFolder::Keep(const Event& event) {
  const uint8_t* const end = payload_ + sizeof payload_;
  if (next_ != nullptr && end - next_ < static_cast<ptrdiff_t>(kMaxEncodedBytes + kEncodeSlack) &&
      !EndChunk()) {
    return false;
  }
  if (next_ == nullptr) {
    BeginChunk(ChunkKind::kKeptEvents);
    header_.thread = thread_ = event.thread;
    header_.base_sequence = event.sequence - 1;
    header_.base_time = event.time_ns;
    encoder_.Begin(header_.base_sequence, header_.base_time);
  }
  if (event.thread != thread_) {
    next_ = EventEncoder::EncodeThread(next_, event.thread);
    thread_ = event.thread;
  }
  next_ = encoder_.Encode(next_, event, event.sequence, event.time_ns);
  return true;
}

uint8_t* TraceFolder::Record() {
  const uint8_t* const end = payload_ + sizeof payload_;
  if (next_ != nullptr && end - next_ < static_cast<ptrdiff_t>(2 * kMaxSumRecordBytes) &&
      !EndChunk()) {
    return nullptr;
  }
  if (next_ == nullptr) BeginChunk(ChunkKind::kSums);
  return next_;
}

bool TraceFolder::WriteSums() {
  const FoldLevels& levels = folder_->levels();
  if (Record() == nullptr) return false;
  next_ = EncodeTotals(next_, folder_->sums().Totals(levels));
  TraceSum sum;
  for (size_t at = 0; folder_->sums().NextSum(levels, &at, &sum);) {
    if (Record() == nullptr) return false;
    next_ = EncodeSum(next_, sum);
  }
  for (size_t i = 0; i < levels.timeline().count(); ++i) {
    if (Record() == nullptr) return false;
    next_ = EncodePoint(next_, levels.timeline().at(i));
  }
  if (!WriteSamples() || !WriteCuts() || Record() == nullptr) return false;
  // The record that is written here completes the generation.
  next_ = EncodeLastSums(next_, turn_);
  return EndChunk();
}

// Writes the samples. They use only a small part of the ring, however many call sites there are.
bool TraceFolder::WriteSamples() {
  constexpr uint64_t kBytesOfSite = 256;
  const size_t most = trace_->file.ring_bytes() / 16 / kBytesOfSite;
  const FoldLevels& levels = folder_->levels();
  const uint32_t level = levels.samples().LevelOfMost(most);
  SumSamples samples;
  for (size_t at = 0; folder_->sums().NextSamples(levels, level, &at, &samples);) {
    if (Record() == nullptr) return false;
    next_ = EncodeSamples(next_, samples);
  }
  return true;
}

bool TraceFolder::WriteCuts() {
  input_->Accept();
  for (uint32_t buffer = 1; buffer <= threads_->count(); ++buffer) {
    if (input_->cut(buffer) == 0) continue;
    if (Record() == nullptr) return false;
    next_ = EncodeCut(next_, {buffer, input_->cut(buffer)});
  }
  return true;
}

}  // namespace vramstow
