#include "tools/report/summary.h"

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "base/demangle.h"
#include "base/host_mapping.h"
#include "tools/analysis/facts/known_part.h"
#include "tools/analysis/facts/named_facts.h"
#include "tools/analysis/facts/process_images.h"
#include "tools/analysis/facts/program_end.h"
#include "tools/base/words.h"
#include "tools/report/identity.h"
#include "tools/report/open_traces.h"
#include "tools/report/room.h"
#include "tools/report/sections.h"

namespace vramstow {
namespace {

constexpr size_t kMaxLibraries = 4;

std::string Line(const char* label, const std::string& text) {
  return absl::StrFormat("  %-12s %s\n", label, text);
}

std::string WhoAllocated(const Facts& total) {
  std::vector<std::string> parts;
  uint64_t listed_bytes = 0;
  for (const TallyFacts& tally : total.by_library) {
    if (parts.size() == kMaxLibraries || tally.at_peak.bytes == 0) break;
    parts.push_back(absl::StrCat(Printable(tally.name), " ", Bytes(tally.at_peak.bytes)));
    listed_bytes += tally.at_peak.bytes;
  }
  if (listed_bytes < total.peak.allocated_bytes) {
    parts.push_back(absl::StrCat("others ", Bytes(total.peak.allocated_bytes - listed_bytes)));
  }
  return absl::StrJoin(parts, ", ");
}

std::string Others(const Peak& peak) {
  constexpr uint64_t kLeastShown = 1 << 20;  // a flag that a program reads takes some bytes
  std::vector<std::string> parts;
  const std::pair<const char*, uint64_t> others[] = {{"pinned", peak.host_bytes},
                                                     {"registered", peak.registered_bytes},
                                                     {"managed", peak.managed_bytes}};
  for (const auto& [name, bytes] : others) {
    if (bytes >= kLeastShown) parts.push_back(absl::StrCat(Bytes(bytes), " ", name));
  }
  return absl::StrJoin(parts, ", ");
}

std::string Processes(const FactSet& set) {
  const Facts* highest = &set.traces.front();
  std::set<int64_t> ranks;
  for (const Facts& trace : set.traces) {
    if (trace.peak.allocated_bytes > highest->peak.allocated_bytes) highest = &trace;
    if (trace.rank.has_value()) ranks.insert(*trace.rank);
  }
  const auto pid = highest->trace_metadata.find("process.pid");
  const uint64_t processes = ProcessesOf(set.traces).size();
  std::string text = Counted(processes, "process");
  if (processes < set.traces.size()) {
    absl::StrAppend(&text, processes == 1 ? ", which ran " : ", which ran together ",
                    set.traces.size(), " programs",
                    processes == 1 ? " one after the other (exec)" : " (exec)");
  }
  if (!ranks.empty()) {
    text += absl::StrCat(
        " (", Counted(ranks.size(), "rank"),
        set.total.attempts > 1 ? ", " + Counted(set.total.attempts, "attempt") : "", ")");
  }
  text += absl::StrCat(", highest peak ", Bytes(highest->peak.allocated_bytes));
  if (highest->rank.has_value()) return absl::StrCat(text, " in rank ", *highest->rank);
  if (pid != highest->trace_metadata.end())
    text += absl::StrCat(" in process ", Printable(pid->second));
  return text;
}

std::string MissingInShort(const FactSet& set, size_t unread) {
  const Facts& total = set.total;
  std::vector<std::string> parts;
  for (const Facts& trace : set.traces) {
    const auto python = trace.trace_metadata.find("python.no_lines");
    if (python == trace.trace_metadata.end()) continue;
    parts.push_back(absl::StrCat("lines of Python ", Printable(python->second),
                                 ", which cannot be read (vramstow doctor)"));
    break;
  }
  const uint64_t events = total.report.missing_events + total.report.dropped_events;
  if (events > 0) parts.push_back(Counted(events, "event"));
  if (total.report.write_error != 0) {
    parts.push_back("because " + WriteErrorInWords(total.report.write_error));
  }
  if (total.report.damaged_bytes > 0)
    parts.push_back(Bytes(total.report.damaged_bytes) + " damaged");
  if (unread > 0) parts.push_back(Counted(unread, "trace") + " that could not be read");
  return absl::StrJoin(parts, ", ");
}

// The operations of one kind that a simulated run left out although the program used their results:
// their number, and the first of them.
struct LeftOut {
  uint64_t times = 0;
  std::string first;  // "addmm in train.py:9 main"
  std::string remedy;
};

// Reads the facts with the names `count`, `by` and `at`. `times` in the result is 0 if the program
// used no result of this kind.
LeftOut FindLeftOut(const FactSet& set, const char* count, const char* by, const char* at) {
  LeftOut found;
  for (const Facts& trace : set.traces) {
    uint64_t more = 0;
    if (!absl::SimpleAtoi(FactText(trace.trace_metadata, count), &more) || more == 0) continue;
    found.times += more;
    if (!found.first.empty()) continue;
    std::string name = FactText(trace.trace_metadata, by);
    if (name.starts_with("_Z")) name = Demangled(name.c_str());
    found.first = Shortened(Printable(name), 40, true);
    const std::string line = FactText(trace.trace_metadata, at);
    if (!line.empty()) absl::StrAppend(&found.first, " in ", Printable(line));
    const bool is_all =
        absl::StrContains(FactText(trace.trace_metadata, "option.simulate"), "values=all");
    if (name.starts_with("a copy")) {
      found.remedy = "; contents=keep in --simulate stores it";
    } else if (!is_all && !name.starts_with("an unknown instruction")) {
      found.remedy = "; values=all in --simulate computes it";
    }
  }
  return found;
}

// Says which sizes and values of a simulated run are not exact. Wrong sizes come first, because
// they make the recorded memory itself wrong.
std::string NotSimulated(const FactSet& set) {
  std::string text;
  const LeftOut sizes = FindLeftOut(set, "simulated.unknown_sizes", "simulated.first_unknown_size",
                                    "simulated.first_unknown_size_at");
  if (sizes.times > 0) {
    text += Line("not exact",
                 absl::StrCat("a size depended ", Counted(sizes.times, "time"),
                              " on a result that was not computed, first of ", sizes.first,
                              ": memory may differ from that on a real GPU", sizes.remedy));
  }
  const LeftOut values = FindLeftOut(set, "simulated.uncomputed_reads",
                                     "simulated.first_uncomputed", "simulated.first_uncomputed_at");
  if (values.times > 0) {
    text +=
        Line("not valid", absl::StrCat("the program read ", Counted(values.times, "value"),
                                       values.times == 1 ? " that was" : " that were",
                                       " not computed, the first of ", values.first,
                                       ": decisions that depend on them may differ on a real GPU",
                                       values.remedy));
  }
  return text;
}

// Says which ranks of a job were simulated without the other ranks, and what such a rank cannot
// show. Returns an empty text if there were none.
std::string RanksAlone(const FactSet& set) {
  // The simulator prints the same words.
  const std::string others = ", the other ranks are not there";
  const std::string rank_is = ", rank ";
  std::vector<std::string> ranks;
  std::string world;
  for (const Facts& trace : set.traces) {
    const std::string said = FactText(trace.trace_metadata, "simulated");
    if (!said.ends_with(others)) continue;
    const std::string job = said.substr(0, said.size() - others.size());
    const size_t rank = job.rfind(rank_is);
    const size_t of = job.rfind(" of ");
    if (rank == std::string::npos || of == std::string::npos || of < rank) continue;
    const size_t number = rank + rank_is.size();
    ranks.push_back(Printable(job.substr(number, of - number)));
    world = Printable(job.substr(of));
  }
  ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
  if (ranks.empty()) return "";
  const std::string who =
      ranks.size() == 1
          ? absl::StrCat("rank ", ranks.front(), world, " ran alone: it")
          : absl::StrCat("ranks ", absl::StrJoin(ranks, ", "), world, " ran, each alone: they");
  return who + " cannot show how data or routing of experts differ between ranks";
}

// Describes the memory of NCCL at the peak of a simulated run; this memory is an estimate. Returns
// an empty text if there is none.
std::string NcclShare(const Facts& total) {
  for (const TallyFacts& tally : total.by_library) {
    if (!tally.name.starts_with("libnccl") || tally.at_peak.bytes == 0) continue;
    return absl::StrCat(Bytes(tally.at_peak.bytes),
                        " of the peak: 388 MiB for each communicator, as measured on an H100, and "
                        "NCCL_BUFFSIZE for each of its channels, which is an estimate");
  }
  return "";
}

// Says that the pool served no request. A user who switched the pool on must learn that the driver
// served the requests instead.
std::string NothingServed(const FactSet& set) {
  std::string why;
  for (const Facts& trace : set.traces) {
    if (FactText(trace.trace_metadata, "option.pool") != "on") continue;
    const std::string said = FactText(trace.trace_metadata, "pool.nothing_served");
    if (said.empty()) return "";
    if (why.empty()) why = said;
  }
  return why.empty() ? ""
                     : absl::StrCat("vramstow: THE POOL SERVED NOTHING: ", Printable(why), ".\n");
}

// Says that Python's start-up hook did not run. Without it, no tensors are recorded, and in a
// simulated run values may read as zeros.
std::string WithoutHook(const FactSet& set) {
  for (const Facts& trace : set.traces) {
    const std::string why = FactText(trace.trace_metadata, "python.no_hook");
    if (why.empty()) continue;
    return absl::StrCat(
        "vramstow: PYTORCH WAS NOT SEEN",
        trace.simulated ? ", and results that were not computed read as zeros: " : ": ",
        Printable(why), ", so the start-up hook did not run.\n");
  }
  return "";
}

// Describes a process that caught its out-of-memory error and continued.
std::string WentOn(const Facts& trace) {
  const std::string times = Counted(trace.counts.out_of_memory, "time");
  if (EndOf(trace) == ProgramEnd::kWell) {
    const std::string threads = EndedThreadsInWords(trace);
    return Line(
        "recovered",
        absl::StrCat("memory ran out ", times, ", and the program continued and ended successfully",
                     threads.empty() ? ":" : absl::StrCat(", but ", threads, ":")));
  }
  return Line("recovered",
              absl::StrCat("memory ran out ", times, ", and the program continued; ",
                           Printable(UncaughtError(trace)), " ended it later. Memory ran out:"));
}

// Explains why memory ran out, for the last process that has an explanation. Returns an empty text
// if no process has one.
std::string Story(const FactSet& set) {
  constexpr size_t kIndent = 2;
  TextStyle style;
  style.width -= kIndent;
  for (auto trace = set.traces.rbegin(); trace != set.traces.rend(); ++trace) {
    if (FirstCause(*trace) == nullptr) continue;
    std::string text = WentOnAfterOutOfMemory(*trace) ? WentOn(*trace) : "";
    if (set.traces.size() > 1) {
      text += Line("failed", absl::StrCat(NameOfTrace(*trace), ", at ",
                                          Time(trace->out_of_memory.back().time_ns)));
    }
    for (const absl::string_view line :
         absl::StrSplit(WhySection(*trace, style), '\n', absl::SkipEmpty())) {
      absl::StrAppend(&text, "  ", line, "\n");
    }
    return text;
  }
  return "";
}

// Says what moves to the host cost, and what could be done instead.
std::string CostsAndChanges(const Facts& total) {
  const std::pair<const char*, std::string> lines[] = {{"costs", MovesCostInWords(total)},
                                                       {"instead", HandChangeInWords(total, 0)},
                                                       {"or", HandChangeInWords(total, 1)}};
  std::string text;
  for (const auto& [label, words] : lines) {
    if (!words.empty()) text += Line(label, words);
  }
  return text;
}

// Reports a fault that did not end the job, for example memory that grows. Returns an empty text if
// there is none, or if memory ran out.
std::string FaultOfRun(const FactSet& set) {
  if (set.total.counts.out_of_memory > 0) return "";
  for (const Facts& trace : set.traces) {
    const AdviceFacts* fault = FirstFault(trace);
    if (fault == nullptr) continue;
    const std::string who = set.traces.size() == 1 ? "" : NameOfTrace(trace) + ": ";
    return Line("but", absl::StrCat(who, AdviceTitle(*fault), "; ", Printable(fault->evidence)));
  }
  return "";
}

// Describes a job that ran only because memory was moved to the host, and names the owners of that
// memory.
std::string CarriedStory(const Facts& total) {
  if (!total.offload.carries_job) return "";
  const std::string moved = MostMovedInWords(total.offload);
  return Line("ran",
              absl::StrCat(NeedInWords(total.offload), ". ", CarriedInWords(total.offload))) +
         (moved.empty() ? "" : Line("moved", moved)) + CostsAndChanges(total);
}

// Says what sharing the GPU with other processes did to the job (--share). Returns an empty text if
// the job did not share.
std::string SharedInWords(const FactSet& set) {
  uint64_t turns = 0;
  uint64_t waited_ns = 0;
  uint64_t out_bytes = 0;
  bool is_shared = false;
  for (const Facts& trace : set.traces) {
    uint64_t value = 0;
    if (!absl::SimpleAtoi(FactText(trace.trace_metadata, "share.turns"), &value)) continue;
    is_shared = true;
    turns += value;
    if (absl::SimpleAtoi(FactText(trace.trace_metadata, "share.waited_ns"), &value))
      waited_ns += value;
    if (absl::SimpleAtoi(FactText(trace.trace_metadata, "share.out_bytes"), &value))
      out_bytes += value;
  }
  if (!is_shared) return "";
  // A request may wait for an answer for less than a millisecond although there is room.
  constexpr uint64_t kNoWaitNs = 10'000'000;
  if (out_bytes == 0 && turns == 0 && waited_ns < kNoWaitNs)
    return "no process had to wait for its turn on the GPU";
  return absl::StrCat("the job had ", Counted(turns, "turn"), " on the GPU and waited ",
                      Time(waited_ns), "; ", Bytes(out_bytes),
                      " of its memory moved to the host for other processes");
}

// Says that the device cannot map host memory, if the test before the run has found that.
std::string WhyNothingMoves(const FactSet& set) {
  for (const Facts& trace : set.traces) {
    for (const auto& [key, value] : trace.trace_metadata) {
      if (!key.ends_with(".host_mapping")) continue;
      const HostMapping mapping = ReadHostMapping(value);
      if (mapping.place != HostPlace::kNone) continue;
      return absl::StrCat("no memory was moved by itself, because ",
                          key.substr(0, key.rfind('.')) == "device.0" ? "the device" : "a device",
                          " cannot map host memory: ", Printable(std::string(mapping.reason)));
    }
  }
  return "";
}

// Says what the traces leave open, because something may have happened in a process without being
// recorded. Returns an empty text if all was recorded.
std::string NotKnown(const FactSet& set, const TracePlace& place) {
  const auto trace = std::ranges::find_if(
      set.traces, [](const Facts& one) { return !IsCertain(one) || EndedUnseen(one); });
  if (trace == set.traces.end()) return "";
  const std::string known = KnownPartInWords(*trace);
  const std::string error = Printable(UncaughtError(*trace));
  std::string text;
  if (IsCertain(*trace)) {
    text = "why memory ran out, because no failed request was recorded";
  } else if (trace->counts.out_of_memory > 0) {
    text = "what came after " + Time(trace->end_ns);
  } else {
    text = absl::StrCat("memory did not run out ", known);
  }
  if (!error.empty()) absl::StrAppend(&text, "; ", error, " ended the program");
  return place.command_end.empty() ? text : absl::StrCat(text, "; ", place.command_end);
}

// Says which recordings were not closed, and how the command ended. A command that a signal ended
// may have been killed because the host had no memory left. Returns an empty text if all were
// closed.
std::string Open(const FactSet& set, const TracePlace& place) {
  const std::vector<const Facts*> open = OpenTraces(set);
  if (open.empty()) return "";
  if (set.traces.size() > 1) return Line("open", OpenInWords(set));
  if (place.command_end.empty()) return "";
  return Line("ended", absl::StrCat(place.command_end, "; the recording goes up to ",
                                    Time(open.front()->end_ns)));
}

// Returns the arguments of `vramstow analyze` for all traces of the run.
std::string TracesInShell(const FactSet& set, const TracePlace& place) {
  if (set.traces.size() > 1 && !place.has_others) return ShellWord(place.directory);
  return absl::StrJoin(set.traces, " ", [](std::string* text, const Facts& trace) {
    absl::StrAppend(text, ShellWord(trace.file));
  });
}

// Says how much of the GPU was never used by the process with least room. Returns an empty text if
// that is not known: if a recording is not complete, or if processes shared a GPU and the driver
// was not asked.
std::string RoomOfProcesses(const FactSet& set) {
  const GpuSharers sharers(set.traces);
  const Facts* fullest = nullptr;
  uint64_t least = 0;
  for (const Facts& trace : set.traces) {
    if (!IsCertain(trace)) return "";
    if (trace.peak.allocated_bytes == 0) continue;
    const std::optional<Room> room = RoomOf(sharers, trace);
    if (!room.has_value()) return "";
    if (fullest != nullptr && room->left_bytes >= least) continue;
    fullest = &trace;
    least = room->left_bytes;
  }
  if (fullest == nullptr) return "";
  const std::string words = RoomInWords(sharers, *fullest);
  return set.traces.size() == 1 ? words : absl::StrCat("in ", NameOfTrace(*fullest), ", ", words);
}

// Returns the peak and the number of allocations. If the trace ended early, the text says "at
// least".
std::string PeakAndAllocations(const FactSet& set) {
  const Facts& total = set.total;
  const bool one = set.traces.size() == 1;
  const Peak& peak = total.peak;
  const bool ended_early = !IsCertain(total);
  if (ended_early && peak.allocated_bytes == 0) {
    return Line("peak", "not known: nothing could be recorded");
  }
  const std::string at_least = ended_early ? "at least " : "";
  std::string when = one ? ", at " + Time(peak.time_ns) : ", " + SumOfPeaksInWords(total);
  if (!ended_early && total.counts.out_of_memory == 0) {
    const std::string room = RoomOfProcesses(set);
    if (!room.empty()) absl::StrAppend(&when, "; ", room);
  }
  std::string text =
      Line("peak", absl::StrFormat("%s%s allocated, %s reserved%s", at_least,
                                   Bytes(peak.allocated_bytes), Bytes(peak.reserved_bytes), when));
  const std::string failed = FailuresInWords(total);
  return text +
         Line("allocations",
              absl::StrCat(at_least, Count(total.counts.allocations), ", largest block ",
                           Bytes(total.largest_block_bytes), failed.empty() ? "" : ", " + failed));
}

}  // namespace

std::string RunSummary(const FactSet& set, const TracePlace& place) {
  const Facts& total = set.total;
  const Peak& peak = total.peak;
  const bool one = set.traces.size() == 1;
  const bool simulated = std::any_of(set.traces.begin(), set.traces.end(),
                                     [](const Facts& trace) { return trace.simulated; });
  const auto description = set.traces.front().trace_metadata.find("simulated");
  std::string text = WithoutHook(set) + NothingServed(set);
  text += simulated ? "vramstow: SIMULATED RUN" : "vramstow: device memory of this run";
  if (simulated) {
    if (description != set.traces.front().trace_metadata.end()) {
      text += absl::StrCat(" (", Shortened(Printable(description->second), 110, true), ")");
    }
  }
  text += "\n";
  // The warning about wrong values comes first, because a user might trust them.
  text += NotSimulated(set);
  text += Story(set);
  if (const std::string not_known = NotKnown(set, place); !not_known.empty()) {
    text += Line("not known", not_known);
  } else {
    text += Open(set, place);
  }
  text += FaultOfRun(set);
  text += CarriedStory(total);
  text += PeakAndAllocations(set);
  if (peak.allocated_bytes > 0) text += Line("at the peak", WhoAllocated(total));
  if (const std::string share = simulated ? NcclShare(total) : ""; !share.empty()) {
    text += Line("NCCL", share);
  }
  if (const std::string alone = RanksAlone(set); !alone.empty()) text += Line("ranks", alone);
  if (const std::string others = Others(peak); !others.empty()) {
    text += Line("host memory", others + " at the most");
  }
  if (total.garbage.collections > 0) text += Line("garbage", CollectedInWords(total.garbage));
  if (total.offload.out_bytes > 0) text += Line("offload", MovedInWords(total.offload));
  if (const std::string step = StepInWords(total.model_clock); !step.empty()) {
    text += Line("iteration", step);
  }
  if (const std::string shared = SharedInWords(set); !shared.empty())
    text += Line("shared", shared);
  if (const std::string why = WhyNothingMoves(set); !why.empty()) text += Line("offload", why);
  if (!one) text += Line("processes", Processes(set));
  if (const std::string missing = MissingInShort(set, place.unread); !missing.empty()) {
    text += Line("missing", missing);
  }
  text += Line(one ? "trace" : "traces",
               one ? Printable(set.traces.front().file)
                   : absl::StrCat(Count(set.traces.size()), " in ", Printable(place.directory)));
  text += Line("analyse", "vramstow analyze " + TracesInShell(set, place));
  return text;
}

}  // namespace vramstow
