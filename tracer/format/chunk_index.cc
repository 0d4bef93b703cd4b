#include "tracer/format/chunk_index.h"

#include <zstd.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <map>
#include <memory>
#include <string_view>
#include <utility>

#include "tracer/format/crc32c.h"
#include "tracer/format/event_decoder.h"
#include "tracer/format/split_times.h"

namespace vramstow {
namespace {

std::string_view MagicText() {
  return {reinterpret_cast<const char*>(kChunkMagic), sizeof kChunkMagic};
}

bool HasMagic(const ChunkHeader& header) {
  return std::memcmp(header.magic, kChunkMagic, sizeof kChunkMagic) == 0;
}

// The bytes of a header that format version 1 does not have.
constexpr size_t kMoreBytes = offsetof(ChunkHeader, more_checksum) - offsetof(ChunkHeader, buffer);

// Clears the fields that format version 1 does not have. In that version the payload begins at
// their position.
void ForgetMore(ChunkHeader* header) {
  std::memset(&header->buffer, 0, sizeof *header - offsetof(ChunkHeader, buffer));
}

bool IsMoreBelievable(const ChunkHeader& header) {
  return header.header_bytes < sizeof(ChunkHeader) ||
         header.more_checksum == Crc32c(&header.buffer, kMoreBytes);
}

// True if the checksum of the header's constant part is correct. The header's fields may still be
// inconsistent.
bool IsBelievable(const ChunkHeader& header, uint64_t trace_id) {
  return (trace_id == 0 || header.trace_id == trace_id) &&
         header.capacity >= kFirstChunkHeaderBytes && header.capacity <= kMaxChunkBytes &&
         header.header_bytes >= kFirstChunkHeaderBytes && header.header_bytes <= header.capacity &&
         header.checksum == Crc32c(&header, offsetof(ChunkHeader, checksum));
}

// True for a slot that has no chunk, because the process was killed between two chunks, or before
// the first one. `room` is the number of bytes up to the file's end.
bool IsBeingPrepared(const ChunkHeader& header, uint64_t room) {
  if (header.state == kChunkPreparing) {
    // The file may end within the padding of the chunk that the slot contained before.
    return header.capacity >= kMinChunkBytes && header.capacity < room + kChunkAlignment;
  }
  return header.state == 0 && header.number == 0 && header.committed == 0;
}

// True if the encoding of the chunk is known and allowed. A chunk that is not plain must be sealed.
// Its decoded payload must not be longer than a slot, so that a small file cannot demand much
// memory.
bool IsKnownEncoding(const ChunkHeader& header) {
  if (header.encoding == static_cast<uint8_t>(ChunkEncoding::kPlain)) return true;
  const bool is_split = header.encoding == static_cast<uint8_t>(ChunkEncoding::kSplitZstd) &&
                        HasSplitTimes(static_cast<ChunkKind>(header.kind));
  return (is_split || header.encoding == static_cast<uint8_t>(ChunkEncoding::kZstd)) &&
         header.header_bytes >= sizeof(ChunkHeader) && header.state == kChunkSealed &&
         header.payload_bytes <= kSlotBytes;
}

bool IsUsable(const ChunkHeader& header) {
  const ChunkKind kind = static_cast<ChunkKind>(header.kind);
  const bool is_ticked = IsTicked(kind);
  return (header.state == kChunkOpen || header.state == kChunkSealed) &&
         kind >= ChunkKind::kOldEvents && kind <= ChunkKind::kKeptEvents &&
         IsKnownEncoding(header) && header.committed <= header.capacity - header.header_bytes &&
         IsMoreBelievable(header) &&
         (!is_ticked || (header.header_bytes >= sizeof(ChunkHeader) &&
                         header.base_time >> (64 - kBufferBits) == 0));
}

bool IsOfSums(const ChunkHeader& header) {
  return header.kind == static_cast<uint8_t>(ChunkKind::kSums) ||
         header.kind == static_cast<uint8_t>(ChunkKind::kKeptEvents);
}

bool Decompress(const uint8_t* frame, size_t frame_bytes, uint8_t* to, size_t size) {
  const size_t count = ZSTD_decompress(to, size, frame, frame_bytes);
  return ZSTD_isError(count) == 0 && count == size;
}

// Decodes the payload of a chunk whose time steps are stored separately. `to` also has room for the
// padding behind the payload.
bool JoinSplit(const std::vector<uint8_t>& encoded, size_t size, uint8_t* to) {
  SplitCount events;
  if (encoded.size() < sizeof events) return false;
  std::memcpy(&events, encoded.data(), sizeof events);
  std::vector<uint8_t> split(size + kSplitSlack);
  return Decompress(encoded.data() + sizeof events, encoded.size() - sizeof events, split.data(),
                    size) &&
         std::make_unique<TimeSplitter>()->Join(split.data(), size, events, to);
}

bool LoadZstd(const TraceBytes& bytes, const ChunkEntry& entry, std::vector<uint8_t>* payload,
              size_t* size) {
  std::vector<uint8_t> encoded(entry.available);
  const uint64_t offset = entry.offset + entry.header.header_bytes;
  if (entry.is_cut || bytes.Read(offset, encoded.data(), encoded.size()) < encoded.size() ||
      Crc32c(encoded.data(), encoded.size()) != entry.header.payload_checksum) {
    return false;
  }
  *size = entry.header.payload_bytes;
  payload->resize(*size + kDecodePadding);
  const bool is_split = entry.header.encoding == static_cast<uint8_t>(ChunkEncoding::kSplitZstd);
  if (is_split ? !JoinSplit(encoded, *size, payload->data())
               : !Decompress(encoded.data(), encoded.size(), payload->data(), *size)) {
    return false;
  }
  std::memset(payload->data() + *size, 0, kDecodePadding);
  return true;
}

constexpr uint64_t kMaxCopiedBytes = uint64_t{64} << 20;
constexpr int kMaxTries = 1000;
constexpr int kMaxLooksAtEnd = 100;

}  // namespace

void ChunkIndex::Build(TraceBytes* bytes, uint64_t begin, uint64_t trace_id, bool is_ring,
                       ReadReport* report) {
  report_ = report;
  lost_events_ = copied_bytes_ = 0;
  may_change_ = !report->closed && bytes->is_file();
  tries_left_ = kMaxTries;
  uint64_t at = Scan(*bytes, begin, trace_id, is_ring);
  // A chunk that left its slot before the slot was looked at may lie behind the earlier end.
  for (int i = 0; may_change_ && i < kMaxLooksAtEnd && bytes->Grow(); ++i) {
    if (!found_.empty() && found_.back().is_cut) {
      at = found_.back().offset;
      found_.pop_back();
    }
    at = Scan(*bytes, at, trace_id, is_ring);
  }
  KeepOneOfEachNumber(*bytes);
  KeepOneGeneration(*bytes);
  if (is_ring) BeginBehindHoles();
  std::stable_sort(events_.begin(), events_.end(), [](const ChunkEntry& a, const ChunkEntry& b) {
    return a.base_order() < b.base_order();
  });
}

// Finds the chunks from `at` on. Returns the offset up to which the file was searched.
uint64_t ChunkIndex::Scan(const TraceBytes& bytes, uint64_t at, uint64_t trace_id, bool is_ring) {
  const uint64_t size = bytes.size();
  bool may_look_back = false;  // search inside the last chunk, once
  while (at < size) {
    ChunkHeader header = {};
    const size_t count = bytes.Read(at, &header, sizeof header);
    if (header.header_bytes < sizeof header) ForgetMore(&header);
    const bool has_magic = count >= kFirstChunkHeaderBytes && HasMagic(header);
    if (has_magic && IsBeingPrepared(header, size - at)) {
      at += std::max<uint64_t>(header.capacity, kFirstChunkHeaderBytes);
      continue;
    }
    if (has_magic && IsBelievable(header, trace_id)) {
      const size_t found_before = found_.size();
      at = Take(bytes, at, header);
      // In a ring, the bytes behind a chunk's payload belong to older chunks.
      may_look_back = !is_ring && found_.size() > found_before;
      continue;
    }
    if (may_look_back) {
      // Bytes of the file may be missing. So the next chunk may begin before the point where the
      // last one should end.
      may_look_back = false;
      const uint64_t from = found_.back().offset + kFirstChunkHeaderBytes;
      const uint64_t inside = bytes.Find(from, at, MagicText());
      if (inside < at) {
        CutLastAt(inside);
        at = inside;
        continue;
      }
    }
    const uint64_t first = bytes.FindNonZero(at);
    if (first == size) break;
    if (first > at && !has_magic) {
      at = first;  // skips unused room
      continue;
    }
    const bool has_changed = may_change_ && first == at && header.magic[0] == 0;
    if (has_changed && tries_left_-- > 0) continue;  // a chunk was begun here meanwhile
    if (has_magic) ++report_->damaged_chunks;
    const uint64_t next = bytes.Find(at + 1, size, MagicText());
    report_->damaged_bytes += next - at;
    at = next;
  }
  return at;
}

// Chooses the newest complete generation of sums (the chunks that one fold wrote). The file may
// also contain chunks of the previous and of the next generation, but some of these chunks may be
// missing. Chunks of other generations do not count as damage.
void ChunkIndex::KeepOneGeneration(const TraceBytes& bytes) {
  std::stable_sort(sums_.begin(), sums_.end(), [](const ChunkEntry& a, const ChunkEntry& b) {
    return a.header.buffer != b.header.buffer ? a.header.buffer > b.header.buffer
                                              : a.header.turn < b.header.turn;
  });
  const std::vector<ChunkEntry> all = std::move(sums_);
  sums_.clear();
  std::vector<uint8_t> payload;
  for (size_t begin = 0; begin < all.size();) {
    size_t end = begin;
    bool is_whole = true;
    for (; end < all.size() && all[end].header.buffer == all[begin].header.buffer; ++end) {
      is_whole = is_whole && !all[end].is_cut && all[end].header.turn == end - begin + 1;
    }
    const auto first = all.begin() + static_cast<ptrdiff_t>(begin);
    const auto last = all.begin() + static_cast<ptrdiff_t>(end);
    TraceSums ignored;
    uint64_t chunks = 0;
    size_t size = 0;
    is_whole = is_whole && Load(bytes, all[end - 1], &payload, &size) &&
               all[end - 1].header.kind == static_cast<uint8_t>(ChunkKind::kSums) &&
               DecodeSums(payload.data(), size, &ignored, &chunks) && chunks == end - begin;
    if (is_whole) {
      const auto is_sums = [](const ChunkEntry& entry) {
        return entry.header.kind == static_cast<uint8_t>(ChunkKind::kSums);
      };
      std::copy_if(first, last, std::back_inserter(sums_), is_sums);
      std::remove_copy_if(first, last, std::back_inserter(kept_), is_sums);
      return;
    }
    begin = end;
  }
}

// Removes chunks whose events are all contained in the sums. A chunk's last event is known from the
// first event of the next chunk of its buffer.
void ChunkIndex::LeaveOut(const std::vector<SumCut>& cuts) {
  std::map<uint32_t, uint64_t> cut_of;
  for (const SumCut& cut : cuts) cut_of[cut.buffer] = cut.last_number;
  std::map<std::pair<uint32_t, uint32_t>, uint64_t> first_of;  // by buffer and turn
  for (const ChunkEntry& entry : events_) {
    first_of[{entry.header.buffer, entry.header.turn}] = entry.header.base_sequence;
  }
  std::erase_if(events_, [&](const ChunkEntry& entry) {
    const auto cut = cut_of.find(entry.header.buffer);
    const auto next = first_of.find({entry.header.buffer, entry.header.turn + 1});
    return cut != cut_of.end() && next != first_of.end() && next->second <= cut->second;
  });
}

// In a ring, a buffer's chunk can be written after its successor. The successor is then overwritten
// first, and a chunk is missing between this one and the next. In that case the chunks before the
// gap are dropped.
void ChunkIndex::BeginBehindHoles() {
  constexpr size_t kMaxOutOfTurn = 2;
  std::stable_sort(events_.begin(), events_.end(), [](const ChunkEntry& a, const ChunkEntry& b) {
    return a.header.buffer != b.header.buffer ? a.header.buffer < b.header.buffer
                                              : a.header.turn < b.header.turn;
  });
  std::vector<ChunkEntry> kept;
  for (size_t begin = 0; begin < events_.size();) {
    size_t first = begin;
    size_t end = begin + 1;
    for (; end < events_.size() && events_[end].header.buffer == events_[begin].header.buffer;
         ++end) {
      const bool is_hole = events_[end].header.turn != events_[end - 1].header.turn + 1;
      if (is_hole && end - begin <= kMaxOutOfTurn) first = end;
    }
    for (size_t i = first; i < end; ++i) kept.push_back(events_[i]);
    begin = end;
  }
  events_ = std::move(kept);
}

// Adds the chunk to the list. Returns the offset where the next chunk should begin, or `offset` if
// the chunk was replaced meanwhile.
uint64_t ChunkIndex::Take(const TraceBytes& bytes, uint64_t offset, const ChunkHeader& header) {
  const uint64_t size = bytes.size();
  const uint64_t next = std::min(size, offset + header.capacity);
  ChunkEntry entry;
  entry.offset = offset;
  entry.header = header;
  if (!IsUsable(header)) {
    ++report_->damaged_chunks;
    report_->damaged_bytes += next - offset;
    return next;
  }
  const uint64_t payload = std::min(size, offset + header.header_bytes);
  entry.available = static_cast<uint32_t>(std::min<uint64_t>(header.committed, size - payload));
  entry.is_cut = entry.available < header.committed;
  const bool is_open = may_change_ && header.state == kChunkOpen;
  if (is_open && tries_left_ > 0 && !Copy(bytes, &entry)) {
    --tries_left_;
    return offset;
  }
  found_.push_back(std::move(entry));
  return next;
}

// Copies the payload of an open chunk. Returns false if the chunk has left its place meanwhile; if
// it has not, all bytes that its header counted before were read.
bool ChunkIndex::Copy(const TraceBytes& bytes, ChunkEntry* entry) {
  if (copied_bytes_ + entry->available > kMaxCopiedBytes) return true;
  auto payload = std::make_shared<std::vector<uint8_t>>();
  size_t size = 0;
  if (!Load(bytes, *entry, payload.get(), &size)) return false;
  copied_bytes_ += size;
  entry->copy = std::move(payload);
  return true;
}

// Shortens the last chunk that was found, because another chunk begins within it.
void ChunkIndex::CutLastAt(uint64_t offset) {
  ChunkEntry& last = found_.back();
  const uint64_t payload = std::min(offset, last.offset + last.header.header_bytes);
  if (last.available <= offset - payload) return;
  last.available = static_cast<uint32_t>(offset - payload);
  last.is_cut = true;
  last.copy.reset();
}

void ChunkIndex::KeepOneOfEachNumber(const TraceBytes& bytes) {
  std::stable_sort(found_.begin(), found_.end(), [](const ChunkEntry& a, const ChunkEntry& b) {
    return a.header.number < b.header.number;
  });
  std::vector<uint8_t> payload;
  size_t payload_bytes = 0;
  for (size_t begin = 0; begin < found_.size();) {
    size_t end = begin + 1;
    while (end < found_.size() && found_[end].header.number == found_[begin].header.number) ++end;
    size_t best = begin;
    // If there are several copies, the best is used: a sealed copy with a correct checksum, else an
    // open one, else a sealed one whose checksum is wrong.
    uint64_t best_rank = 0;
    for (size_t i = begin; i < end && end - begin > 1; ++i) {
      const ChunkEntry& entry = found_[i];
      const bool is_sealed = entry.header.state == kChunkSealed;
      const bool is_proved =
          is_sealed && !entry.is_cut && Load(bytes, entry, &payload, &payload_bytes);
      const uint64_t rank = uint64_t{is_proved ? 3u : is_sealed ? 1u : 2u} << 32 | entry.available;
      if (rank > best_rank) {
        best = i;
        best_rank = rank;
      }
    }
    const ChunkEntry& entry = found_[best];
    ++report_->chunks;
    if (entry.is_cut) ++report_->damaged_chunks;
    lost_events_ += entry.header.lost_events;
    if (IsOfSums(entry.header)) {
      sums_.push_back(entry);
      begin = end;
      continue;
    }
    const bool is_table = entry.header.kind == static_cast<uint8_t>(ChunkKind::kTables);
    // A ticked chunk (a chunk whose events have ticks as times) is retained even without events,
    // because it contains the number of its buffer's earlier events.
    if (entry.available > 0 || entry.is_ticked()) (is_table ? tables_ : events_).push_back(entry);
    begin = end;
  }
  found_.clear();
  found_.shrink_to_fit();
}

bool ChunkIndex::Load(const TraceBytes& bytes, const ChunkEntry& entry,
                      std::vector<uint8_t>* payload, size_t* size) {
  *size = entry.available;
  if (entry.copy != nullptr) {
    *payload = *entry.copy;
    return true;
  }
  if (entry.header.encoding != static_cast<uint8_t>(ChunkEncoding::kPlain)) {
    return LoadZstd(bytes, entry, payload, size);
  }
  payload->resize(entry.available + kDecodePadding);
  const size_t count =
      bytes.Read(entry.offset + entry.header.header_bytes, payload->data(), entry.available);
  if (count < entry.available) return false;
  std::memset(payload->data() + entry.available, 0, kDecodePadding);
  if (entry.header.state == kChunkSealed) {
    return entry.is_cut || Crc32c(payload->data(), count) == entry.header.payload_checksum;
  }
  // If the process is still running, it may have used the slot for its next chunk meanwhile.
  return !WasReplaced(bytes, entry);
}

bool ChunkIndex::WasReplaced(const TraceBytes& bytes, const ChunkEntry& entry) {
  ChunkHeader now = {};
  return bytes.Read(entry.offset, &now, sizeof now) < kFirstChunkHeaderBytes ||
         now.state == kChunkPreparing || now.number != entry.header.number;
}

}  // namespace vramstow
