// vramstow fidelity: rehearses a job beside a memory snapshot of a real card, and says where the
// two part.
#include <cstdlib>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "tools/analysis/fidelity/fidelity.h"
#include "tools/base/progress.h"
#include "tools/base/words.h"
#include "tools/commands/command.h"
#include "tools/commands/command_line.h"
#include "tools/inputs/card_evidence.h"
#include "tools/inputs/open_input.h"
#include "tools/jobs/rehearsal.h"
#include "tools/jobs/run_folder.h"
#include "tools/json/json_value.h"
#include "tools/launch/card_list.h"
#include "tools/launch/end_signals.h"
#include "tools/launch/installation.h"
#include "tools/terminal/output.h"

namespace vramstow {
namespace {

constexpr char kFidelityFooter[] =
    "SNAPSHOT is what torch.cuda.memory._dump_snapshot wrote on a real card. Without --simulate "
    "the "
    "card is\n"
    "the one that the snapshot tells of.\n"
    "\n"
    "Examples:\n"
    "  vramstow fidelity real.pickle -- python job.py\n"
    "  vramstow fidelity real.pickle --simulate=a100 --at-least 99.5 -- python job.py\n"
    "\n"
    "Exit status: 0; 1 if less is aligned than --at-least says, or the result could not be "
    "written; 2 for\n"
    "wrong arguments, and if the command fails; 130 after Ctrl-C (143 after SIGTERM).";

constexpr int kExitLess = 1;
constexpr size_t kMaxItems = 6;  // of one part, in the text
constexpr size_t kMaxTries = 3;

struct FidelitySettings {
  std::string snapshot;
  std::string simulate;
  std::string keep;
  double at_least = 0;
  bool tries = true;
  bool json = false;
  std::vector<std::string> command;
};

// A rehearsal beside the card, on one SPEC.
struct Compared {
  std::string spec;
  FidelityFacts facts;
};

int FidelityIsWrong(const std::string& sentence) {
  Complain("fidelity", Printable(sentence));
  return kExitUsage;
}

// Rehearses the command and compares it with what the card did.
class Comparer {
 public:
  Comparer(const FidelitySettings& settings, std::string folder, AllocationSequence card,
           std::vector<ListedCard> cards)
      : settings_(settings),
        evidence_(EvidenceOf(settings.snapshot)),
        folder_(std::move(folder)),
        card_(std::move(card)),
        cards_(std::move(cards)) {}

  absl::StatusOr<Compared> On(const std::string& spec) {
    const std::string folder = absl::StrCat(folder_, "/", ++runs_);
    Progress::OfProcess().Begin(absl::StrCat("rehearsal on ", spec));
    const auto rehearsal = Rehearse(
        settings_.command, {{"VRAMSTOW_SIMULATE", spec}, {"VRAMSTOW_STACKS", "sites"}}, folder);
    if (!rehearsal.ok()) return rehearsal.status();
    if (rehearsal->exit_status != 0) {
      return absl::FailedPreconditionError(absl::StrCat("the command failed with exit status ",
                                                        rehearsal->exit_status, ": ",
                                                        LastLineOf(rehearsal->output, 300)));
    }
    auto source = OpenEvents(rehearsal->facts.file);
    if (!source.ok()) return source.status();
    const AllocationSequence rehearsed = SequenceOf(source->get());
    if (rehearsed.items.empty()) {
      return absl::FailedPreconditionError(
          "the rehearsal tells of no tensors: the command has to use PyTorch, and vramstow has to "
          "see its tensors (see vramstow doctor).");
    }
    return Compared{spec, CompareSequences(card_, rehearsed,
                                           {MultiprocessorsOf(cards_, spec),
                                            PossibleMultiprocessors(cards_, evidence_)})};
  }

 private:
  // Nothing where it is a file of another kind.
  static CardEvidence EvidenceOf(const std::string& file) {
    return ReadCardEvidence(file).value_or(CardEvidence());
  }

