#include "tools/exports/merged_trace.h"

#include <cstring>
#include <fstream>
#include <iterator>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "tools/json/json_writer.h"
#include "tracer/format/layout.h"

namespace vramstow {
namespace {

constexpr size_t kPiece = size_t{1} << 18;  // bytes of text

// True for device memory that the application requested, or a framework on its behalf.
bool IsRequested(const Event& event) {
  if (event.layer == Layer::kPool || event.result != 0) return false;
  if (event.kind != EventKind::kAllocate && event.kind != EventKind::kFree) return false;
  return event.memory == MemoryKind::kDevice || event.memory == MemoryKind::kDevicePitched ||
         event.memory == MemoryKind::kDeviceStream;
}

std::string Size(uint64_t bytes) {
  constexpr const char* kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  size_t unit = 0;
  auto number = static_cast<double>(bytes);
  for (; number >= 1024 && unit + 1 < std::size(kUnits); ++unit) number /= 1024;
  return absl::StrFormat("%.4g %s", number, kUnits[unit]);
}

void PutMember(const char* key, const auto& value, JsonWriter* json) {
  json->Key(key);
  json->Value(value);
}

}  // namespace

absl::StatusOr<TraceStart> StartOfTrace(const std::string& file) {
  FileHeader header = {};
  std::ifstream stream(file, std::ios::binary);
  if (!stream.read(reinterpret_cast<char*>(&header), sizeof header) ||
      std::memcmp(header.magic, kFileMagic, sizeof header.magic) != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat(file,
                     " is not a trace of vramstow (.stow): only these contain the time at which "
                     "they were recorded."));
  }
  return TraceStart{header.process, static_cast<int64_t>(header.start_unix_ns),
                    header.start_clock_ns};
}

double MergedTrace::Microseconds(int64_t time_ns) const {
  // The base time is a number of an untrusted trace, so it may have any value.
  int64_t since_base = 0;
  if (__builtin_sub_overflow(time_ns, timeline_.base_ns, &since_base)) return 0;
  return static_cast<double>(since_base) / 1000;
}

const StackWords& MergedTrace::WordsOfStack(uint32_t stack) {
  const auto [known, inserted] = words_.try_emplace(stack);
  if (inserted) known->second = WordsOf(source_.Frames(stack));
  return known->second;
}

void MergedTrace::Add(const Event& event, int64_t time_ns, std::string* text) {
  const bool is_free = event.kind == EventKind::kFree;
  uint64_t bytes = event.requested != 0 ? event.requested : event.size;
  if (is_free) {
    const auto known = sizes_.find(event.address);
    bytes = known == sizes_.end() ? 0 : known->second;
  }
  const ProfilerOperator* const within = timeline_.At(event.thread, time_ns);
  if (!is_free) {
    ++allocations_;
    under_operators_ += within != nullptr ? 1 : 0;
  }
  const std::string_view call = event.layer == Layer::kFramework ? (is_free ? "free" : "allocate")
                                                                 : source_.CallName(event.call);
  JsonWriter json;
  json.BeginObject();
  PutMember("ph", "i", &json);
  PutMember("s", "t", &json);
  PutMember("cat", "vramstow", &json);
  PutMember("name", absl::StrCat(std::string(call), " ", Size(bytes)), &json);
  PutMember("pid", start_.process, &json);
  PutMember("tid", event.thread, &json);
  PutMember("ts", Microseconds(time_ns), &json);
  json.Key("args");
  json.BeginObject();
  PutMember("bytes", bytes, &json);
  json.Key("address");
  json.Hex(event.address);
  PutMember("device", event.device, &json);
  if (within != nullptr) PutMember("operator", timeline_.names[within->name], &json);
  if (const uint32_t stack = source_.Stack(); stack != 0) {
    const StackWords& words = WordsOfStack(stack);
    PutMember("site", words.site, &json);
    if (!words.module.empty()) PutMember("module", words.module, &json);
  }
  json.EndObject();
  json.EndObject();
  absl::StrAppend(text, json.Take(), ",\n");
}

void MergedTrace::AddLevels(int64_t time_ns, std::string* text) {
  if (analyzer_.allocated() == written_allocated_ && analyzer_.reserved() == written_reserved_)
    return;
  written_allocated_ = analyzer_.allocated();
  written_reserved_ = analyzer_.reserved();
  JsonWriter json;
  json.BeginObject();
  PutMember("ph", "C", &json);
  PutMember("name", "device memory", &json);
  PutMember("pid", start_.process, &json);
  PutMember("ts", Microseconds(time_ns), &json);
  json.Key("args");
  json.BeginObject();
  PutMember("allocated", written_allocated_, &json);
  PutMember("reserved", written_reserved_, &json);
  json.EndObject();
  json.EndObject();
  absl::StrAppend(text, json.Take(), ",\n");
}

bool MergedTrace::AddSome(std::string* text) {
  Event event;
  while (text->size() < kPiece) {
    if (!source_.Next(&event)) return false;
    const int64_t time_ns = start_.unix_ns + static_cast<int64_t>(event.time_ns);
    const bool is_within = time_ns >= timeline_.first_ns && time_ns <= timeline_.last_ns;
    // Adds the level at the beginning of the window.
    if (is_within && events_ == 0) AddLevels(timeline_.first_ns, text);
    analyzer_.Add(event, source_.Stack());
    if (const auto reserved = source_.Reserved()) analyzer_.SetReserved(event, *reserved);
    const bool is_requested = IsRequested(event);
    if (is_requested && event.kind == EventKind::kAllocate) {
      sizes_[event.address] = event.requested != 0 ? event.requested : event.size;
    }
    if (is_within) {
      ++events_;
      if (is_requested) Add(event, time_ns, text);
      AddLevels(time_ns, text);
    }
    if (is_requested && event.kind == EventKind::kFree) sizes_.erase(event.address);
  }
  return true;
}

}  // namespace vramstow
