#include "tools/exports/stow_writer.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <map>
#include <random>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/typed_event.h"
#include "tools/analysis/accounts/event_batch.h"
#include "tools/analysis/accounts/source_facts.h"
#include "tracer/format/crc32c.h"
#include "tracer/format/sealed_chunk.h"

namespace vramstow {
namespace {

constexpr size_t kRemembered = 4096;     // number of provisional frees that are remembered
constexpr uint32_t kMaxCodes = 0xFFFF;   // limit of tracer/format/table_decoder.cc
constexpr uint32_t kMaxNodes = 0xFFFFF;  // limit of tracer/format/table_decoder.cc
constexpr size_t kMaxTextBytes = 48 * 1024;

bool IsAnnouncement(EventKind kind) {
  return kind == EventKind::kFree || kind == EventKind::kUnmap || kind == EventKind::kUnreserve ||
         kind == EventKind::kUnregister || kind == EventKind::kCloseImport;
}

}  // namespace

StowWriter::StowWriter(int descriptor) : descriptor_(descriptor) {
  std::random_device random;
  trace_id_ = (uint64_t{random()} << 32 | random()) | 1;
  provisional_.resize(kRemembered);
}

bool StowWriter::Write(EventSource* source, const TraceStart& start) {
  source_ = source;
  Event event;
  while (source->Next(&event)) {
    event.stack = source->Stack();
    if (const auto reserved = source->Reserved(); reserved.has_value() && MayHaveReserved(event)) {
      SetReservedAfter(&event, *reserved);
      has_reserved_ = true;
    }
    if (!AddEvent(event) || error_ != 0) break;
  }
  const bool written = error_ == 0 && FlushEvents() && WriteSums() && WriteFacts() &&
                       WriteNames() && WriteHeader(offset_, start);
  if (!written) errno = error_;
  return written;
}

Event StowWriter::Renumbered(const Event& event) {
  Event renumbered = event;
  ++events_;
  if (IsAnnouncement(event.kind)) {
    provisional_[next_provisional_++ % kRemembered] = {event.sequence, events_};
  } else if (event.kind == EventKind::kRefused) {
    const auto known = std::ranges::find(provisional_, RefusedSequence(event),
                                         &std::pair<uint64_t, uint64_t>::first);
    SetRefusedSequence(&renumbered, known == provisional_.end() ? 0 : known->second);
  }
  if (event.stack != 0) renumbered.stack = StackOf(event.stack);
  if (HasText(event)) SetTextNumber(&renumbered, AnnotationOf(event));
  if (event.call != kUnknownName) calls_.insert(event.call);
  if (event.library != kUnknownName) libraries_.insert(event.library);
  return renumbered;
}

bool StowWriter::AddEvent(const Event& event) {
  const Event renumbered = Renumbered(event);
  constexpr size_t kMaxBytes = kMaxEncodedBytes + kEncodeSlack + 2 * kMaxVarintBytes;
  if (events_payload_.size() + kMaxBytes > kMaxPayloadBytes && !FlushEvents()) return false;
  last_time_ns_ = std::max(last_time_ns_, event.time_ns);
  if (events_payload_.empty()) {
    events_header_ = {};
    events_header_.kind = static_cast<uint8_t>(ChunkKind::kEvents);
    events_header_.thread = thread_ = event.thread;
    events_header_.base_sequence = events_ - 1;
    events_header_.base_time = last_time_ns_;
    events_header_.buffer = 1;
    encoder_.Begin(events_ - 1, last_time_ns_);
  }
  const size_t before = events_payload_.size();
  events_payload_.resize(before + kMaxBytes);
  uint8_t* out = events_payload_.data() + before;
  if (event.thread != thread_) {
    out = EventEncoder::EncodeThread(out, event.thread);
    thread_ = event.thread;
  }
  out = encoder_.Encode(out, renumbered, events_, last_time_ns_);
  events_payload_.resize(static_cast<size_t>(out - events_payload_.data()));
  return true;
}

bool StowWriter::FlushEvents() {
  return events_payload_.empty() || WriteChunk(&events_header_, &events_payload_);
}

bool StowWriter::FlushTable() {
  ChunkHeader header = {};
  header.kind = static_cast<uint8_t>(ChunkKind::kTables);
  return table_.empty() || WriteChunk(&header, &table_);
}

bool StowWriter::AddRecord(RecordType type, std::string_view payload) {
  std::string record(1, static_cast<char>(type));
  AppendText(&record, payload);
  if (table_.size() + record.size() > kMaxPayloadBytes && !FlushTable()) return false;
  table_.insert(table_.end(), record.begin(), record.end());
  return true;
}

// Writes the payload to the file and then empties it.
bool StowWriter::WriteChunk(ChunkHeader* header, std::vector<uint8_t>* payload) {
  header->trace_id = trace_id_;
  header->number = ++chunks_;
  const std::vector<uint8_t> chunk = SealedChunk(*header, *payload);
  payload->clear();
  if (!WriteAt(chunk.data(), chunk.size(), offset_)) return false;
  offset_ += chunk.size();
  return true;
}

bool StowWriter::WriteHeader(uint64_t bytes, const TraceStart& start) {
  std::vector<uint8_t> front(kFileHeaderBytes);
  FileHeader header = {};
  std::memcpy(header.magic, kFileMagic, sizeof kFileMagic);
  header.major = kFormatMajor;
  header.minor = kFormatMinor;
  header.header_bytes = kFileHeaderBytes;
  header.slot_bytes = kSlotBytes;
  header.trace_id = trace_id_;
  header.process =
      static_cast<uint32_t>(start.process != 0 ? start.process : NumberOfFact("process.pid"));
  header.start_unix_ns = start.unix_ns != 0 ? static_cast<uint64_t>(start.unix_ns)
                                            : NumberOfFact("process.start_time");
  header.start_clock_ns = start.clock_ns;
  header.checksum = Crc32c(&header, offsetof(FileHeader, checksum));
  const bool is_whole = source_->report().closed;
  header.state = static_cast<uint32_t>(is_whole ? TraceState::kClosed : TraceState::kRunning);
  header.latch_error = source_->report().write_error;
  header.file_bytes = bytes;
  header.last_sequence = events_;
  std::memcpy(front.data(), &header, sizeof header);
  return WriteAt(front.data(), front.size(), 0);
}

bool StowWriter::WriteAt(const void* bytes, size_t size, uint64_t offset) {
  if (vramstow::WriteAt(descriptor_, bytes, size, offset)) return true;
  if (error_ == 0) error_ = errno;
  return false;
}

bool StowWriter::AddFact(std::string_view key, std::string_view value) {
  std::string payload;
  AppendText(&payload, key);
  payload.append(value.substr(0, kMaxTextBytes));
  return AddRecord(RecordType::kFact, payload);
}

// Returns the number that is the value of a fact; 0 if there is none.
uint64_t StowWriter::NumberOfFact(const char* key) const {
  const auto fact = source_->facts().find(key);
  uint64_t number = 0;
  return fact != source_->facts().end() && absl::SimpleAtoi(fact->second, &number) ? number : 0;
}

bool StowWriter::WriteFacts() {
  for (const auto& [key, value] : source_->facts()) {
    if (!AddFact(key, value)) return false;
  }
  if (source_->Kind() != "stow" && !AddFact("source.kind", source_->Kind())) return false;
  if (const auto call = source_->OpeningCall()) {
    if (!AddFact("source.opening_call", absl::StrCat(*call))) return false;
  }
  if (source_->ReportsFreeCompleted() && !AddFact("source.tells_free_completed", "1")) return false;
  if (has_reserved_ && !AddFact("source.tells_reserved", "1")) return false;
  const ReadReport report = source_->report();
  for (const SourceCount& count : kSourceCounts) {
    const uint64_t value = report.*count.member;
    if (value != 0 && !AddFact(count.fact, absl::StrCat(value))) return false;
  }
  const std::vector<std::string> missing = source_->missing();
  return missing.empty() || AddFact("source.missing", absl::StrJoin(missing, "\n"));
}

// Returns the samples with the file's numbers of stacks. Several stacks of the source may be one
// stack of the file, whose levels are the sum of theirs.
std::vector<SumSamples> StowWriter::SamplesOf(const TraceSums& sums) {
  std::vector<SumSamples> all;
  std::map<uint32_t, size_t> place_of_stack;
  for (SumSamples samples : sums.samples) {
    if (samples.of == SumOf::kStack) {
      samples.number = StackOf(samples.number);
      const auto [known, is_new] = place_of_stack.try_emplace(samples.number, all.size());
      if (!is_new) {
        SumSamples& same = all[known->second];
        for (size_t i = 0; i < kMaxSamples; ++i) {
          const uint64_t sum = uint64_t{same.levels[i]} + samples.levels[i];
          same.levels[i] = static_cast<uint32_t>(std::min<uint64_t>(sum, ~uint32_t{0}));
        }
        continue;
      }
    }
    all.push_back(samples);
  }
  return all;
}

// Writes one generation of the sums that the source has in place of older events. None of the
// file's own events are in the sums, so the generation has no cuts. Calls and libraries have the
// source's numbers in the file, but stacks have other ones.
bool StowWriter::WriteSums() {
  const TraceSums* sums = source_->Sums();
  if (sums == nullptr) return true;
  std::vector<uint8_t> payload;
  ChunkHeader header = {};
  header.kind = static_cast<uint8_t>(ChunkKind::kSums);
  header.buffer = 1;
  bool is_written = true;
  // Without room for another record the payload is written as a chunk.
  const auto make_room = [&] {
    if (payload.size() + 2 * kMaxSumRecordBytes <= kMaxPayloadBytes) return;
    ++header.turn;
    is_written = is_written && WriteChunk(&header, &payload);
  };
  const auto add = [&](auto encode, const auto& record) {
    make_room();
    const size_t before = payload.size();
    payload.resize(before + kMaxSumRecordBytes);
    uint8_t* const end = encode(payload.data() + before, record);
    payload.resize(static_cast<size_t>(end - payload.data()));
  };
  add(EncodeTotals, sums->totals);
  for (TraceSum sum : sums->sums) {
    if (sum.of == SumOf::kStack) sum.number = StackOf(sum.number);
    NoteNames(sum.of, sum.number);
    add(EncodeSum, sum);
  }
  for (const SumPoint& point : sums->points) add(EncodePoint, point);
  for (const SumSamples& samples : SamplesOf(*sums)) {
    NoteNames(samples.of, samples.number);
    add(EncodeSamples, samples);
  }
  make_room();  // the last record has the number of its own chunk
  add(EncodeLastSums, uint64_t{++header.turn});
  return is_written && WriteChunk(&header, &payload);
}

// Remembers the call and the library that a sum counts, so that the file has their names.
void StowWriter::NoteNames(SumOf of, uint32_t number) {
  constexpr unsigned kCallBits = 16;
  const auto low = static_cast<uint16_t>(number);
  if (of == SumOf::kCall || of == SumOf::kCaller) calls_.insert(low);
  if (of == SumOf::kLibrary) libraries_.insert(low);
  if (of == SumOf::kCaller) libraries_.insert(static_cast<uint16_t>(number >> kCallBits));
  calls_.erase(kUnknownName);
  libraries_.erase(kUnknownName);
}

bool StowWriter::WriteNames() {
  for (uint16_t call : calls_) {
    std::string payload;
    AppendNumber(&payload, call);
    payload.append(source_->CallName(call));
    if (!AddRecord(RecordType::kCall, payload)) return false;
  }
  for (uint16_t library : libraries_) {
    std::string payload;
    AppendNumber(&payload, library);
    AppendNumber(&payload, 0);
    AppendText(&payload, "");
    payload.append(source_->LibraryPath(library).substr(0, kMaxTextBytes));
    if (!AddRecord(RecordType::kLibrary, payload)) return false;
  }
  return FlushTable();
}

uint64_t StowWriter::AnnotationOf(const Event& mark) {
  const std::string text(source_->MarkText(mark).substr(0, kMaxTextBytes));
  const auto [known, inserted] = annotations_.try_emplace(text, annotations_.size() + 1);
  if (inserted) {
    std::string payload;
    AppendNumber(&payload, known->second);
    payload.append(text);
    AddRecord(RecordType::kAnnotation, payload);
  }
  return known->second;
}

uint32_t StowWriter::StackOf(uint32_t stack) {
  const auto [known, inserted] = stacks_.try_emplace(stack, 0);
  if (!inserted) return known->second;
  uint32_t node = 0;
  const std::vector<CallFrame> frames = source_->Frames(stack);
  for (auto frame = frames.rbegin(); frame != frames.rend(); ++frame) {
    const uint32_t next = NodeOf(node, *frame);
    if (next == 0) {
      ++stacks_left_out_;
      break;
    }
    node = next;
  }
  return known->second = node;
}

// Returns the number of a frame called from `parent`, or 0 if there are too many frames.
uint32_t StowWriter::NodeOf(uint32_t parent, const CallFrame& frame) {
  std::string code;
  AppendText(&code, frame.function.substr(0, kMaxTextBytes / 2));
  code.append(frame.file.substr(0, kMaxTextBytes / 2));
  const auto [number, is_new] = codes_.try_emplace(code, static_cast<uint32_t>(codes_.size()) + 1);
  if (number->second > kMaxCodes) return 0;
  if (is_new) {
    std::string payload;
    AppendNumber(&payload, number->second);
    AppendNumber(&payload, frame.line);  // the function's first line is not known
    payload.append(code);
    AddRecord(RecordType::kCode, payload);
  }
  std::string place;
  AppendNumber(&place, parent);
  place.push_back(static_cast<char>(FrameKind::kPython));
  AppendNumber(&place, number->second);
  AppendNumber(&place, frame.line);
  const auto [node, is_new_node] =
      nodes_.try_emplace(place, static_cast<uint32_t>(nodes_.size()) + 1);
  if (node->second > kMaxNodes) return 0;
  if (is_new_node) {
    std::string payload;
    AppendNumber(&payload, node->second);
    AddRecord(RecordType::kStack, payload + place);
  }
  return node->second;
}

}  // namespace vramstow
