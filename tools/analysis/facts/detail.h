// Detail: the data of the analysis behind the facts: which blocks lived when and where, and the
// levels over time. Explanations, and the pictures of a report, are made from it.
//
// Ownership: plain values. Threads: plain values without synchronisation. Errors: none. Units:
// bytes, nanoseconds since the trace began; events are counted from 1. Memory: bounded, see lives.h
// and level_log.h.
#ifndef VRAMSTOW_TOOLS_ANALYSIS_FACTS_DETAIL_H_
#define VRAMSTOW_TOOLS_ANALYSIS_FACTS_DETAIL_H_

#include <cstdint>
#include <string>
#include <vector>

#include "tools/analysis/facts/census_log.h"
#include "tools/analysis/facts/facts.h"
#include "tools/analysis/facts/launch_tally.h"
#include "tools/analysis/facts/level_log.h"
#include "tools/analysis/facts/lives.h"
#include "tools/analysis/facts/model_clock_log.h"
#include "tools/analysis/facts/turn_log.h"

namespace vramstow {

// The program's phase when it allocated, as far as its call stack shows it.
enum class Phase : uint8_t {
  kUnknown,
  kInit,  // models and optimizers are made or moved
  kForward,
  kBackward,
  kOptimizer,
  kData,
  kWorkspace,  // of a math library
  kCache,      // of keys and values
};

// One line of the program in a call stack.
struct CodeLine {
  uint32_t text = 0;      // in Detail::lines
  uint64_t function = 0;  // the same number for all lines of a function
  uint32_t line = 0;
};

struct SiteDetail {
  std::string site;       // "train.py:45 step"; of a driver call: the library
  std::string operation;  // as users call it: "linear"; of a driver call: its name
  std::string made_by;    // the operator that allocates, within it: "aten::addmm"
  std::string module;     // "Decoder.blocks.0"; empty if unknown
  std::string classes;    // of modules that a library runs: "Sequential.Linear"
  Phase phase = Phase::kUnknown;
  bool by_stack = false;       // false if no call stack is known
  bool empties_cache = false;  // torch.cuda.empty_cache() is in the stack
  // The line of the program that calls empty_cache(); empty if a library calls it by itself.
  std::string empty_cache_line;
  bool in_backward = false;   // autograd is running, whatever `phase` is (recomputation)
  bool in_optimizer = false;  // an optimizer is running
  bool is_own_call = false;   // no Python of a library is between `own` and the allocation
  bool is_float64 = false;    // the names of functions tell that numbers have 64 bits
  std::vector<CodeLine> own;  // the program's own lines, the outermost first
  // The informative frames of the call stack, as indices into Detail::frames. The outermost frame
  // comes first.
  std::vector<uint32_t> frames;
  uint64_t allocations = 0;
  uint64_t total_bytes = 0;
  Amount at_peak;
  Amount at_end;
};

struct MarkDetail {
  enum class Kind : uint8_t { kMoment, kBegin, kEnd };
  uint64_t event = 0;
  uint64_t time_ns = 0;
  std::string text;
  Kind kind = Kind::kMoment;
};

struct Detail {
  std::vector<std::string> frames;  // "file.py:12 function", each once
  // The path of the file of each frame; empty if no file or several files are known.
  std::vector<std::string> files;
  std::vector<std::string> lines;      // the program's own among them, each once
  std::vector<std::string> libraries;  // the last parts of their paths, by number
  std::vector<SiteDetail> sites;       // by SiteTable's numbers; 0 is no call site
  std::vector<Life> lives;             // blocks, by birth
  uint64_t lives_left_out = 0;
  // The memory that a pool took from the device, in order of birth. In a segment that is joined to
  // its neighbours, Life::pending is set.
  std::vector<Life> segments;
  uint64_t segments_left_out = 0;
  // The events at which the program had called empty_cache(), of the flushes in facts.cache.
  std::vector<uint64_t> flushes;
  std::vector<Life> away;  // live memory that lay in host memory or was paused, by birth
  std::vector<LevelStep> levels;
  uint64_t events_per_step = 1;
  std::vector<MarkDetail> marks;
  uint64_t marks_left_out = 0;
  std::vector<CensusDetail> censuses;
  std::vector<LaunchStep> launches;
  // The samples of the simulated GPU's clock, in order; empty if there was no such clock.
  std::vector<ModelClockSample> model_clock;
  std::vector<TurnChange> turns;  // in order; empty if the process never waited for a turn
  uint64_t events = 0;
  uint64_t peak_event = 0;
  uint64_t first_event = 1;  // the first after those for blocks from before the recording

  bool has_all_lives() const { return lives_left_out == 0 && segments_left_out == 0; }
};

// Returns the device that had most of the peak.
int DeviceAtPeak(const Detail& detail);

struct Analysis {
  Facts facts;
  Detail detail;
};

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_ANALYSIS_FACTS_DETAIL_H_
