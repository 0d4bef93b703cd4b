#include "tools/exports/column_stream.h"

#include <unistd.h>

#include <cerrno>

#include "tools/analysis/accounts/analyzer.h"
#include "tools/json/json_writer.h"

namespace vramstow {
namespace {

bool WriteWhole(int descriptor, const void* bytes, size_t size) {
  const char* from = static_cast<const char*>(bytes);
  while (size > 0) {
    const ssize_t written = write(descriptor, from, size);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    from += written;
    size -= static_cast<size_t>(written);
  }
  return true;
}

}  // namespace

int64_t ColumnStream::TextOf(std::string_view text) {
  const auto [known, inserted] =
      text_numbers_.try_emplace(std::string(text), static_cast<int64_t>(texts_.size()));
  if (inserted) texts_.emplace_back(text);
  return known->second;
}

int64_t ColumnStream::CallOf(const EventSource& source, uint16_t call) {
  const auto [known, inserted] = calls_.try_emplace(call, 0);
  if (inserted) known->second = TextOf(source.CallName(call));
  return known->second;
}

int64_t ColumnStream::LibraryOf(const EventSource& source, uint16_t library) {
  const auto [known, inserted] = libraries_.try_emplace(library, 0);
  if (inserted) known->second = TextOf(source.LibraryPath(library));
  return known->second;
}

bool ColumnStream::Write(EventSource* source, int64_t rank, const std::string& file) {
  ++source_;
  rank_ = rank;
  file_ = file;
  texts_.clear();
  text_numbers_.clear();
  calls_.clear();
  libraries_.clear();
  // The levels are computed by the analysis, so that queries give the same figures.
  Analyzer analyzer(*source);
  analyzer.SetLosses(FindLossesAhead(source));
  Event event;
  while (source->Next(&event)) {
    analyzer.Add(event, source->Stack());
    if (const auto reserved = source->Reserved()) analyzer.SetReserved(event, *reserved);
    const int64_t row[kColumns] = {
        static_cast<int64_t>(event.sequence),
        static_cast<int64_t>(event.time_ns),
        event.thread,
        event.device,
        static_cast<int64_t>(event.stream),
        static_cast<int64_t>(event.address),
        static_cast<int64_t>(event.size),
        static_cast<int64_t>(event.requested),
        static_cast<int64_t>(event.object),
        static_cast<int64_t>(event.offset),
        event.result,
        static_cast<int64_t>(analyzer.allocated()),
        static_cast<int64_t>(analyzer.reserved()),
        TextOf(EventKindName(event.kind)),
        TextOf(MemoryKindName(event.memory)),
        TextOf(LayerName(event.layer)),
        CallOf(*source, event.call),
        LibraryOf(*source, event.library),
    };
    for (size_t i = 0; i < kColumns; ++i) columns_[i].push_back(row[i]);
    if (columns_[0].size() == kRows && !Flush()) return false;
  }
  return Flush();
}

bool ColumnStream::End() {
  constexpr std::string_view kEnd = "{\"end\":true}\n";
  return WriteWhole(descriptor_, kEnd.data(), kEnd.size());
}

bool ColumnStream::Flush() {
  JsonWriter head;
  head.BeginObject();
  head.Key("source");
  head.Value(source_);
  head.Key("rank");
  head.Value(rank_);
  head.Key("file");
  head.Value(file_);
  head.Key("rows");
  head.Value(columns_[0].size());
  head.Key("texts");
  head.BeginArray();
  for (const std::string& text : texts_) head.Value(text);
  head.EndArray();
  head.EndObject();
  const std::string line = head.Take() + "\n";
  if (!WriteWhole(descriptor_, line.data(), line.size())) return false;
  for (std::vector<int64_t>& column : columns_) {
    if (!WriteWhole(descriptor_, column.data(), column.size() * sizeof(int64_t))) return false;
    column.clear();
  }
  return true;
}

}  // namespace vramstow
