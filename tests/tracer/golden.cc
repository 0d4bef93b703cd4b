#include "tests/tracer/golden.h"

#include <sstream>

#include "tests/tracer/support.h"
#include "tracer/format/crc32c.h"
#include "tracer/format/reader.h"

namespace vramstow {

std::string Describe(const std::string& path) {
  constexpr size_t kAllUpTo = 200;
  constexpr size_t kStep = 500;
  TraceReader reader;
  std::ostringstream text;
  if (reader.Open(path.c_str()) != ReadError::kOk) return "no trace\n";
  for (const auto& [key, value] : reader.facts()) {
    text << "fact " << key << " = " << value.substr(0, 100);
    if (value.size() > 100) text << "… " << value.size() << " bytes";
    text << '\n';
  }
  for (uint16_t i = 0; i < 4; ++i) text << "call " << i << ' ' << reader.CallName(i) << '\n';
  for (const TraceLibrary& library : reader.libraries()) {
    text << "library " << library.path << ' ' << std::hex << library.base << std::dec << ' '
         << library.build_id << '\n';
  }
  std::vector<std::string> lines;
  std::string all;
  uint32_t first_thread = 0;
  Event event;
  while (reader.Next(&event)) {
    if (first_thread == 0) first_thread = event.thread;
    std::ostringstream line;
    line << event.sequence << ' ' << event.time_ns << " thread "
         << (event.thread == first_thread ? "A" : "B") << ' ' << ToText(event);
    const std::string_view says =
        event.kind == EventKind::kMark ? reader.Annotation(event.object) : "unknown";
    if (says != "unknown") line << " says " << says;
    line << '\n';
    lines.push_back(line.str());
    all += line.str();
  }
  for (size_t i = 0; i < lines.size(); ++i) {
    if (lines.size() <= kAllUpTo || i % kStep == 0 || i + 1 == lines.size()) text << lines[i];
  }
  const ReadReport& report = reader.report();
  text << "events " << report.events << " chunks " << report.chunks << " damaged "
       << report.damaged_chunks << ' ' << report.damaged_bytes << " missing "
       << report.missing_events << " dropped " << report.dropped_events
       << (report.closed ? " closed" : " open") << '\n';
  text << "checksum of all events " << std::hex << Crc32c(all.data(), all.size()) << '\n';
  return text.str();
}

}  // namespace vramstow
