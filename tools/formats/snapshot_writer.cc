#include "tools/formats/snapshot_writer.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <optional>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "tools/formats/pickle_writer.h"
#include "tools/formats/text_helpers.h"

namespace vramstow {
namespace {

constexpr int kDeepestSetting = 4;  // further dots are part of a name

bool NeedsPlace(TraceAction action) {
  return action != TraceAction::kSnapshot && action != TraceAction::kAnnotate;
}

class SnapshotWriter {
 public:
  SnapshotWriter(const Snapshot& snapshot, std::ostream* sink)
      : snapshot_(snapshot), out_(sink), stacks_(snapshot.stacks.stack_count()) {}

  absl::Status Write() {
    out_.BeginDict();
    absl::Status status = PutSpace(snapshot_.device, "segments", "device_traces");
    if (!status.ok()) return status;
    out_.Key("allocator_settings");
    size_t next = 0;
    PutSettings(&next, "", 0);
    PutAnnotations();
    if (!snapshot_.host.segments.empty() || !snapshot_.host.traces.empty()) {
      status = PutSpace(snapshot_.host, "host_segments", "host_traces");
      if (!status.ok()) return status;
    }
    out_.EndDict();
    out_.Finish();
    return absl::OkStatus();
  }

 private:
  absl::Status PutSpace(const SnapshotSpace& space, const char* segments, const char* traces) {
    out_.Key(segments);
    out_.BeginList();
    for (const SnapshotSegment& segment : space.segments) {
      absl::Status status = PutSegment(segment, space.BlocksOf(segment));
      if (!status.ok()) return status;
    }
    out_.EndList();
    out_.Key(traces);
    out_.BeginList();
    for (size_t slot = 0; slot < space.traces.size(); ++slot) {
      out_.BeginList();
      PutTrace(space, static_cast<int32_t>(slot));
      out_.EndList();
    }
    out_.EndList();
    return absl::OkStatus();
  }

  absl::Status PutSegment(const SnapshotSegment& segment, std::span<const SnapshotBlock> blocks) {
    out_.BeginDict();
    PutNumber("device", static_cast<uint64_t>(segment.device < 0 ? 0 : segment.device));
    PutNumber("address", segment.address);
    PutNumber("total_size", segment.total_size);
    PutNumber("allocated_size", segment.allocated_size);
    PutNumber("active_size", segment.active_size);
    PutNumber("requested_size", segment.requested_size);
    PutNumber("stream", segment.stream);
    out_.Key("segment_type");
    out_.Text(segment.type == SegmentType::kSmall ? "small" : "large");
    out_.Key("segment_pool_id");
    out_.Pair(segment.pool.first, segment.pool.second);
    out_.Key("is_expandable");
    out_.Bool(segment.is_expandable);
    PutFrames(segment.stack);
    out_.Key("blocks");
    out_.BeginList();
    uint64_t address = segment.address;
    const uint64_t end = segment.address + segment.total_size;
    for (const SnapshotBlock& block : blocks) {
      if (block.address < address || block.address > end || block.size > end - block.address) {
        return absl::InvalidArgumentError(
            Concat("the block at ", HexText(block.address),
                   " overlaps another block or extends beyond its segment", " at ",
                   HexText(segment.address), ": PyTorch's viewer cannot show it"));
      }
      PutGap(address, block.address);
      PutBlock(block);
      address = block.address + block.size;
    }
    PutGap(address, end);
    out_.EndList();
    out_.EndDict();
    return absl::OkStatus();
  }

  void PutGap(uint64_t from, uint64_t to) {
    if (from == to) return;
    PutBlock({.address = from, .size = to - from, .requested = to - from});
  }

  void PutBlock(const SnapshotBlock& block) {
    out_.BeginDict();
    PutNumber("address", block.address);
    PutNumber("size", block.size);
    PutNumber("requested_size", block.requested);
    out_.Key("state");
    out_.Text(BlockStateName(block.state));
    PutFrames(block.stack);
    out_.EndDict();
  }

