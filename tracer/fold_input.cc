#include "tracer/fold_input.h"

#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstring>
#include <limits>
#include <new>
#include <tuple>

namespace vramstow {
namespace {

template <typename T>
T* Memory(size_t count) {
  void* const memory = mmap(nullptr, count * sizeof(T), PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return memory == MAP_FAILED ? nullptr : static_cast<T*>(memory);
}

template <typename T>
void GiveBack(T** memory, size_t count) {
  if (*memory != nullptr) munmap(*memory, count * sizeof(T));
  *memory = nullptr;
}

bool IsKept(const ChunkHeader& header) {
  return header.kind == static_cast<uint8_t>(ChunkKind::kKeptEvents);
}
bool IsOfBuffer(const ChunkHeader& header) {
  const ChunkKind kind = static_cast<ChunkKind>(header.kind);
  return kind == ChunkKind::kEvents || kind == ChunkKind::kTickedEvents;
}

// Returns the header in a slot whose thread may write to it now, so the copy may have fields of two
// chunks. CopySlots finds this out by their numbers, so ThreadSanitizer need not.
__attribute__((no_sanitize("thread"))) ChunkHeader HeaderInUse(const uint8_t* slot) {
  constexpr size_t kWords = sizeof(ChunkHeader) / sizeof(uint64_t);
  static_assert(kWords * sizeof(uint64_t) == sizeof(ChunkHeader));
  const volatile uint64_t* const from = reinterpret_cast<const volatile uint64_t*>(slot);
  uint64_t words[kWords];
  for (size_t i = 0; i < kWords; ++i) words[i] = from[i];
  return std::bit_cast<ChunkHeader>(words);
}

}  // namespace

FoldInput* FoldInput::Create(OpenTrace* trace, const ThreadRegistry* threads) {
  ChunkLoader* const loader = ChunkLoader::Create(&trace->file);
  void* const memory = Memory<FoldInput>(1);
  if (loader == nullptr || memory == nullptr) return nullptr;
  FoldInput* const input = new (memory) FoldInput;
  input->trace_ = trace;
  input->threads_ = threads;
  input->loader_ = loader;
  return input;
}

void FoldInput::End() {
  GiveBack(&chunks_, most_chunks_);
  GiveBack(&streams_, kMaxStreams);
  GiveBack(&copies_, kMaxCopies * ChunkLoader::kMaxBytes);
}

bool FoldInput::Begin(uint32_t generation) {
  most_chunks_ = trace_->file.ring_bytes() / kMinChunkBytes + 2 * size_t{kMaxBuffers};
  chunks_ = Memory<Chunk>(most_chunks_);
  streams_ = Memory<Stream>(kMaxStreams);
  copies_ = Memory<uint8_t>(kMaxCopies * ChunkLoader::kMaxBytes);
  if (chunks_ == nullptr || streams_ == nullptr || copies_ == nullptr) return false;
  for (int i = 0; i < kMaxTries; ++i) {
    if (List(generation)) return MakeStreams();
  }
  return false;
}

// Lists the chunks of the file. Returns false if a chunk moved from its slot into the ring
// meanwhile.
bool FoldInput::List(uint32_t generation) {
  count_ = copy_count_ = 0;
  // Slots are listed before the ring. So a chunk that moves from a slot into the ring in between is
  // listed twice rather than missed.
  if (!ListSlots()) return false;
  const size_t slots = count_;
  if (!ListRing(generation)) return false;
  ChooseLimit();
  // Chunks of slots come first in the list. Such a chunk stays in the list only if it is old enough
  // and is not in the ring, too.
  size_t kept = 0;
  for (size_t i = 0; i < count_; ++i) {
    const Chunk& chunk = chunks_[i];
    if (i < slots) {
      const auto is_same = [&chunk](const Chunk& other) {
        return other.header.number == chunk.header.number;
      };
      if (chunk.base_order() >= limit_ || std::any_of(chunks_ + slots, chunks_ + count_, is_same)) {
        continue;
      }
    }
    chunks_[kept++] = chunk;
  }
  count_ = kept;
  return CopySlots();
}

bool FoldInput::ListSlots() {
  const uint32_t count = threads_->count();
  for (uint32_t i = 0; i < count; ++i) {
    for (const TraceFile::Slot& slot : threads_->at(i).slots) {
      const uint8_t* const bytes = slot.bytes;
      if (bytes == nullptr) continue;
      Chunk chunk;
      chunk.header = HeaderInUse(bytes);
      if (chunk.header.state != kChunkOpen || !IsOfBuffer(chunk.header)) continue;
      chunk.position = kInSlot;
      chunk.offset = reinterpret_cast<uintptr_t>(bytes);
      if (count_ == most_chunks_) return false;
      chunks_[count_++] = chunk;
    }
  }
  return true;
}

bool FoldInput::ListRing(uint32_t generation) {
  ring_ = trace_->file.Ring();
  for (uint64_t position = ring_.begin; position < ring_.end;) {
    Chunk chunk;
    uint64_t next;
    chunk.position = position;
    const bool is_chunk = trace_->file.ReadRing(position, &chunk.header, &chunk.offset, &next);
    position = next;
    if (!is_chunk) continue;
    const bool is_wanted =
        IsOfBuffer(chunk.header) || (IsKept(chunk.header) && chunk.header.buffer == generation);
    if (!is_wanted) continue;
    if (count_ == most_chunks_ || chunk.header.buffer > kMaxBuffers) return false;
    chunks_[count_++] = chunk;
  }
  return true;
}

// Chooses the moment up to which events are folded, so that about half of the ring's chunks contain
// only earlier events.
void FoldInput::ChooseLimit() {
  const uint64_t middle = ring_.begin + (ring_.end - ring_.begin) / 2;
  limit_ = 0;
  for (size_t i = 0; i < count_; ++i) {
    const Chunk& chunk = chunks_[i];
    if (chunk.position < middle && IsOfBuffer(chunk.header)) {
      limit_ = std::max(limit_, chunk.base_order());
    }
  }
}

bool FoldInput::CopySlots() {
  for (size_t i = 0; i < count_; ++i) {
    Chunk& chunk = chunks_[i];
    if (chunk.position != kInSlot) continue;
    if (copy_count_ == kMaxCopies) return false;
    uint8_t* const copy = copies_ + copy_count_ * ChunkLoader::kMaxBytes;
    const uint8_t* const slot = reinterpret_cast<const uint8_t*>(chunk.offset);
    auto* const header = reinterpret_cast<ChunkHeader*>(const_cast<uint8_t*>(slot));
    const uint32_t committed =
        std::atomic_ref<uint32_t>(header->committed).load(std::memory_order_acquire);
    if (committed > kSlotBytes - sizeof(ChunkHeader)) return false;
    std::memcpy(copy, slot + sizeof(ChunkHeader), committed);
    std::atomic_thread_fence(std::memory_order_acquire);
    // The slot may contain its next chunk by now. Its earlier chunk is then in the ring.
    const ChunkHeader now = HeaderInUse(slot);
    if (now.number != chunk.header.number || now.state != kChunkOpen) return false;
    std::memset(copy + committed, 0, kDecodePadding);
    chunk.header.committed = committed;
    chunk.offset = copy_count_++;
  }
  return true;
}

bool FoldInput::MakeStreams() {
  std::sort(chunks_, chunks_ + count_, [](const Chunk& a, const Chunk& b) {
    return std::tuple(!IsKept(a.header), a.header.buffer, a.header.turn) <
           std::tuple(!IsKept(b.header), b.header.buffer, b.header.turn);
  });
  stream_count_ = 0;
  for (size_t i = 0; i < count_;) {
    if (stream_count_ == kMaxStreams) return false;
    Stream& stream = streams_[stream_count_++];
    stream.first = i;
    while (i < count_ && chunks_[i].header.buffer == chunks_[stream.first].header.buffer &&
           IsKept(chunks_[i].header) == IsKept(chunks_[stream.first].header)) {
      ++i;
    }
    stream.end = i;
  }
  return Rewind();
}

bool FoldInput::Rewind() {
  last_sequence_ = lost_ = 0;
  failed_ = false;
  for (size_t i = 0; i < stream_count_; ++i) {
    Stream& stream = streams_[i];
    stream.chunk = stream.first;
    stream.has_chunk = stream.has_event = false;
    const ChunkHeader& header = chunks_[stream.first].header;
    stream.consumed = IsKept(header) ? 0 : cuts_[header.buffer];
    if (!Fill(&stream)) return false;
  }
  return true;
}

bool FoldInput::LoadNext(Stream* stream) {
  const Chunk& chunk = chunks_[stream->chunk];
  const uint8_t* payload = stream->payload;
  size_t size = chunk.header.committed;
  if (chunk.position == kInSlot) {
    payload = copies_ + chunk.offset * ChunkLoader::kMaxBytes;
  } else if (!loader_->Load(chunk.header, chunk.offset, stream->payload, &size)) {
    return false;
  }
  stream->decoder.Begin(chunk.header, payload, size);
  stream->has_chunk = true;
  if (IsTicked(static_cast<ChunkKind>(chunk.header.kind)) &&
      chunk.header.base_sequence > stream->consumed) {
    lost_ += chunk.header.base_sequence - stream->consumed;
  }
  return true;
}

// Returns the event's number. In a chunk with ticks it is the number among the events of its
// buffer, otherwise the number among the events of all threads.
uint64_t FoldInput::NumberOf(const Stream& stream) const {
  return IsTicked(static_cast<ChunkKind>(chunks_[stream.chunk].header.kind))
             ? stream.decoder.last_number()
             : stream.next.sequence;
}

// Finds the stream's next event, if it is not later than the moment up to which events are folded.
// Returns false if a chunk is damaged.
bool FoldInput::Fill(Stream* stream) {
  stream->has_event = false;
  while (stream->chunk < stream->end) {
    const Chunk& chunk = chunks_[stream->chunk];
    if (!stream->has_chunk) {
      if (!IsKept(chunk.header) && chunk.base_order() >= limit_) return true;
      if (!LoadNext(stream)) return false;
    }
    const DecodeResult result = stream->decoder.Next(&stream->next);
    if (result == DecodeResult::kDamaged) return false;
    if (result == DecodeResult::kEvent) {
      if (IsKept(chunk.header)) {
        stream->has_event = true;
        return true;
      }
      if (NumberOf(*stream) <= stream->consumed) continue;  // folded earlier
      stream->has_event = stream->next.sequence <= limit_;
      return true;
    }
    stream->has_chunk = false;
    ++stream->chunk;
  }
  return true;
}

bool FoldInput::Next(Event* event, bool* was_kept) {
  Stream* least = nullptr;
  for (size_t i = 0; i < stream_count_; ++i) {
    Stream& stream = streams_[i];
    if (!stream.has_event) continue;
    if (least == nullptr || stream.next.sequence < least->next.sequence) least = &stream;
    if (IsKept(chunks_[stream.first].header)) break;  // the stream of retained events comes first
  }
  if (least == nullptr) return false;
  *event = least->next;
  *was_kept = IsKept(chunks_[least->first].header);
  // The event has the same tick as an event of another buffer, or was recorded late.
  if (event->sequence <= last_sequence_) event->sequence = last_sequence_ + 1;
  last_sequence_ = event->sequence;
  if (!*was_kept) least->consumed = NumberOf(*least);
  if (Fill(least)) return true;
  failed_ = true;
  return false;
}

uint64_t FoldInput::Accept() {
  uint64_t needed = ring_.end;
  for (size_t i = 0; i < stream_count_; ++i) {
    const Stream& stream = streams_[i];
    const ChunkHeader& header = chunks_[stream.first].header;
    if (IsKept(header)) continue;
    cuts_[header.buffer] = stream.consumed;
    for (size_t chunk = stream.chunk; chunk < stream.end; ++chunk) {
      needed = std::min(needed, chunks_[chunk].position);
    }
  }
  return needed;
}

}  // namespace vramstow
