// TopView: reads the state of processes that run under vramstow, from their traces and control
// sockets. It shows this state as a page of text or as JSON.
//
// Idea: a trace is complete at every moment, so it is simply read again for each new state. The
// trace of a process that has ended is read once. If traces take long to read, they are read less
// often (cost_ms).
//
// Ownership: keeps its own copies. Threads: used by one thread at a time. Errors: one sentence if
// there is nothing to show. Units: bytes, milliseconds.
#ifndef VRAMSTOW_TOOLS_TOP_TOP_VIEW_H_
#define VRAMSTOW_TOOLS_TOP_TOP_VIEW_H_

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "tools/analysis/facts/facts.h"
#include "tools/top/share_view.h"

namespace vramstow {

enum class TopState : uint8_t {
  kRuns,
  kEnded,
  kKilled,
  // The trace was not closed, but the process belongs to another host or container, so that it may
  // run or may have been killed.
  kElsewhere,
};

struct TopProcess {
  std::string file;
  pid_t process = 0;
  std::string program;  // for Python: the script or module, from the trace's name
  std::optional<int64_t> rank;
  TopState state = TopState::kEnded;
  Facts facts;
  // The bytes that the pool reports as pending (docs/control.md); nullopt without a pool.
  std::optional<uint64_t> pool_pending_bytes;
};

// Returns the reserved bytes on all devices.
uint64_t ReservedNow(const Facts& facts);

// A sort order. It has a name for --sort, and a key that selects it on a terminal.
struct TopOrder {
  const char* name;
  char key;
  // True if the first of two processes comes before the second.
  bool (*is_before)(const TopProcess& a, const TopProcess& b);
};
const std::vector<TopOrder>& TopOrders();

class TopView {
 public:
  // `target` is a process id, a folder with traces, or empty for all processes of this machine that
  // this user may read.
  explicit TopView(std::string target) : target_(std::move(target)) {}

  // SortBy and SortByKey change the sort order. An unknown name or key has no effect.
  void SortBy(std::string_view name);
  void SortByKey(char key);

  // Reads the current state. Returns kNotFound if there is nothing to show, for example because the
  // process has ended.
  absl::Status Look();

  // Returns the processes in the chosen order. Running processes come before ended ones; by
  // default, the process that holds most memory comes first.
  const std::vector<TopProcess>& processes() const { return processes_; }
  // Returns true if a process runs, or may run elsewhere because its trace was written lately.
  bool any_runs() const;
  bool is_empty() const { return processes_.empty(); }
  // Returns how long the last call of Look() took.
  uint64_t cost_ms() const { return cost_ms_; }

  // Returns at most `rows` lines of at most `columns` columns.
  std::string Text(size_t rows, size_t columns) const;
  std::string Json() const;

 private:
  // Adds two parts for the first process to the page: its level over time, and the owners of its
  // memory.
  void AddHolders(size_t columns, std::vector<std::string>* page) const;
  // Sets *are_open to true if the files were found through running processes that write them.
  absl::Status FindFiles(std::vector<std::string>* files, bool* are_open) const;

  std::string target_;
  void Sort();

  const TopOrder* order_ = &TopOrders().front();
  std::vector<TopProcess> processes_;
  std::vector<SharerRow> sharers_;
  std::map<std::string, TopProcess> ended_;  // by file
  uint64_t cost_ms_ = 0;
};

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_TOP_TOP_VIEW_H_
