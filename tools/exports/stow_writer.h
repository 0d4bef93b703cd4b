// StowWriter writes the events of any source as a .stow file.
//
// Idea: the chunks of one thread are written after those of another, numbered in the order in which
// they are written, with names, stacks and marks as in the source. Sums of older events become one
// generation of sums. Properties that only sources of another kind have (blocks existed before the
// first event, a free has two events, reserved memory is known) and counts of events that the
// source lacks become facts, which TraceSource reads.
//
// Ownership: owns the file. Threads: one at a time. Errors: returns false if the file cannot be
// written; errno says why. Memory: bounded by names and stacks, not by events. Units: bytes,
// nanoseconds.
// Source of the format: docs/trace-format.md.
#ifndef VRAMSTOW_TOOLS_EXPORTS_STOW_WRITER_H_
#define VRAMSTOW_TOOLS_EXPORTS_STOW_WRITER_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "tools/analysis/accounts/event_source.h"
#include "tools/exports/merged_trace.h"
#include "tracer/format/event_encoder.h"
#include "tracer/format/layout.h"

namespace vramstow {

class StowWriter {
 public:
  // Writes to the descriptor, from its beginning; the descriptor belongs to the caller.
  explicit StowWriter(int descriptor);

  // Reads the source to its end and writes the whole file. Without the start of an earlier trace,
  // the file's header has the process and the time that the source's facts name.
  bool Write(EventSource* source, const TraceStart& start = {});

  uint64_t events() const { return events_; }
  // The number of stacks that were left out because a trace has no more numbers for stacks.
  uint64_t stacks_left_out() const { return stacks_left_out_; }

 private:
  bool AddEvent(const Event& event);
  Event Renumbered(const Event& event);
  bool FlushEvents();
  bool FlushTable();
  bool AddRecord(RecordType type, std::string_view payload);
  bool AddFact(std::string_view key, std::string_view value);
  bool WriteFacts();
  bool WriteNames();
  bool WriteSums();
  void NoteNames(SumOf of, uint32_t number);
  std::vector<SumSamples> SamplesOf(const TraceSums& sums);
  uint64_t NumberOfFact(const char* key) const;
  bool WriteChunk(ChunkHeader* header, std::vector<uint8_t>* payload);
  bool WriteHeader(uint64_t bytes, const TraceStart& start);
  bool WriteAt(const void* bytes, size_t size, uint64_t offset);

  uint32_t StackOf(uint32_t stack);
  uint32_t NodeOf(uint32_t parent, const CallFrame& frame);
  uint64_t AnnotationOf(const Event& mark);

  const int descriptor_;
  int error_ = 0;  // errno of the first failed write
  EventSource* source_ = nullptr;
  uint64_t trace_id_;
  uint64_t offset_ = kFileHeaderBytes;
  uint32_t chunks_ = 0;

  EventEncoder encoder_;
  ChunkHeader events_header_ = {};
  std::vector<uint8_t> events_payload_;
  uint32_t thread_ = 0;
  uint64_t events_ = 0;
  uint64_t last_time_ns_ = 0;
  bool has_reserved_ = false;  // an event has the reserved bytes after it
  // The numbers that the source's latest provisional frees have in the written file. A later event
  // that reports the refusal of such a free (kRefused) refers to it by this number.
  std::vector<std::pair<uint64_t, uint64_t>> provisional_;
  size_t next_provisional_ = 0;

  std::vector<uint8_t> table_;
  absl::flat_hash_set<uint16_t> calls_;
  absl::flat_hash_set<uint16_t> libraries_;
  absl::flat_hash_map<std::string, uint64_t> annotations_;
  absl::flat_hash_map<std::string, uint32_t> codes_;
  absl::flat_hash_map<std::string, uint32_t> nodes_;
  absl::flat_hash_map<uint32_t, uint32_t> stacks_;  // maps the source's number to the file's
  uint64_t stacks_left_out_ = 0;
};

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_EXPORTS_STOW_WRITER_H_