  // Returns a vector that is true at the index of each free_requested entry without a
  // free_completed of its own.
  std::vector<bool> Unfinished(const SnapshotSpace& space, int32_t device) const {
    const std::vector<TraceEntry>& entries = space.traces[static_cast<size_t>(device)];
    std::vector<bool> unfinished(entries.size());
    absl::flat_hash_map<uint64_t, size_t> requests;  // address → entry
    for (size_t i = 0; i < entries.size(); ++i) {
      const uint64_t address = entries[i].address;
      if (entries[i].action == TraceAction::kFreeRequested) {
        const auto [known, is_new] = requests.try_emplace(address, i);
        if (!is_new) unfinished[known->second] = true;
        known->second = i;
      } else if (entries[i].action == TraceAction::kFreeCompleted) {
        requests.erase(address);
      } else if (entries[i].action == TraceAction::kAlloc) {
        const auto known = requests.find(address);
        if (known == requests.end()) continue;
        unfinished[known->second] = true;
        requests.erase(known);
      }
    }
    for (const SnapshotSegment& segment : space.segments) {
      if (segment.device != device) continue;
      for (const SnapshotBlock& block : space.BlocksOf(segment)) {
        if (block.state == BlockState::kActivePendingFree) requests.erase(block.address);
      }
    }
    for (const auto& [address, entry] : requests) unfinished[entry] = true;
    return unfinished;
  }

  void PutTrace(const SnapshotSpace& space, int32_t device) {
    const std::vector<TraceEntry>& entries = space.traces[static_cast<size_t>(device)];
    const std::vector<bool> unfinished = Unfinished(space, device);
    absl::flat_hash_set<uint64_t> requested;
    for (size_t i = 0; i < entries.size(); ++i) {
      const TraceEntry& entry = entries[i];
      switch (entry.action) {
        case TraceAction::kFree:  // in the layout with one entry for both
          PutEntry(entry, TraceAction::kFreeRequested);
          PutEntry(entry, TraceAction::kFreeCompleted);
          break;
        case TraceAction::kFreeRequested:
          PutEntry(entry, TraceAction::kFreeRequested);
          if (unfinished[i]) {
            PutEntry(entry, TraceAction::kFreeCompleted);
          } else {
            requested.insert(entry.address);
          }
          break;
        case TraceAction::kFreeCompleted:
          if (requested.erase(entry.address) == 0) PutEntry(entry, TraceAction::kFreeRequested);
          PutEntry(entry, TraceAction::kFreeCompleted);
          break;
        default:
          PutEntry(entry, entry.action);
      }
    }
  }

  void PutEntry(const TraceEntry& entry, TraceAction action) {
    out_.BeginDict();
    out_.Key("action");
    out_.Text(TraceActionName(action));
    PutNumber(action == TraceAction::kOutOfMemory ? "device_free" : "addr", entry.address);
    PutNumber("size", entry.size);
    if (entry.block_size != 0) PutNumber("block_size", entry.block_size);
    if (entry.is_driver) {
      out_.Key("is_driver");
      out_.Bool(true);
    }
    PutNumber("stream", entry.stream);
    if (entry.time_us != kNoTime) {
      out_.Key("time_us");
      out_.Integer(entry.time_us);
    }
    PutText("compile_context", entry.compile_context);
    PutText("user_metadata", entry.user_metadata);
    if (NeedsPlace(action)) {
      out_.Key("pool_id");
      out_.Pair(entry.pool.first, entry.pool.second);
    }
    PutFrames(entry.stack);
    out_.EndDict();
  }

  void PutFrames(StackId stack) {
    out_.Key("frames");
    if (stacks_[stack]) return out_.Again(*stacks_[stack]);
    out_.BeginList();
    for (const FrameId number : snapshot_.stacks.Stack(stack)) PutFrame(number);
    out_.EndList();
    stacks_[stack] = out_.Remember();
  }

