// A program for tests that run whole processes: reads a snapshot and prints its contents, or writes
// it again.
//
//   snapshot_tool summary FILE        prints one line of JSON; or one sentence on stderr, with exit
//   status 2
//   snapshot_tool rewrite FILE OUT    reads FILE and writes it to OUT
//   snapshot_tool seeds FOLDER        writes small valid files of every format, for the fuzzer
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "tests/formats/seeds.h"
#include "tools/formats/snapshot_events.h"
#include "tools/formats/snapshot_reader.h"
#include "tools/formats/snapshot_writer.h"

namespace vramstow {
namespace {

int Fail(const absl::Status& status) {
  std::cerr << "snapshot_tool: " << status.message() << "\n";
  return 2;
}

nlohmann::json Summary(const Snapshot& snapshot) {
  const SnapshotTotals totals = TotalsOf(snapshot.device);
  SnapshotEvents events(&snapshot);
  Event event;
  uint64_t given = 0;
  while (events.Next(&event)) ++given;
  nlohmann::json actions;
  for (int i = 0; i < kTraceActions; ++i) {
    const uint64_t count = events.counts().entries[static_cast<size_t>(i)];
    if (count != 0) actions[TraceActionName(static_cast<TraceAction>(i))] = count;
  }
  nlohmann::json settings;
  for (const AllocatorSetting& setting : snapshot.settings) {
    nlohmann::json& value = settings[setting.name];
    std::visit(
        [&](const auto& held) {
          if constexpr (!std::is_same_v<std::decay_t<decltype(held)>, std::monostate>) value = held;
        },
        setting.value);
  }
  return {{"segments", totals.segments},
          {"blocks", totals.blocks},
          {"reserved", totals.reserved},
          {"allocated", totals.allocated},
          {"slots", snapshot.device.traces.size()},
          {"host_segments", snapshot.host.segments.size()},
          {"annotations", snapshot.annotations.size()},
          {"settings", settings},
          {"actions", actions},
          {"events", given},
          {"stacks", snapshot.stacks.stack_count() - 1},
          {"frames", snapshot.stacks.frame_count()},
          {"missing", snapshot.missing},
          {"events_missing", events.missing()},
          {"complete", snapshot.complete}};
}

int WriteSeeds(const std::string& folder) {
  int number = 0;
  for (const std::string& seed : Seeds()) {
    std::ofstream file(folder + "/" + std::to_string(number++), std::ios::binary);
    file << seed;
    if (!file.flush()) return Fail(absl::UnavailableError("a seed could not be written"));
  }
  return 0;
}

int Main(int argc, char** argv) {
  const std::string_view command = argc > 1 ? argv[1] : "";
  const bool known = (command == "summary" && argc == 3) || (command == "rewrite" && argc == 4) ||
                     (command == "seeds" && argc == 3);
  if (!known) {
    std::cerr << "usage: snapshot_tool summary FILE | rewrite FILE OUT | seeds FOLDER\n";
    return 2;
  }
  if (command == "seeds") return WriteSeeds(argv[2]);
  const absl::StatusOr<Snapshot> snapshot = ReadSnapshot(std::string(argv[2]));
  if (!snapshot.ok()) return Fail(snapshot.status());
  if (command == "rewrite") {
    const absl::Status written = WriteSnapshotFile(*snapshot, argv[3]);
    return written.ok() ? 0 : Fail(written);
  }
  std::cout << Summary(*snapshot).dump() << "\n";
  return 0;
}

}  // namespace
}  // namespace vramstow

int main(int argc, char** argv) { return vramstow::Main(argc, argv); }
