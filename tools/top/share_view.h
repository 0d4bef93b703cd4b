// ShareView: reads the tables of the GPUs that processes use in turns (--share).
//
// Ownership: the results are copies. Threads: used by one thread at a time. Errors: a folder or a
// table that cannot be read has no members. Units: bytes, nanoseconds.
#ifndef VRAMSTOW_TOOLS_TOP_SHARE_VIEW_H_
#define VRAMSTOW_TOOLS_TOP_SHARE_VIEW_H_

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "tools/json/json_value.h"

namespace vramstow {

// One process that shares a GPU.
struct SharerRow {
  std::string card;  // the name of the GPU's table
  int64_t process = 0;
  std::string program;
  std::string state;  // one of kShareStateNames
  uint64_t resident_bytes = 0;
  uint64_t stuck_bytes = 0;
  uint64_t away_bytes = 0;
  uint64_t wanted_bytes = 0;
  uint64_t card_free_bytes = 0;  // of the GPU, as the process last saw it, or kUnknownFree
  uint64_t turns = 0;
  uint64_t waited_ns = 0;
  uint64_t exchange_ns = 0;
};

// Returns the processes of these tables (files) and of those in the usual folder.
std::vector<SharerRow> ReadSharers(const std::set<std::string>& tables);
// Returns a heading and a line for each process; nothing if there is none.
std::vector<std::string> SharersInText(const std::vector<SharerRow>& rows);
JsonValue SharersInJson(const std::vector<SharerRow>& rows);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_TOP_SHARE_VIEW_H_
