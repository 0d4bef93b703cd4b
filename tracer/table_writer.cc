#include "tracer/table_writer.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>

#include "base/zero_memory.h"
#include "tracer/capture/stack_frame.h"
#include "tracer/format/varint.h"
#include "tracer/recorder.h"

namespace vramstow {
namespace {

constexpr size_t kMaxKeyBytes = 255;
constexpr size_t kMaxTextBytes = 1024;
// The longest value of a fact. A value of this size surely fits into a chunk.
constexpr size_t kMaxValueBytes = 48 * 1024;
constexpr size_t kMaxRecordBytes = kMaxValueBytes + kMaxKeyBytes + 4 * kMaxVarintBytes;
static_assert(kMaxRecordBytes + sizeof(ChunkHeader) <= kSlotBytes - kFileHeaderBytes);

uint64_t HashOfAnnotation(std::string_view text) {
  uint64_t hash = text.size();
  for (size_t i = 0; i < text.size(); i += sizeof hash) {
    uint64_t word = 0;
    std::memcpy(&word, text.data() + i, std::min(sizeof word, text.size() - i));
    hash = MixInto(hash, word);
  }
  return hash | 1;
}

// True if vramstow itself wrote the mark, for the analysis: it must not get lost among the marks of
// the program.
bool IsOwnText(std::string_view text) {
  return text.starts_with("vramstow.") || text == "iteration";
}

}  // namespace

bool TableWriter::Start(OpenTrace* trace) {
  trace_ = trace;
  void* const memory = mmap(nullptr, sizeof(AnnotationTable), PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return false;
  annotations_ = static_cast<AnnotationTable*>(memory);
  return true;
}

void TableWriter::GiveBack() {
  MakeZero(annotations_, annotations_ + 1);
  MakeZero(&calls_, library_text_ + kMaxLibraryText);
}

// This function may run twice, because the file may have to be made a second time.
int TableWriter::Begin() {
  chunk_.SetPlace({&trace_->file, trace_->first_slot.bytes + kFileHeaderBytes, kFileHeaderBytes,
                   kSlotBytes - kFileHeaderBytes, trace_->id});
  BeginChunk();
  return trace_->file.is_shared() ? 0 : WriteFront();
}

void TableWriter::BeginChunk() {
  chunk_.Begin({trace_->NextChunkNumber(), 0, ChunkKind::kTables, 0, 0, 0, 0});
}

bool TableWriter::Append(RecordType type, const std::string_view* parts, size_t count) {
  size_t length = 0;
  for (size_t i = 0; i < count; ++i) length += parts[i].size();
  if (length > kMaxRecordBytes - kMaxVarintBytes - 1) return false;
  if (chunk_.room() < length + kMaxVarintBytes + 1) {
    const int error = chunk_.Append();
    if (error != 0) {
      trace_->Latch(error);
      return false;
    }
    BeginChunk();
  }
  uint8_t* out = chunk_.next();
  *out++ = static_cast<uint8_t>(type);
  out = WriteVarint(out, length);
  for (size_t i = 0; i < count; ++i) {
    if (!parts[i].empty()) std::memcpy(out, parts[i].data(), parts[i].size());
    out += parts[i].size();
  }
  chunk_.Commit(out);
  // If the slot is plain memory and not a part of the file, the names are written to the file now,
  // before the events that use them.
  if (!trace_->file.is_shared()) WriteFront();
  return true;
}

void TableWriter::Describe(std::string_view key, std::string_view value) {
  const void* const self = trace_->Self();
  if (self == nullptr || !trace_->IsRecording() || !mutex_.Lock(self)) return;
  DescribeLocked(key, value);
  mutex_.Unlock();
}

void TableWriter::DescribeLocked(std::string_view key, std::string_view value) {
  key = key.substr(0, kMaxKeyBytes);
  uint8_t number[kMaxVarintBytes];
  const std::string_view key_length = AsText(number, WriteVarint(number, key.size()));
  const std::string_view parts[] = {key_length, key, value.substr(0, kMaxValueBytes)};
  if (trace_->IsRecording()) Append(RecordType::kFact, parts, 3);
}

uint16_t TableWriter::InternCall(std::string_view name) {
  const void* const self = trace_->Self();
  if (self == nullptr || !trace_->IsRecording() || !mutex_.Lock(self)) return kUnknownName;
  NameTable::Result result = calls_.Intern(name.substr(0, kMaxKeyBytes));
  if (result.is_new) {
    uint8_t number[kMaxVarintBytes];
    const std::string_view parts[] = {AsText(number, WriteVarint(number, result.number)),
                                      name.substr(0, kMaxKeyBytes)};
    if (!trace_->IsRecording() || !Append(RecordType::kCall, parts, 2)) {
      calls_.ForgetLast();
      result.number = kUnknownName;
    }
  }
  mutex_.Unlock();
  return result.number;
}

uint16_t TableWriter::InternLibrary(std::string_view path, uint64_t base,
                                    std::string_view build_id) {
  const void* const self = trace_->Self();
  if (self == nullptr || !trace_->IsRecording() || !mutex_.Lock(self)) return kUnknownName;
  const uint16_t number = InternLibraryLocked(path, base, build_id);
  mutex_.Unlock();
  return number;
}

uint64_t TableWriter::InternAnnotation(std::string_view text, TextOf whose) {
  text = text.substr(0, kMaxTextBytes);
  const uint64_t hash = HashOfAnnotation(text);
  uint32_t number = annotations_->Find(hash);
  if (number != 0) return number;
  const void* const self = trace_->Self();
  if (self == nullptr || !trace_->IsRecording() || !mutex_.Lock(self)) return 0;
  number = annotations_->Find(hash);
  if (number == 0 && trace_->IsRecording()) {
    const bool is_own = whose == TextOf::kVramstow || IsOwnText(text);
    number = is_own ? AddOwnText(hash, text) : AddProgramText(hash, text);
    if (number == 0) number = FurtherText(text);
  }
  mutex_.Unlock();
  return number;
}

// Writes a text that is not in the trace yet, and counts its bytes. Returns its number, or 0 if
// there is no room or the disk is full.
uint32_t TableWriter::WriteText(std::string_view text, uint64_t* bytes) {
  if (text.size() > kMaxAnnotationBytes - *bytes) return 0;
  const uint32_t number = annotation_count_ + 1;
  if (!AppendAnnotation(number, text)) return 0;
  annotation_count_ = number;
  *bytes += text.size();
  return number;
}

// If the table is full, an own text cannot be found again, so it is written again each time.
uint32_t TableWriter::AddOwnText(uint64_t hash, std::string_view text) {
  const uint32_t number = WriteText(text, &own_annotation_bytes_);
  if (number != 0) annotations_->Add(hash, number);
  return number;
}

uint32_t TableWriter::AddProgramText(uint64_t hash, std::string_view text) {
  if (program_texts_ == kMaxProgramTexts) return 0;
  const uint32_t number = WriteText(text, &annotation_bytes_);
  if (number == 0) return 0;
  annotations_->Add(hash, number);
  ++program_texts_;
  return number;
}

// Returns the number for a text without room: that of the text without the number at its end, so
// that the steps of a long job stay recognisable, or else that of "(further texts)".
uint32_t TableWriter::FurtherText(std::string_view text) {
  const std::string_view name = text.substr(0, text.find_last_not_of("0123456789") + 1);
  if (!name.empty() && name.size() < text.size() && !IsOwnText(text)) {
    const uint64_t hash = HashOfAnnotation(name);
    uint32_t number = annotations_->Find(hash);
    if (number == 0 && further_names_ < kMaxFurtherNames) {
      number = AddOwnText(hash, name);
      further_names_ += number != 0 ? 1 : 0;
    }
    if (number != 0) return DescribeFull(number);
  }
  if (further_texts_ != 0) return further_texts_;
  uint64_t bytes = 0;  // this text is always written, once
  return further_texts_ = DescribeFull(WriteText("(further texts)", &bytes));
}

// Records once that there are further texts. Returns the number.
uint32_t TableWriter::DescribeFull(uint32_t number) {
  if (!has_further_texts_) DescribeLocked("annotations.full", "1");
  has_further_texts_ = true;
  return number;
}

bool TableWriter::AppendAnnotation(uint32_t number, std::string_view text) {
  uint8_t bytes[kMaxVarintBytes];
  const std::string_view parts[] = {AsText(bytes, WriteVarint(bytes, number)), text};
  return Append(RecordType::kAnnotation, parts, 2);
}

uint16_t TableWriter::InternLibraryLocked(std::string_view path, uint64_t base,
                                          std::string_view build_id) {
  build_id = build_id.substr(0, kMaxKeyBytes);
  path = path.substr(0, kMaxLibraryText - kMaxKeyBytes - 2 * kMaxVarintBytes);
  // A library is identified by its record without the number.
  uint8_t* const text = reinterpret_cast<uint8_t*>(library_text_);
  uint8_t* out = WriteVarint(text, base);
  out = WriteVarint(out, build_id.size());
  if (!build_id.empty()) std::memcpy(out, build_id.data(), build_id.size());
  out += build_id.size();
  if (!path.empty()) std::memcpy(out, path.data(), path.size());
  out += path.size();
  NameTable::Result result = libraries_.Intern(AsText(text, out));
  if (result.is_new) {
    uint8_t number[kMaxVarintBytes];
    const std::string_view parts[] = {AsText(number, WriteVarint(number, result.number)),
                                      AsText(text, out)};
    if (!trace_->IsRecording() || !Append(RecordType::kLibrary, parts, 2)) {
      libraries_.ForgetLast();
      result.number = kUnknownName;
    }
  }
  return result.number;
}

}  // namespace vramstow
