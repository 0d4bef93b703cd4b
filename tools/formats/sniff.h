// Recognises a file's format from its first bytes, never from its name.
//
// Ownership: values; texts are literals. Threads: pure functions. Errors: none; an unrecognised
// file is kUnknown. Units: none.
#ifndef VRAMSTOW_TOOLS_FORMATS_SNIFF_H_
#define VRAMSTOW_TOOLS_FORMATS_SNIFF_H_

#include <cstdint>
#include <string>
#include <string_view>

namespace vramstow {

enum class FileFormat : uint8_t {
  kUnknown,
  kEmpty,
  kStow,            // a trace of vramstow
  kPickle,          // perhaps a PyTorch memory snapshot
  kProfilerTrace,   // JSON: a PyTorch profiler trace (Chrome's format)
  kMemoryTimeline,  // JSON: the PyTorch profiler's memory timeline
  kRmmLog,
  kMinimalloc,
  kGzip,  // contains another format; Input unpacks it
  kZip,
  kHtmlPage,  // may contain a snapshot, which Input extracts
  kForeign,   // recognised, but not readable here
};

struct Sniffed {
  FileFormat format = FileFormat::kUnknown;
  // The format in words, with an article: "a PyTorch memory snapshot", "an HTML page".
  std::string_view what = "data of an unknown file format";
};

// Recognises the format. Only the first 4 KiB are used; more bytes are ignored.
Sniffed Sniff(std::string_view first_bytes);

// Returns one sentence for a file that no reader accepts: what it is, and which formats can be
// read.
std::string NotReadable(std::string_view path, const Sniffed& sniffed);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_FORMATS_SNIFF_H_
