// Facts and names: records in a chunk of their own, at the beginning of the file.
#include <algorithm>
#include <cstring>

#include "tracer/capture/stack_frame.h"
#include "tracer/format/varint.h"
#include "tracer/recorder_state.h"

namespace vramstow {
namespace {

constexpr size_t kMaxKeyBytes = 255;
constexpr size_t kMaxAnnotationBytes = 1024;
// What fits into a chunk with room to spare.
constexpr size_t kMaxValueBytes = 48 * 1024;
constexpr size_t kMaxRecordBytes = kMaxValueBytes + kMaxKeyBytes + 4 * kMaxVarintBytes;
static_assert(kMaxRecordBytes + sizeof(ChunkHeader) <= kSlotBytes - kFileHeaderBytes);

std::string_view AsText(const uint8_t* begin, const uint8_t* end) {
  return {reinterpret_cast<const char*>(begin), static_cast<size_t>(end - begin)};
}

}  // namespace

void RecorderState::BeginTables() {
  const uint32_t number = chunks_.fetch_add(1, std::memory_order_relaxed) + 1;
  tables_.Begin({number, 0, ChunkKind::kTables, 0, 0, 0, 0});
}

// Appends a record of these parts and commits it. False: no room on disk.
bool RecorderState::AppendTableRecord(uint8_t type, const std::string_view* parts, size_t count) {
  size_t length = 0;
  for (size_t i = 0; i < count; ++i) length += parts[i].size();
  if (length > kMaxRecordBytes - kMaxVarintBytes - 1) return false;
  if (tables_.room() < length + kMaxVarintBytes + 1) {
    const int error = tables_.Append();
    if (error != 0) {
      Latch(error);
      return false;
    }
    BeginTables();
  }
  uint8_t* out = tables_.next();
  *out++ = type;
  out = WriteVarint(out, length);
  for (size_t i = 0; i < count; ++i) {
    if (!parts[i].empty()) std::memcpy(out, parts[i].data(), parts[i].size());
    out += parts[i].size();
  }
  tables_.Commit(out);
  if (!file_.is_shared()) {
    // Memory that is not part of the file: names have to be there before the events that use them.
    file_.WriteFront(first_slot_.bytes, kFileHeaderBytes + tables_.used_bytes());
  }
  return true;
}

void RecorderState::Describe(std::string_view key, std::string_view value) {
  const void* const self = Self();
  if (self == nullptr || !IsRecording() || !lock_.Lock(self)) return;
  key = key.substr(0, kMaxKeyBytes);
  uint8_t number[kMaxVarintBytes];
  const std::string_view key_length = AsText(number, WriteVarint(number, key.size()));
  const std::string_view parts[] = {key_length, key, value.substr(0, kMaxValueBytes)};
  if (IsRecording()) AppendTableRecord(static_cast<uint8_t>(RecordType::kFact), parts, 3);
  lock_.Unlock();
}

uint16_t RecorderState::InternCall(std::string_view name) {
  const void* const self = Self();
  if (self == nullptr || !IsRecording() || !lock_.Lock(self)) return kUnknownName;
  NameTable::Result result = calls_.Intern(name.substr(0, kMaxKeyBytes));
  if (result.is_new) {
    uint8_t number[kMaxVarintBytes];
    const std::string_view parts[] = {AsText(number, WriteVarint(number, result.number)),
                                      name.substr(0, kMaxKeyBytes)};
    if (!IsRecording() || !AppendTableRecord(static_cast<uint8_t>(RecordType::kCall), parts, 2)) {
      calls_.ForgetLast();
      result.number = kUnknownName;
    }
  }
  lock_.Unlock();
  return result.number;
}

uint16_t RecorderState::InternLibrary(std::string_view path, uint64_t base,
                                      std::string_view build_id) {
  const void* const self = Self();
  if (self == nullptr || !IsRecording() || !lock_.Lock(self)) return kUnknownName;
  const uint16_t number = InternLibraryLocked(path, base, build_id);
  lock_.Unlock();
  return number;
}

uint64_t RecorderState::InternAnnotation(std::string_view text) {
  text = text.substr(0, kMaxAnnotationBytes);
  uint64_t hash = text.size();
  for (size_t i = 0; i < text.size(); i += sizeof hash) {
    uint64_t word = 0;
    std::memcpy(&word, text.data() + i, std::min(sizeof word, text.size() - i));
    hash = MixInto(hash, word);
  }
  hash |= 1;
  uint64_t number = annotations_->Find(hash);
  if (number != 0) return number;
  const void* const self = Self();
  if (self == nullptr || !IsRecording() || !lock_.Lock(self)) return 0;
  number = annotations_->Find(hash);
  if (number == 0 && IsRecording()) {
    number = annotation_count_ + 1;
    uint8_t bytes[kMaxVarintBytes];
    const std::string_view parts[] = {AsText(bytes, WriteVarint(bytes, number)), text};
    if (AppendTableRecord(static_cast<uint8_t>(RecordType::kAnnotation), parts, 2)) {
      annotation_count_ = number;
      // When this table is full, a text gets a new number each time.
      annotations_->Add(hash, static_cast<uint32_t>(number));
    } else {
      number = 0;
    }
  }
  lock_.Unlock();
  return number;
}

uint16_t RecorderState::InternLibraryLocked(std::string_view path, uint64_t base,
                                            std::string_view build_id) {
  build_id = build_id.substr(0, kMaxKeyBytes);
  path = path.substr(0, kMaxLibraryText - kMaxKeyBytes - 2 * kMaxVarintBytes);
  // The record without its number is what tells one library from another.
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
    if (!IsRecording() ||
        !AppendTableRecord(static_cast<uint8_t>(RecordType::kLibrary), parts, 2)) {
      libraries_.ForgetLast();
      result.number = kUnknownName;
    }
  }
  return result.number;
}

}  // namespace vramstow
