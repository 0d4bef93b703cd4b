#include "tools/symbols/kept_functions.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string_view>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "base/rounding.h"
#include "tools/symbols/symbolizer.h"
#include "tracer/format/layout.h"
#include "tracer/format/reader.h"
#include "tracer/format/sealed_chunk.h"

namespace vramstow {
namespace {

using Clock = std::chrono::steady_clock;

// This number is larger than all chunk numbers that a recorder assigns.
constexpr uint32_t kFirstChunk = 0xF0000000;
constexpr size_t kMaxNameBytes = 1024;

void AppendName(std::vector<uint8_t>* body, std::string_view name) {
  AppendText(body, name.substr(0, kMaxNameBytes));
}

std::vector<uint8_t> RecordOf(const TraceFrame& frame, const std::vector<SourcePlace>& places) {
  std::vector<uint8_t> body;
  AppendNumber(&body, frame.library);
  AppendNumber(&body, frame.offset);
  for (const SourcePlace& place : places) {
    if (body.size() > kMaxPayloadBytes / 2) break;
    body.push_back(place.is_inlined ? 1 : 0);
    AppendNumber(&body, static_cast<uint64_t>(place.line));
    AppendName(&body, place.function);
    AppendName(&body, place.file);
  }
  std::vector<uint8_t> record = {static_cast<uint8_t>(RecordType::kFunction)};
  AppendNumber(&record, body.size());
  record.insert(record.end(), body.begin(), body.end());
  return record;
}

// Looks up native frames until the time `end`. Returns the payloads of chunks that have a record
// for each frame that was found.
std::vector<std::vector<uint8_t>> LookUp(const TraceReader& reader, Clock::time_point end) {
  Symbolizer symbolizer;
  std::vector<std::vector<uint8_t>> payloads;
  for (const TraceFrame& frame : reader.NativeFrames()) {
    if (Clock::now() > end) break;
    const std::vector<SourcePlace>& places =
        symbolizer.Resolve(reader.Library(frame.library), frame.offset);
    if (places.empty()) continue;
    const std::vector<uint8_t> record = RecordOf(frame, places);
    if (payloads.empty() || payloads.back().size() + record.size() > kMaxPayloadBytes) {
      payloads.emplace_back();
    }
    payloads.back().insert(payloads.back().end(), record.begin(), record.end());
  }
  return payloads;
}

// Appends the chunks to the file. The file's length in its header is written last. Until then,
// readers ignore the appended chunks, and the chunks can be cut off again.
bool Append(int file, const FileHeader& header, const std::vector<std::vector<uint8_t>>& payloads) {
  uint64_t offset = RoundUp(header.file_bytes, kChunkAlignment);
  uint32_t number = kFirstChunk;
  for (const std::vector<uint8_t>& payload : payloads) {
    ChunkHeader chunk_header = {};
    chunk_header.trace_id = header.trace_id;
    chunk_header.number = number++;
    chunk_header.kind = static_cast<uint8_t>(ChunkKind::kTables);
    const std::vector<uint8_t> chunk = SealedChunk(chunk_header, payload);
    if (!WriteAt(file, chunk.data(), chunk.size(), offset)) return false;
    offset += chunk.size();
  }
  return WriteAt(file, &offset, sizeof offset, offsetof(FileHeader, file_bytes));
}

}  // namespace

absl::Status KeepFunctions(const std::string& path, std::chrono::milliseconds most) {
  const Clock::time_point end = Clock::now() + most;
  const int file = open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (file < 0) return absl::ErrnoToStatus(errno, absl::StrCat("cannot write into ", path));
  const absl::Cleanup closing = [file] { close(file); };
  FileHeader header;
  if (pread(file, &header, sizeof header, 0) != ssize_t{sizeof header} ||
      std::memcmp(header.magic, kFileMagic, sizeof kFileMagic) != 0 ||
      header.state != static_cast<uint32_t>(TraceState::kClosed) ||
      lseek(file, 0, SEEK_END) != static_cast<off_t>(header.file_bytes)) {
    return absl::OkStatus();
  }
  TraceReader reader;
  if (reader.Open(path.c_str()) != ReadError::kOk || reader.HasFunctions()) {
    return absl::OkStatus();
  }
  const std::vector<std::vector<uint8_t>> payloads = LookUp(reader, end);
  if (payloads.empty() || Append(file, header, payloads)) return absl::OkStatus();
  const int error = errno;
  if (ftruncate(file, static_cast<off_t>(header.file_bytes)) != 0) {
    return absl::ErrnoToStatus(errno,
                               absl::StrCat("cannot remove the data that were added to ", path));
  }
  return absl::ErrnoToStatus(error, absl::StrCat("cannot write into ", path));
}

}  // namespace vramstow
