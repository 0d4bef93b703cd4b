// ChunkIndex: where the chunks of a trace are.
//
// Idea: chunks follow each other, and each says where the next one begins. Where that does not hold
// the next magic number is looked for. Of two chunks with the same number (the process was killed
// after it had appended a chunk and before it had cleared the slot it came from) one is taken.
//
// Ownership: values. Threads: one at a time. Errors: counted in ReadReport. Memory: one entry of
// 112 bytes for each chunk, and a chunk has at least 64. Units: bytes.
#ifndef VRAMSTOW_TRACER_FORMAT_CHUNK_INDEX_H_
#define VRAMSTOW_TRACER_FORMAT_CHUNK_INDEX_H_

#include <cstdint>
#include <vector>

#include "tracer/format/layout.h"
#include "tracer/format/reader.h"
#include "tracer/format/sums.h"
#include "tracer/format/trace_bytes.h"

namespace vramstow {

struct ChunkEntry {
  uint64_t offset = 0;     // of its header
  uint32_t available = 0;  // bytes of its payload that count and are there
  bool is_cut = false;     // some that count are not there
  ChunkHeader header = {};

  bool is_ticked() const { return IsTicked(static_cast<ChunkKind>(header.kind)); }
  // Less than the sequence of each event in it.
  uint64_t base_order() const {
    return is_ticked() ? OrderOf(header.base_time, ~uint32_t{0}) : header.base_sequence;
  }
};

class ChunkIndex {
 public:
  // Looks through the whole file. `trace_id` 0: not known, any will do. `is_ring`: the oldest
  // chunks are gone.
  void Build(const TraceBytes& bytes, uint64_t begin, uint64_t trace_id, bool is_ring,
             ReadReport* report);

  // In the order of their numbers.
  const std::vector<ChunkEntry>& tables() const { return tables_; }
  // In the order of their base_order. Some may have no events.
  const std::vector<ChunkEntry>& events() const { return events_; }
  // What is left of older events, of the newest generation that is whole: first the sums, then the
  // events that were kept, each in their order. Empty: there is none.
  const std::vector<ChunkEntry>& sums() const { return sums_; }
  const std::vector<ChunkEntry>& kept_events() const { return kept_; }
  // The sums say this of buffers: chunks that have no newer events are left out.
  void LeaveOut(const std::vector<SumCut>& cuts);
  // Said by the chunks to have been lost at their ends, after the recorder had latched off.
  uint64_t lost_events() const { return lost_events_; }

  // Reads the payload of a chunk into *payload, decoded, followed by kDecodePadding zeros; *size is
  // how long it is. False: it is damaged, or it has gone in the meantime.
  static bool Load(const TraceBytes& bytes, const ChunkEntry& entry, std::vector<uint8_t>* payload,
                   size_t* size);

 private:
  uint64_t Take(uint64_t offset, const ChunkHeader& header, uint64_t size);
  void CutLastAt(uint64_t offset);
  void KeepOneOfEachNumber(const TraceBytes& bytes);
  void BeginBehindHoles();
  void KeepOneGeneration(const TraceBytes& bytes);

  ReadReport* report_ = nullptr;
  uint64_t lost_events_ = 0;
  std::vector<ChunkEntry> found_;
  std::vector<ChunkEntry> tables_;
  std::vector<ChunkEntry> events_;
  std::vector<ChunkEntry> sums_;
  std::vector<ChunkEntry> kept_;
};

}  // namespace vramstow

#endif  // VRAMSTOW_TRACER_FORMAT_CHUNK_INDEX_H_