  void PutFrame(FrameId number) {
    const auto known = frames_.find(number);
    if (known != frames_.end()) return out_.Again(known->second);
    const Frame& frame = snapshot_.stacks.FrameOf(number);
    out_.BeginDict();
    out_.Key("name");
    out_.Text(snapshot_.texts.Text(frame.name));
    out_.Key("filename");
    out_.Text(snapshot_.texts.Text(frame.filename));
    PutNumber("line", frame.line);
    PutText("fx_node_op", frame.fx_node_op);
    PutText("fx_node_name", frame.fx_node_name);
    PutText("fx_node_info", frame.fx_node_info);
    PutText("fx_original_trace", frame.fx_original_trace);
    out_.EndDict();
    frames_.emplace(number, out_.Remember());
  }

  // Writes one dict with the settings from index *next on, as long as their names begin with
  // `prefix`.
  void PutSettings(size_t* next, std::string_view prefix, int depth) {
    out_.BeginDict();
    while (*next < snapshot_.settings.size()) {
      const AllocatorSetting& setting = snapshot_.settings[*next];
      const std::string_view name = setting.name;
      if (!name.starts_with(prefix)) break;
      const size_t dot = name.find('.', prefix.size());
      if (dot != std::string_view::npos && depth < kDeepestSetting) {
        out_.Key(name.substr(prefix.size(), dot - prefix.size()));
        PutSettings(next, name.substr(0, dot + 1), depth + 1);
        continue;
      }
      out_.Key(name.substr(prefix.size()));
      PutSetting(setting);
      ++*next;
    }
    out_.EndDict();
  }

  void PutSetting(const AllocatorSetting& setting) {
    if (const auto* truth = std::get_if<bool>(&setting.value)) return out_.Bool(*truth);
    if (const auto* number = std::get_if<int64_t>(&setting.value)) return out_.Integer(*number);
    if (const auto* real = std::get_if<double>(&setting.value)) return out_.Float(*real);
    if (const auto* text = std::get_if<std::string>(&setting.value)) return out_.Text(*text);
    out_.None();
  }

  void PutAnnotations() {
    out_.Key("external_annotations");
    out_.BeginList();
    for (const Annotation& annotation : snapshot_.annotations) {
      out_.BeginDict();
      out_.Key("stage");
      out_.Text(annotation.stage == AnnotationStage::kStart ? "START" : "END");
      out_.Key("name");
      out_.Text(snapshot_.texts.Text(annotation.name));
      out_.Key("device");
      out_.Integer(annotation.device);
      if (annotation.time_us != kNoTime) {
        out_.Key("time_us");
        out_.Integer(annotation.time_us);
      }
      out_.EndDict();
    }
    out_.EndList();
  }

  void PutNumber(const char* key, uint64_t number) {
    out_.Key(key);
    out_.Unsigned(number);
  }
  void PutText(const char* key, TextId text) {
    if (text == kNoText) return;
    out_.Key(key);
    out_.Text(snapshot_.texts.Text(text));
  }

  const Snapshot& snapshot_;
  PickleWriter out_;
  std::vector<std::optional<uint32_t>> stacks_;  // by StackId: its number in the pickle
  absl::flat_hash_map<FrameId, uint32_t> frames_;
};

}  // namespace

absl::Status WriteSnapshot(const Snapshot& snapshot, std::ostream* sink) {
  absl::Status status = SnapshotWriter(snapshot, sink).Write();
  if (!status.ok()) return status;
  sink->flush();
  return *sink ? absl::OkStatus() : absl::UnavailableError("the snapshot could not be written");
}

absl::Status WriteSnapshotFile(const Snapshot& snapshot, const std::string& path) {
  const std::string unfinished = path + ".unfinished";
  std::ofstream sink(unfinished, std::ios::binary | std::ios::trunc);
  if (!sink) {
    return absl::UnavailableError(Concat(path, " cannot be written: ", std::strerror(errno)));
  }
  absl::Status status = WriteSnapshot(snapshot, &sink);
  sink.close();
  if (status.ok() && (!sink || std::rename(unfinished.c_str(), path.c_str()) != 0)) {
    status = absl::UnavailableError(Concat(path, " cannot be written: ", std::strerror(errno)));
  }
  if (!status.ok()) std::remove(unfinished.c_str());
  return status;
}

}  // namespace vramstow
