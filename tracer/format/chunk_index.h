// ChunkIndex finds the chunks of a trace.
//
// Idea: chunks follow each other, and each contains its length, from which the position of the next
// one follows. If there is no chunk at that position, the next magic number is searched for. Two
// chunks may have the same number, because the process was killed after it had appended a chunk and
// before it had cleared the slot. One of them is used. If the process is still running, an open
// chunk may leave its slot at any moment: its payload is copied when it is found, and the end of
// the file is looked at again.
//
// Ownership: values. Threads: one at a time. Errors: counted in ReadReport. Memory: one entry of
// 120 bytes for each chunk, and a chunk has at least 64 bytes; at most 64 MiB of copies. Units:
// bytes.
#ifndef VRAMSTOW_TRACER_FORMAT_CHUNK_INDEX_H_
#define VRAMSTOW_TRACER_FORMAT_CHUNK_INDEX_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "tracer/format/layout.h"
#include "tracer/format/reader.h"
#include "tracer/format/sums.h"
#include "tracer/format/trace_bytes.h"

namespace vramstow {

struct ChunkEntry {
  uint64_t offset = 0;     // the offset of its header
  uint32_t available = 0;  // committed bytes of its payload that are in the file
  bool is_cut = false;     // some committed bytes are missing
  ChunkHeader header = {};
  std::shared_ptr<const std::vector<uint8_t>> copy;  // the payload, if it was copied

  bool is_ticked() const { return IsTicked(static_cast<ChunkKind>(header.kind)); }
  // Returns a number that is less than the sequence of each event in the chunk.
  uint64_t base_order() const {
    return is_ticked() ? OrderOf(header.base_time, ~uint32_t{0}) : header.base_sequence;
  }
};

class ChunkIndex {
 public:
  // Searches the whole file. `trace_id` is the id of the trace; if it is 0, the id is unknown, and
  // chunks with any id are accepted. `is_ring` is true if the oldest chunks are missing. Unless
  // `report` says that the trace is closed, a process may be writing it.
  void Build(TraceBytes* bytes, uint64_t begin, uint64_t trace_id, bool is_ring,
             ReadReport* report);

  // Chunks of tables, sorted by number.
  const std::vector<ChunkEntry>& tables() const { return tables_; }
  // Chunks of events, sorted by base_order. Some may have no events.
  const std::vector<ChunkEntry>& events() const { return events_; }
  // Chunks that replace older events. They belong to the newest complete generation, which one fold
  // wrote. One list contains the sums, the other the retained events, each in their order. Both
  // lists are empty if no events were folded.
  const std::vector<ChunkEntry>& sums() const { return sums_; }
  const std::vector<ChunkEntry>& kept_events() const { return kept_; }
  // Removes chunks whose events are all contained in the sums. `cuts` says up to which event each
  // buffer was added to the sums.
  void LeaveOut(const std::vector<SumCut>& cuts);
  // Returns the number of lost events: each chunk counts the events that were lost after its last
  // event, because recording had stopped.
  uint64_t lost_events() const { return lost_events_; }

  // Reads and decodes the payload of a chunk into *payload, followed by kDecodePadding zeros; *size
  // is its length. Returns false if it is damaged, or was overwritten meanwhile.
  static bool Load(const TraceBytes& bytes, const ChunkEntry& entry, std::vector<uint8_t>* payload,
                   size_t* size);
  // True if the file contains another chunk, or none, where this one was found.
  static bool WasReplaced(const TraceBytes& bytes, const ChunkEntry& entry);

 private:
  uint64_t Scan(const TraceBytes& bytes, uint64_t at, uint64_t trace_id, bool is_ring);
  uint64_t Take(const TraceBytes& bytes, uint64_t offset, const ChunkHeader& header);
  bool Copy(const TraceBytes& bytes, ChunkEntry* entry);
  void CutLastAt(uint64_t offset);
  void KeepOneOfEachNumber(const TraceBytes& bytes);
  void BeginBehindHoles();
  void KeepOneGeneration(const TraceBytes& bytes);

  ReadReport* report_ = nullptr;
  uint64_t lost_events_ = 0;
  bool may_change_ = false;    // a process may be writing the file
  uint64_t copied_bytes_ = 0;  // by Copy
  int tries_left_ = 0;         // for chunks that were replaced while they were copied
  std::vector<ChunkEntry> found_;
  std::vector<ChunkEntry> tables_;
  std::vector<ChunkEntry> events_;
  std::vector<ChunkEntry> sums_;
  std::vector<ChunkEntry> kept_;
};

}  // namespace vramstow

#endif  // VRAMSTOW_TRACER_FORMAT_CHUNK_INDEX_H_
