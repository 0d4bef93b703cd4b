#include "tools/exports/csv_writer.h"

#include <charconv>

#include "tools/base/words.h"

namespace vramstow {
namespace {

// Returns a text column. It cannot control a terminal, and a spreadsheet takes it for a text and
// not for a formula.
std::string TextField(std::string_view words) {
  std::string text = Printable(words);
  if (!text.empty() && std::string_view("=+-@").find(text.front()) != std::string_view::npos)
    text.insert(0, 1, '\'');
  if (text.find_first_of(",\"") == std::string::npos) return text;
  std::string quoted = "\"";
  for (char c : text) {
    if (c == '"') quoted += '"';
    quoted += c;
  }
  return quoted + '"';
}

template <typename Number>
void AppendDigits(Number number, std::string* text, int base = 10) {
  char digits[32];
  text->append(digits, std::to_chars(digits, digits + sizeof digits, number, base).ptr);
  *text += ',';
}

void AppendHex(uint64_t number, std::string* text) {
  *text += "0x";
  AppendDigits(number, text, 16);
}

void AppendText(std::string_view words, std::string* text) {
  *text += words;
  *text += ',';
}

}  // namespace

const std::string& CsvWriter::CallName(uint16_t call) {
  if (call >= calls_.size()) calls_.resize(call + size_t{1});
  if (calls_[call].empty()) calls_[call] = TextField(source_.CallName(call));
  return calls_[call];
}

const std::string& CsvWriter::LibraryPath(uint16_t library) {
  if (library >= libraries_.size()) libraries_.resize(library + size_t{1});
  if (libraries_[library].empty()) libraries_[library] = TextField(source_.LibraryPath(library));
  return libraries_[library];
}

void CsvWriter::Append(const Event& event, std::string* text) {
  AppendDigits(event.sequence, text);
  AppendDigits(event.time_ns, text);
  AppendDigits(event.thread, text);
  AppendText(EventKindName(event.kind), text);
  AppendText(MemoryKindName(event.memory), text);
  AppendText(CallName(event.call), text);
  AppendText(LibraryPath(event.library), text);
  AppendDigits(event.device, text);
  if (event.stream == kUnknownStream) {
    *text += ',';
  } else {
    AppendHex(event.stream, text);
  }
  AppendHex(event.address, text);
  AppendDigits(event.size, text);
  AppendDigits(event.requested, text);
  AppendHex(event.object, text);
  AppendDigits(event.offset, text);
  AppendDigits(event.result, text);
  text->back() = '\n';
}

}  // namespace vramstow
