#include "tools/inputs/trace_source.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "tools/base/words.h"
#include "tracer/format/layout.h"

namespace vramstow {

namespace {

// Returns a sentence if the file was truncated after its process ended; otherwise an empty text.
// The header of such a trace has the length of the trace. So the number of missing bytes is known,
// but not what they contained.
std::string CutInWords(const std::string& path, uint64_t size) {
  FileHeader header = {};
  std::ifstream file(path, std::ios::binary);
  if (!file.read(reinterpret_cast<char*>(&header), sizeof header)) return "";
  if (header.state != static_cast<uint32_t>(TraceState::kClosed) && !IsExited(header.state)) {
    return "";
  }
  if (header.file_bytes <= size) return "";
  return absl::StrCat("The file is incomplete: the last ", Bytes(header.file_bytes - size), " of ",
                      Bytes(header.file_bytes), " are not there.");
}

}  // namespace

absl::StatusOr<std::unique_ptr<TraceSource>> TraceSource::Open(const std::string& path) {
  struct stat status;
  if (stat(path.c_str(), &status) != 0) {
    return absl::NotFoundError(absl::StrCat("cannot read ", path, ": ", strerror(errno), "."));
  }
  // The type is checked before the file is opened, because opening a pipe would block until it has
  // a writer.
  if (S_ISDIR(status.st_mode)) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, " is a directory: name the .stow files in it."));
  }
  if (!S_ISREG(status.st_mode)) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, " is not an ordinary file: a trace must be one."));
  }
  std::unique_ptr<TraceSource> source(new TraceSource);
  switch (source->reader_.Open(path.c_str())) {
    case ReadError::kOk:
      if (std::string cut = CutInWords(path, static_cast<uint64_t>(status.st_size)); !cut.empty()) {
        source->missing_.push_back(std::move(cut));
      }
      source->tells_reserved_ = source->facts().contains("source.tells_reserved");
      return source;
    case ReadError::kCannotOpen:
      return absl::NotFoundError(absl::StrCat("cannot read ", path, ": ", strerror(errno), "."));
    case ReadError::kNotATrace:
      return absl::InvalidArgumentError(absl::StrCat(
          path, " is not a vramstow trace: it does not begin with the signature of a .stow file."));
    case ReadError::kNewerVersion:
      return absl::InvalidArgumentError(absl::StrCat(
          path, " was written by a newer version of vramstow: analyse it with that version."));
  }
  return absl::InternalError(absl::StrCat("cannot read ", path, "."));
}

ReadReport TraceSource::report() const {
  ReadReport report = reader_.report();
  for (const SourceCount& count : kSourceCounts) {
    const auto fact = facts().find(count.fact);
    uint64_t value = 0;
    if (fact == facts().end() || !absl::SimpleAtoi(fact->second, &value)) continue;
    uint64_t& counted = report.*count.member;
    if (__builtin_add_overflow(counted, value, &counted)) counted = ~uint64_t{0};
  }
  return report;
}

std::vector<std::string> TraceSource::missing() const {
  std::vector<std::string> sentences = missing_;
  if (const auto fact = facts().find("source.missing"); fact != facts().end()) {
    const std::vector<std::string> of_input = absl::StrSplit(fact->second, '\n');
    sentences.insert(sentences.end(), of_input.begin(), of_input.end());
  }
  const ReadReport& report = reader_.report();
  if (report.folded_events == 0) return sentences;
  // A converted trace has the sentences of its input, too.
  const auto add = [&sentences](std::string sentence) {
    if (std::ranges::find(sentences, sentence) == sentences.end()) {
      sentences.push_back(std::move(sentence));
    }
  };
  add(absl::StrCat("The first ", Time(report.folded_until_ns),
                   " are stored as sums (--trace-size): ", Counted(report.folded_events, "event"),
                   " are not in the trace any more, but they count in peaks, totals, call sites "
                   "and levels over time."));
  if (report.left_out_events > 0) {
    add(absl::StrCat("Left out of the sums: ", Counted(report.left_out_events, "event"),
                     " of failed requests, of contexts or of other memory that is not simply "
                     "allocated and freed. There were more of them than a trace of limited size "
                     "keeps (--trace-size=unlimited keeps all)."));
  }
  return sentences;
}

// The observer of a framework's own allocator reports when a free has completed. vramstow's pool
// reuses memory in the order of a stream, so that many of its frees never complete. A trace with
// sums has no completions of the folded part.
bool TraceSource::ReportsFreeCompleted() const {
  if (facts().contains("source.tells_free_completed")) return true;
  const auto pool = facts().find("option.pool");
  return !facts().contains("source.kind") && pool != facts().end() && pool->second == "off" &&
         reader_.sums() == nullptr;
}

std::optional<uint16_t> TraceSource::OpeningCall() const {
  const auto fact = facts().find("source.opening_call");
  uint32_t call = 0;
  if (fact == facts().end() || !absl::SimpleAtoi(fact->second, &call) || call > 0xFFFF) {
    return std::nullopt;
  }
  return static_cast<uint16_t>(call);
}

}  // namespace vramstow
