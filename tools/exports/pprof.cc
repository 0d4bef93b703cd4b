#include "tools/exports/pprof.h"

#include <zlib.h>

#include <charconv>
#include <new>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "tools/exports/proto_writer.h"

namespace vramstow {
namespace {

// Field numbers of profile.proto.
namespace profile {
constexpr uint32_t kSampleType = 1, kSample = 2, kMapping = 3, kLocation = 4, kFunction = 5,
                   kStringTable = 6, kTimeNanos = 9, kDurationNanos = 10, kPeriodType = 11,
                   kPeriod = 12, kComment = 13, kDefaultSampleType = 14;
}
namespace value_type {
constexpr uint32_t kType = 1, kUnit = 2;
}
namespace sample {
constexpr uint32_t kLocationId = 1, kValue = 2;
}
namespace mapping {
constexpr uint32_t kId = 1, kFilename = 5, kHasFunctions = 7;
}
namespace location {
constexpr uint32_t kId = 1, kMappingId = 2, kLine = 4;
}
namespace line {
constexpr uint32_t kFunctionId = 1, kLine = 2;
}
namespace function {
constexpr uint32_t kId = 1, kName = 2, kSystemName = 3, kFilename = 4;
}

// The table of texts; the first is empty.
class Texts {
 public:
  Texts() { Find(""); }
  uint64_t Find(std::string_view text) {
    const auto [known, inserted] = numbers_.try_emplace(std::string(text), texts_.size());
    if (inserted) texts_.emplace_back(text);
    return known->second;
  }
  void Write(ProtoWriter* out) const {
    for (const std::string& text : texts_) out->Text(profile::kStringTable, text);
  }

 private:
  std::vector<std::string> texts_;
  absl::flat_hash_map<std::string, uint64_t> numbers_;
};

struct NamedFrame {
  std::string_view function;
  std::string_view file;
  uint64_t line = 0;
};

NamedFrame WholeFrame(std::string_view frame) {
  NamedFrame whole;
  whole.function = frame;
  return whole;
}

// Splits "model.py:12 forward" into its parts; text of another form is a function.
NamedFrame PartsOf(std::string_view frame) {
  const size_t space = frame.find(' ');
  const size_t colon = frame.rfind(':', space);
  if (space == std::string_view::npos || colon == std::string_view::npos || colon == 0) {
    return WholeFrame(frame);
  }
  NamedFrame parts;
  const char* const end = frame.data() + space;
  if (std::from_chars(frame.data() + colon + 1, end, parts.line).ptr != end) {
    return WholeFrame(frame);
  }
  parts.file = frame.substr(0, colon);
  parts.function = frame.substr(space + 1);
  return parts;
}

ProtoWriter ValueType(Texts* texts, std::string_view type, std::string_view unit) {
  ProtoWriter out;
  out.Number(value_type::kType, texts->Find(type)).Number(value_type::kUnit, texts->Find(unit));
  return out;
}

std::string Gzipped(const std::string& bytes) {
  z_stream stream = {};
  constexpr int kGzip = 16 + MAX_WBITS;
  constexpr int kMemoryLevel = 8;
  if (deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, kGzip, kMemoryLevel,
                   Z_DEFAULT_STRATEGY) != Z_OK) {
    throw std::bad_alloc();
  }
  // With an output of deflateBound bytes one call compresses everything; a profile is far smaller
  // than 4 GiB.
  std::string packed(deflateBound(&stream, bytes.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  deflate(&stream, Z_FINISH);
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  return packed;
}

}  // namespace

std::string PprofProfile(const Facts& facts, const Detail& detail) {
  Texts texts;
  ProtoWriter out;
  out.Message(profile::kSampleType, ValueType(&texts, "alloc_objects", "count"))
      .Message(profile::kSampleType, ValueType(&texts, "alloc_space", "bytes"))
      .Message(profile::kSampleType, ValueType(&texts, "inuse_objects", "count"))
      .Message(profile::kSampleType, ValueType(&texts, "inuse_space", "bytes"));
  for (const SiteDetail& site : detail.sites) {
    if (site.allocations == 0 && site.at_peak.blocks == 0) continue;
    std::vector<uint64_t> locations;
    for (auto frame = site.frames.rbegin(); frame != site.frames.rend(); ++frame) {
      locations.push_back(uint64_t{*frame} + 1);
    }
    const uint64_t values[] = {site.allocations, site.total_bytes, site.at_peak.blocks,
                               site.at_peak.bytes};
    ProtoWriter sample;
    sample.Packed(sample::kLocationId, locations).Packed(sample::kValue, values);
    out.Message(profile::kSample, sample);
  }
  ProtoWriter mapping;
  mapping.Number(mapping::kId, 1)
      .Number(mapping::kFilename, texts.Find(facts.file))
      .Number(mapping::kHasFunctions, 1);
  out.Message(profile::kMapping, mapping);
  for (size_t i = 0; i < detail.frames.size(); ++i) {
    const NamedFrame parts = PartsOf(detail.frames[i]);
    const uint64_t name = texts.Find(parts.function);
    ProtoWriter line;
    line.Number(line::kFunctionId, i + 1).Number(line::kLine, parts.line);
    ProtoWriter location;
    location.Number(location::kId, i + 1)
        .Number(location::kMappingId, 1)
        .Message(location::kLine, line);
    out.Message(profile::kLocation, location);
    ProtoWriter function;
    function.Number(function::kId, i + 1)
        .Number(function::kName, name)
        .Number(function::kSystemName, name)
        .Number(function::kFilename, texts.Find(parts.file));
    out.Message(profile::kFunction, function);
  }
  out.Number(profile::kDurationNanos, facts.end_ns)
      .Message(profile::kPeriodType, ValueType(&texts, "space", "bytes"))
      .Number(profile::kPeriod, 1)
      .Number(profile::kComment,
              texts.Find("vramstow: inuse is the memory that was live at the peak"))
      .Number(profile::kDefaultSampleType, texts.Find("inuse_space"));
  const auto start = facts.trace_metadata.find("process.start_time");
  uint64_t start_ns = 0;
  if (start != facts.trace_metadata.end()) {
    const std::string& text = start->second;
    std::from_chars(text.data(), text.data() + text.size(), start_ns);
    out.Number(profile::kTimeNanos, start_ns);
  }
  texts.Write(&out);
  return Gzipped(out.bytes());
}

}  // namespace vramstow
