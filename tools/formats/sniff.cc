#include "tools/formats/sniff.h"

#include <algorithm>
#include <initializer_list>
#include <iterator>

#include "absl/strings/ascii.h"
#include "tools/formats/csv.h"
#include "tools/formats/pickle_opcodes.h"
#include "tools/formats/text_helpers.h"
#include "tracer/format/layout.h"

namespace vramstow {
namespace {

// The namespace is used only for the suffix sv of string_view literals.
using namespace std::string_view_literals;  // NOLINT(google-build-using-namespace)

struct Magic {
  std::string_view bytes;
  Sniffed sniffed;
};

constexpr Magic kMagics[] = {
    {"\x1f\x8b"sv, {FileFormat::kGzip, "a gzip file"}},
    {"PK\x03\x04"sv, {FileFormat::kZip, "a zip file"}},
    {"PK\x05\x06"sv, {FileFormat::kZip, "an empty zip file"}},
    // Python's protocols 0 and 1 have no magic number; a dict or list begins in one of these ways.
    {"(dp"sv, {FileFormat::kPickle, "a Python pickle"}},
    {"(dV"sv, {FileFormat::kPickle, "a Python pickle"}},
    {"(dS"sv, {FileFormat::kPickle, "a Python pickle"}},
    {"(lp"sv, {FileFormat::kPickle, "a Python pickle"}},
    {"(l("sv, {FileFormat::kPickle, "a Python pickle"}},
    {"}q"sv, {FileFormat::kPickle, "a Python pickle"}},
    {"}("sv, {FileFormat::kPickle, "a Python pickle"}},
    {"]q"sv, {FileFormat::kPickle, "a Python pickle"}},
    {"]("sv, {FileFormat::kPickle, "a Python pickle"}},
    {"version https://git-lfs"sv,
     {FileFormat::kForeign, "a Git LFS pointer (the file itself was not downloaded)"}},
    {"SQLite format 3"sv, {FileFormat::kForeign, "an SQLite database"}},
    {"\x7f"
     "ELF"sv,
     {FileFormat::kForeign, "a program or library"}},
    {"memray"sv, {FileFormat::kForeign, "a memray capture"}},
    {"\x28\xb5\x2f\xfd"sv, {FileFormat::kForeign, "packed with zstd: unpack it first"}},
    {"\xfd"
     "7zXZ"sv,
     {FileFormat::kForeign, "packed with xz: unpack it first"}},
    {"BZh"sv, {FileFormat::kForeign, "packed with bzip2: unpack it first"}},
    {"PAR1"sv, {FileFormat::kForeign, "a Parquet file"}},
    {"\x93NUMPY"sv, {FileFormat::kForeign, "a NumPy array"}},
    {"\x89PNG"sv, {FileFormat::kForeign, "a PNG picture"}},
    {"<?xml"sv, {FileFormat::kForeign, "an XML file"}},
};

// True if the file has a column with each of these names.
bool HasColumns(const CsvReader& csv, std::initializer_list<std::string_view> names) {
  return std::ranges::all_of(names, [&](std::string_view name) { return csv.Column(name) >= 0; });
}

// True if the text begins with `tag`, which is in lower case. The case of the text is ignored.
bool BeginsWithTag(std::string_view text, std::string_view tag) {
  return text.size() >= tag.size() &&
         std::ranges::equal(text.substr(0, tag.size()), tag, [](char a, char b) {
           return absl::ascii_tolower(static_cast<unsigned char>(a)) == b;
         });
}

Sniffed SniffText(std::string_view bytes) {
  if (bytes.starts_with("\xef\xbb\xbf")) bytes.remove_prefix(3);
  const std::string_view text = Stripped(bytes);
  if (text.empty()) return {FileFormat::kForeign, "nothing but empty lines"};
  if (BeginsWithTag(text, "<!doctype html") || BeginsWithTag(text, "<html")) {
    return {FileFormat::kHtmlPage,
            "an HTML page without a memory snapshot in it (name the file from which it was made "
            "instead)"};
  }
  if (text.front() == '{') return {FileFormat::kProfilerTrace, "a JSON object"};
  if (text.front() == '[' && text.substr(0, text.find('\n')).find(" RMM LOG ") != text.npos) {
    return {FileFormat::kForeign,
            "RMM's debug log, which contains no memory events: RMM's logging_resource_adaptor "
            "writes the memory log"};
  }
  if (text.front() == '[') {
    const std::string_view inner = Stripped(text.substr(1));
    if (inner.starts_with('{')) return {FileFormat::kProfilerTrace, "a JSON list of objects"};
    return {FileFormat::kMemoryTimeline, "a JSON list"};
  }
  const CsvReader csv(text);
  if (HasColumns(csv, {"Action", "Pointer", "Size"})) {
    return {FileFormat::kRmmLog, "an RMM log"};
  }
  if (HasColumns(csv, {"lower", "upper", "size"})) {
    return {FileFormat::kMinimalloc, "a minimalloc problem"};
  }
  return {};
}

}  // namespace

Sniffed Sniff(std::string_view first_bytes) {
  if (first_bytes.empty()) return {FileFormat::kEmpty, "empty"};
  const std::string_view stow(reinterpret_cast<const char*>(kFileMagic), std::size(kFileMagic));
  if (first_bytes.starts_with(stow)) return {FileFormat::kStow, "a vramstow trace"};
  const auto first = static_cast<uint8_t>(first_bytes.front());
  if (first == pickle::kProtocol && first_bytes.size() > 1 &&
      static_cast<uint8_t>(first_bytes[1]) < ' ') {
    return {FileFormat::kPickle, "a Python pickle"};
  }
  for (const Magic& magic : kMagics) {
    if (first_bytes.starts_with(magic.bytes)) return magic.sniffed;
  }
  return SniffText(first_bytes.substr(0, 4096));
}

std::string NotReadable(std::string_view path, const Sniffed& sniffed) {
  return Concat(path, " is ", sniffed.what,
                "; vramstow reads its traces (.stow), PyTorch memory snapshots, PyTorch "
                "profiler traces with memory events and memory timelines (JSON, also .gz), RMM "
                "logs and minimalloc problems (CSV)");
}

}  // namespace vramstow