  const FidelitySettings& settings_;
  const CardEvidence evidence_;
  const std::string folder_;
  const AllocationSequence card_;
  const std::vector<ListedCard> cards_;
  uint64_t runs_ = 0;
};

std::string Percent(double share) { return absl::StrFormat("%.2f%%", 100 * share); }

std::string ItemsText(const std::vector<SequenceItem>& items) {
  if (items.empty()) return "nothing";
  std::vector<std::string> words;
  for (const SequenceItem& item : items) {
    if (words.size() == kMaxItems) {
      words.push_back(absl::StrCat("… ", items.size() - kMaxItems, " more"));
      break;
    }
    words.push_back(absl::StrCat(item.is_free ? "free " : "", item.bytes, " B"));
  }
  return absl::StrJoin(words, ", ");
}

std::string PartText(const SequencePart& part) {
  std::string text = absl::StrFormat("  %s, first before the card's event %s\n",
                                     Counted(part.times, "time"), Count(part.first_event));
  const auto line = [&text](const char* who, const std::vector<SequenceItem>& items,
                            const std::string& site) {
    absl::StrAppendFormat(&text, "    %-10s %s%s\n", who, ItemsText(items),
                          site.empty() ? "" : "   " + Printable(site));
  };
  line("card", part.on_card, part.card_site);
  line("rehearsal", part.rehearsed, part.rehearsed_site);
  return text;
}

std::string SizesText(const char* label, uint64_t card, uint64_t rehearsed) {
  const double off =
      card == 0 ? 0 : 100 * (static_cast<double>(rehearsed) / static_cast<double>(card) - 1);
  return absl::StrFormat("  %-10s %s on the card, %s in the rehearsal (%+.2f%%)\n", label,
                         Bytes(card), Bytes(rehearsed), off);
}

std::string SegmentSizesText(const std::map<uint64_t, uint64_t>& sizes) {
  std::vector<std::string> words;
  for (auto size = sizes.rbegin(); size != sizes.rend(); ++size) {
    if (words.size() == kMaxItems) {
      words.push_back(absl::StrCat("… ", sizes.size() - kMaxItems, " more sizes"));
      break;
    }
    words.push_back(absl::StrCat(size->second, " of ", Bytes(size->first)));
  }
  return words.empty() ? "none" : absl::StrJoin(words, ", ");
}

std::string HeldText(const HeldMemory& held) {
  if (!held.is_known) return "  reserved   not compared: the snapshot tells of no segments\n";
  std::string text = SizesText("reserved", held.card_peak_bytes, held.rehearsed_peak_bytes);
  if (held.has_parts) return text;
  absl::StrAppendFormat(&text, "  %-10s %s on the card, %s in the rehearsal", "segments",
                        Count(held.card_segments), Count(held.rehearsed_segments));
  if (!held.only_on_card.empty() || !held.only_rehearsed.empty()) {
    absl::StrAppendFormat(&text, "; only on the card: %s; only in the rehearsal: %s",
                          SegmentSizesText(held.only_on_card),
                          SegmentSizesText(held.only_rehearsed));
  }
  return text + "\n";
}

std::string TryText(const Compared& compared, const Compared& other) {
  const bool is_better = other.facts.LeftOver() < compared.facts.LeftOver();
  return absl::StrFormat("tried %s: %s aligned%s\n", Printable(other.spec),
                         Percent(other.facts.AlignedShare()), is_better ? "" : ", no better");
}

std::string FidelityText(const Compared& compared, const std::vector<Compared>& tried) {
  const FidelityFacts& facts = compared.facts;
  std::string text = absl::StrFormat(
      "%s\n  %-10s %s of %s events aligned by size and order (%s); %s only on the card, %s only in "
      "the rehearsal\n",
      Printable(compared.spec), "events", Count(facts.aligned), Count(facts.card_events),
      Percent(facts.AlignedShare()), Count(facts.only_on_card), Count(facts.only_rehearsed));
  text += SizesText("peak", facts.card_peak_bytes, facts.rehearsed_peak_bytes);
  text += HeldText(facts.held);
  if (facts.other_release.has_value()) {
    const MovedFunction& moved = *facts.other_release;
    absl::StrAppendFormat(&text, "  %-10s another one: %s:%d %s on the card, line %d here\n",
                          "PyTorch", Printable(moved.file), moved.card_line,
                          Printable(moved.function), moved.rehearsed_line);
  }
  if (facts.window_begin > 0 || facts.window_end < facts.rehearsed_events) {
    absl::StrAppendFormat(
        &text, "  %-10s the card's recording is the rehearsal's events %s to %s of %s\n", "part",
        Count(facts.window_begin), Count(facts.window_end), Count(facts.rehearsed_events));
  }
  if (!facts.is_longest) text += "  they differ much: a part was aligned greedily\n";
  if (!facts.parts.empty()) text += "where they part:\n";
  for (const SequencePart& part : facts.parts) text += PartText(part);
  if (facts.parts_left_out > 0) {
    absl::StrAppendFormat(&text, "  and in %s more ways\n", Count(facts.parts_left_out));
  }
  if (!facts.causes.empty()) text += "what would explain it:\n";
  for (const SequenceCause& cause : facts.causes) {
    absl::StrAppendFormat(&text, "  %-18s %s: %s\n", cause.setting, Counted(cause.events, "event"),
                          cause.sentence);
  }
  for (const Compared& other : tried) text += TryText(compared, other);
  return text;
}

JsonValue FidelityJson(const std::vector<SequenceItem>& items) {
  JsonValue array = JsonValue::Array();
  for (const SequenceItem& item : items) {
    array.Append(JsonValue::Object({{"is_free", item.is_free}, {"bytes", item.bytes}}));
  }
  return array;
}

JsonValue HeldJson(const HeldMemory& held) {
  if (!held.is_known) return nullptr;
  const auto sizes = [](const std::map<uint64_t, uint64_t>& of) {
    JsonValue array = JsonValue::Array();
    for (const auto& [size, count] : of) {
      array.Append(JsonValue::Object({{"bytes", size}, {"count", count}}));
    }
    return array;
  };
  return JsonValue::Object({{"card_peak_bytes", held.card_peak_bytes},
                            {"rehearsed_peak_bytes", held.rehearsed_peak_bytes},
                            {"card_segments", held.card_segments},
                            {"rehearsed_segments", held.rehearsed_segments},
                            {"only_on_card", sizes(held.only_on_card)},
                            {"only_rehearsed", sizes(held.only_rehearsed)}});
}

JsonValue OtherReleaseJson(const std::optional<MovedFunction>& moved) {
  if (!moved.has_value()) return nullptr;
  return JsonValue::Object({{"file", moved->file},
                            {"function", moved->function},
                            {"card_line", moved->card_line},
                            {"rehearsed_line", moved->rehearsed_line}});
}

JsonValue FidelityJson(const Compared& compared) {
  const FidelityFacts& facts = compared.facts;
  JsonValue json = JsonValue::Object({{"simulate", compared.spec},
                                      {"card_events", facts.card_events},
                                      {"rehearsed_events", facts.rehearsed_events},
                                      {"window_begin", facts.window_begin},
                                      {"window_end", facts.window_end},
                                      {"aligned", facts.aligned},
                                      {"aligned_share", facts.AlignedShare()},
                                      {"only_on_card", facts.only_on_card},
                                      {"only_rehearsed", facts.only_rehearsed},
                                      {"is_longest", facts.is_longest},
                                      {"card_peak_bytes", facts.card_peak_bytes},
                                      {"rehearsed_peak_bytes", facts.rehearsed_peak_bytes},
                                      {"reserved", HeldJson(facts.held)},
                                      {"other_release", OtherReleaseJson(facts.other_release)},
                                      {"parts_left_out", facts.parts_left_out},
                                      {"parts", JsonValue::Array()},
                                      {"causes", JsonValue::Array()}});
  for (const SequencePart& part : facts.parts) {
    json["parts"].Append(JsonValue::Object({{"times", part.times},
                                            {"first_event", part.first_event},
                                            {"card", FidelityJson(part.on_card)},
                                            {"rehearsed", FidelityJson(part.rehearsed)},
                                            {"card_site", part.card_site},
                                            {"rehearsed_site", part.rehearsed_site}}));
  }
  for (const SequenceCause& cause : facts.causes) {
    json["causes"].Append(
        JsonValue::Object({{"setting", cause.setting},
                           {"sentence", cause.sentence},
                           {"spec", cause.specs.empty() ? "" : cause.specs.front()},
                           {"events", cause.events}}));
  }
  return json;
}

int Print(const FidelitySettings& settings, const Compared& compared,
          const std::vector<Compared>& tried) {
  JsonValue json = FidelityJson(compared);
  json["schema"] = JsonValue::Object({{"name", "vramstow.fidelity"}, {"version", 1}});
  json["tried"] = JsonValue::Array();
  for (const Compared& other : tried) json["tried"].Append(FidelityJson(other));
  const int printed =
      PrintResult("fidelity", settings.json ? json.Dump() + "\n" : FidelityText(compared, tried));
  if (printed != kExitOk) return printed;
  return 100 * compared.facts.AlignedShare() < settings.at_least ? kExitLess : kExitOk;
}

// Rehearses again with what would explain a difference, until a cause has proved right. What was
// tried in vain is no cause.
absl::Status TryCauses(Comparer* comparer, Compared* compared, std::vector<Compared>* tried) {
  for (SequenceCause& cause : compared->facts.causes) {
    for (const std::string& spec : std::vector<std::string>(cause.specs)) {
      if (tried->size() == kMaxTries) break;
      auto other = comparer->On(absl::StrCat(compared->spec, ",", spec));
      if (absl::IsCancelled(other.status())) return absl::OkStatus();  // what is known is printed
      if (!other.ok()) return other.status();
      const bool helps = other->facts.LeftOver() < compared->facts.LeftOver();
      tried->push_back(*std::move(other));
      cause.is_vain = !helps;
      if (!helps) continue;
      cause.specs = {spec};
      break;
    }
  }
  DropVainCauses(&compared->facts.causes);
  return absl::OkStatus();
}

int CompareWith(const FidelitySettings& settings, const Installation& installation,
                const std::string& spec, AllocationSequence card) {
  const RunFolder folder(settings.keep);
  if (!folder.ok()) return FidelityIsWrong("cannot make a folder for the traces.");
  auto cards = ListCards(installation.simulator_directory);
  if (!cards.ok()) return FidelityIsWrong(std::string(cards.status().message()));
  Comparer comparer(settings, folder.path(), std::move(card), *std::move(cards));
  auto compared = comparer.On(spec);
  if (absl::IsCancelled(compared.status())) {
    Complain("fidelity", "interrupted before anything was known.");
    return EndSignals::exit_status();
  }
  if (!compared.ok()) return FidelityIsWrong(std::string(compared.status().message()));
  std::vector<Compared> tried;
  if (settings.tries) {
    const absl::Status status = TryCauses(&comparer, &*compared, &tried);
    if (!status.ok()) return FidelityIsWrong(std::string(status.message()));
  }
  const int status = Print(settings, *compared, tried);
  if (EndSignals::taken() == 0) return status;
  Complain("fidelity", "interrupted before all causes were tried.");
  return EndSignals::exit_status();
}

}  // namespace

int FidelityCommand(const std::vector<std::string>& arguments) {
  FidelitySettings settings;
  bool no_tries = false;
  const CommandLine line{
      .command = "fidelity",
      .summary =
          "Rehearses a job beside a memory snapshot of a real card: how much of what the card did "
          "the rehearsal\ndid, too, where they part, and which setting would explain it.",
      .footer = kFidelityFooter,
      .options = {
          {"SNAPSHOT", &settings.snapshot, "A PyTorch memory snapshot", {.required = true}},
          {"--simulate",
           &settings.simulate,
           "The card, as for vramstow run; without it the one that the snapshot tells of",
           {.takes_no_file = true}},
          {"--at-least",
           &settings.at_least,
           "Fail if less percent of the events are aligned",
           {.range = OptionRange{0, 100}}},
          {"--no-tries", &no_tries, "Do not rehearse again with what would explain a difference"},
          {"--keep", &settings.keep, "A folder that keeps traces and output"},
          {"--json", &settings.json, "Print JSON on one line"},
          {"COMMAND", &settings.command, "The command to rehearse, after --", {.required = true}}}};
  if (const auto status = ReadArguments(line, arguments)) return *status;
  settings.tries = !no_tries;
  auto source = OpenEvents(settings.snapshot);
  if (!source.ok()) return FidelityIsWrong(std::string(source.status().message()));
  AllocationSequence card = SequenceOf(source->get());
  if (card.items.empty()) {
    return FidelityIsWrong(absl::StrCat(settings.snapshot,
                                        " has no allocations: record them with "
                                        "torch.cuda.memory._record_memory_history()."));
  }
  const auto installation = FindInstallation();
  if (!installation.ok()) return FidelityIsWrong(std::string(installation.status().message()));
  std::string why;
  const std::string asked =
      settings.simulate.empty() ? kMatchSpec + settings.snapshot : settings.simulate;
  const auto spec = ResolveMatch(asked, installation->simulator_directory, &why);
  if (!spec.ok()) return FidelityIsWrong(std::string(spec.status().message()));
  if (!why.empty()) Complain("fidelity", Printable(why));
  return CompareWith(settings, *installation, *spec, std::move(card));
}

}  // namespace vramstow
