// TopView: what can be seen of processes that run under vramstow, from their traces and their
// control sockets; as a page of text, or as JSON.
//
// Idea: a trace is complete at every moment, so it is simply read again. What has ended is read
// once. A long trace takes longer to read than a look is worth: the looks then come less often
// (CostMs).
//
// Ownership: copies. Threads: one at a time. Errors: one sentence where there is nothing to see.
// Units: bytes, milliseconds.
#ifndef VRAMSTOW_TOOLS_COMMANDS_TOP_VIEW_H_
#define VRAMSTOW_TOOLS_COMMANDS_TOP_VIEW_H_

#include <sys/types.h>

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "tools/analysis/facts/facts.h"

namespace vramstow {

struct TopProcess {
  std::string file;
  pid_t process = 0;
  std::string program;  // of Python the script or module that it runs, as the trace's name has it
  std::optional<int64_t> rank;
  bool runs = false;
  Facts facts;
  // What the pool says, where there is one: docs/control.md.
  std::optional<uint64_t> pool_pending_bytes;
};

// On all devices.
uint64_t ReservedNow(const Facts& facts);

// By what the processes are sorted: a name for --sort, and a key on a terminal.
struct TopOrder {
  const char* name;
  char key;
  // Whether the first of two comes before the second.
  bool (*is_before)(const TopProcess& a, const TopProcess& b);
};
const std::vector<TopOrder>& TopOrders();

class TopView {
 public:
  // A process id, a folder with traces, or nothing: all processes of this machine that can be seen.
  explicit TopView(std::string target) : target_(std::move(target)) {}

  // From now on; an unknown name or key changes nothing.
  void SortBy(std::string_view name);
  void SortByKey(char key);

  // Looks again. Not found: nothing is there (any more) to be looked at.
  absl::Status Look();

  // The processes, those that run first, in the order that was asked for: who holds most first.
  const std::vector<TopProcess>& processes() const { return processes_; }
  bool any_runs() const;
  bool is_empty() const { return processes_.empty(); }
  // How long the last look took.
  uint64_t cost_ms() const { return cost_ms_; }

  // At most `rows` lines of at most `columns`.
  std::string Text(size_t rows, size_t columns) const;
  std::string Json() const;

 private:
  // Of the first process: its level over time, and who holds its memory.
  void AddHolders(size_t columns, std::vector<std::string>* page) const;
  absl::Status FindFiles(std::vector<std::string>* files) const;

  std::string target_;
  void Sort();

  const TopOrder* order_ = &TopOrders().front();
  std::vector<TopProcess> processes_;
  std::map<std::string, TopProcess> ended_;  // by file
  uint64_t cost_ms_ = 0;
};

// The traces that a process has mapped or open, or that bear its number where it was told to write
// them.
std::vector<std::string> TracesOfProcess(pid_t process);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_COMMANDS_TOP_VIEW_H_
