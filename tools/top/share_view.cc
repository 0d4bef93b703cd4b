#include "tools/top/share_view.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/share_state.h"
#include "base/share_table.h"
#include "tools/base/folder_entries.h"
#include "tools/base/words.h"

namespace vramstow {
namespace {

// How long a table's lock is waited for. A stopped process may hold it.
constexpr uint64_t kLockWaitNs = 200'000'000;

void AddRows(const std::filesystem::path& path, std::vector<SharerRow>* rows) {
  ShareTable table;
  char why[600];
  if (!table.OpenExisting(path.c_str(), why, sizeof why)) return;
  if (table.Lock(kLockWaitNs)) {
    for (size_t i = 0; i < kMaxSharers; ++i) {
      const ShareSlot& slot = table.At(i);
      if (slot.member.group == 0 || !table.IsLive(i)) continue;
      const ShareMember& member = slot.member;
      SharerRow row;
      row.card =
          Printable(std::string(slot.card_name, strnlen(slot.card_name, sizeof slot.card_name)));
      row.process = slot.process;
      row.program = Printable(std::string(slot.name, strnlen(slot.name, sizeof slot.name)));
      row.state = NameOf(ShareStateOf(member, table.header().holder));
      row.resident_bytes = member.resident_bytes;
      row.stuck_bytes = member.stuck_bytes;
      row.away_bytes = member.away_bytes;
      row.wanted_bytes = member.wanted_bytes;
      row.card_free_bytes = member.free_bytes;
      row.turns = slot.turns;
      row.waited_ns = slot.waited_ns;
      row.exchange_ns = member.exchange_ns;
      rows->push_back(row);
    }
    table.Unlock();
  }
  table.Close();
}

}  // namespace

std::vector<SharerRow> ReadSharers(const std::set<std::string>& tables) {
  std::vector<SharerRow> rows;
  // Two paths may lead to one table.
  std::set<std::string> all;
  const auto add = [&all](const std::string& table) {
    std::error_code error;
    const std::filesystem::path whole = std::filesystem::canonical(table, error);
    if (!error) all.insert(whole);
  };
  for (const std::string& table : tables) add(table);
  char path[300];
  if (ShareTable::Directory("", std::getenv("XDG_RUNTIME_DIR"), geteuid(), path, sizeof path)) {
    for (const std::filesystem::path& entry : EntriesOf(path)) {
      if (entry.extension() == ".share") add(entry);
    }
  }
  for (const std::string& table : all) AddRows(table, &rows);
  return rows;
}

std::vector<std::string> SharersInText(const std::vector<SharerRow>& rows) {
  if (rows.empty()) return {};
  std::vector<std::string> lines = {absl::StrFormat("%8s  %-7s %11s %11s %11s %6s %9s  %s",
                                                    "SHARING", "state", "on GPU", "on host",
                                                    "lacks", "turns", "waited", "program")};
  for (const SharerRow& row : rows) {
    const std::string stuck =
        row.stuck_bytes == 0 ? "" : absl::StrCat("  (", Bytes(row.stuck_bytes), " cannot move)");
    lines.push_back(absl::StrFormat("%8d  %-7s %11s %11s %11s %6d %9s  %s%s", row.process,
                                    row.state, Bytes(row.resident_bytes), Bytes(row.away_bytes),
                                    Bytes(row.wanted_bytes), row.turns, Time(row.waited_ns),
                                    row.program, stuck));
  }
  return lines;
}

JsonValue SharersInJson(const std::vector<SharerRow>& rows) {
  JsonValue all = JsonValue::Array();
  for (const SharerRow& row : rows) {
    all.Append(JsonValue::Object(
        {{"card", row.card},
         {"pid", row.process},
         {"program", row.program},
         {"state", row.state},
         {"resident_bytes", row.resident_bytes},
         {"stuck_bytes", row.stuck_bytes},
         {"away_bytes", row.away_bytes},
         {"wanted_bytes", row.wanted_bytes},
         {"card_free_bytes",
          row.card_free_bytes == kUnknownFree ? JsonValue() : JsonValue(row.card_free_bytes)},
         {"turns", row.turns},
         {"waited_ns", row.waited_ns},
         {"exchange_ns", row.exchange_ns}}));
  }
  return all;
}

}  // namespace vramstow
