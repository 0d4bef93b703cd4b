// Writes three sections: on memory that was moved to the host, on jobs that ran only because of
// such moves, and on the time of an iteration by the simulated GPU's clock.
#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "tools/base/link.h"
#include "tools/base/words.h"
#include "tools/report/sections.h"

namespace vramstow {
namespace {

uint64_t Nanoseconds(double seconds) { return static_cast<uint64_t>(seconds * 1e9 + 0.5); }

bool IsTooSmall(const OffloadFacts& offload) { return offload.needed_bytes > offload.card_bytes; }

// True if memory moved because the pool had reached a limit, whether or not the GPU was full.
bool IsLimited(const OffloadFacts& offload) { return offload.limit() != 0; }

// Returns a text like " (--limit=300MiB)" that says what set the limit; empty if it is unknown.
std::string LimitPlace(const OffloadFacts& offload) {
  const std::string& place = offload.limit_place;
  if (place.empty()) return "";
  const bool is_named = place.starts_with("--limit") || place.starts_with("per_process");
  return absl::StrCat(" (", is_named ? "" : "torch.cuda.set_per_process_memory_fraction() at ",
                      Printable(place), ")");
}

std::string ChangeInWords(const HandChange& change) {
  if (change.change == "checkpoint_layers") {
    const bool is_all = change.count == change.layers;
    return absl::StrCat(
        "Put torch.utils.checkpoint around ",
        is_all ? "each of the " : absl::StrCat(change.count, " of the "), change.layers,
        " repeated layers",
        change.place.empty() ? "" : absl::StrCat(" (", Printable(change.place), ")"),
        ", so that the backward pass computes ", change.count == 1 ? "it" : "them", " again");
  }
  if (change.change == "micro_batches") {
    return absl::StrCat("Divide each batch into ", change.count,
                        " micro-batches, and call the optimizer's step after the last one");
  }
  if (change.change == "state_on_host") {
    return absl::StrCat("Keep ", Bytes(change.moved_bytes),
                        " of the optimizer's state in host memory, and copy it to the GPU for each "
                        "step of the optimizer and back");
  }
  if (change.change == "state_in_8_bits") {
    return "Use an optimizer that stores its state in 8 bits";
  }
  return "Put the forward pass and the loss under torch.autocast(\"cuda\", dtype=torch.bfloat16)";
}

// Says how much longer a change makes an iteration, compared with the cost of offload.
std::string TimeInWords(const Facts& facts, const HandChange& change) {
  if (!facts.model_clock.known()) {
    return " Run the job on a simulated GPU with clock=model to see how much time this costs.";
  }
  if (!change.seconds.has_value()) return " The model does not show how much time this costs.";
  const uint64_t cost_ns = Nanoseconds(*change.seconds);
  if (cost_ns == 0) return " It does not make an iteration longer.";
  const std::optional<double>& moves = facts.offload.step_cost_seconds;
  const std::string longer =
      absl::StrCat(" It makes an iteration about ", Time(cost_ns), " longer");
  if (!moves.has_value()) return longer + ".";
  return absl::StrCat(longer,
                      *moves < *change.seconds ? ", which is more than the " : ", instead of the ",
                      Time(Nanoseconds(*moves)), " that offload costs.");
}

}  // namespace

std::string MovedInWords(const OffloadFacts& offload) {
  // If the clock of the simulated GPU gives the cost of moves, the sentence about the usual
  // transfer speed is left out.
  const std::string at_usual_speed =
      offload.step_cost_seconds.has_value()
          ? ""
          : absl::StrCat(" (about ", Time(LinkNs(offload.out_bytes + offload.returned_bytes)),
                         " at 24 GiB/s)");
  return absl::StrFormat("%s to the host, %s back%s; submissions waited %s, at most %s at once",
                         Bytes(offload.out_bytes), Bytes(offload.returned_bytes), at_usual_speed,
                         Time(offload.gate_ns), Time(offload.longest_gate_ns));
}

// Lists the call sites whose memory was evicted to the host, most bytes first.
std::string OffloadedSites(const OffloadFacts& offload) {
  constexpr size_t kMax = 5;
  std::string text;
  for (size_t i = 0; i < std::min(offload.sites.size(), kMax); ++i) {
    const OffloadSite& site = offload.sites[i];
    absl::StrAppend(&text, "    ", Bytes(site.bytes), " of ", Printable(site.site),
                    site.operation.empty() ? "" : absl::StrCat(", ", Printable(site.operation)),
                    "\n");
  }
  return text;
}

std::string NeedInWords(const OffloadFacts& offload) {
  if (!offload.carries_job) return "";
  if (IsLimited(offload)) {
    return absl::StrCat("A process of this job may hold ", Bytes(offload.limit()),
                        " of GPU memory");
  }
  if (!IsTooSmall(offload)) {
    return absl::StrCat("This job went on because ", Bytes(offload.most_bytes),
                        " were moved to the host");
  }
  return absl::StrCat("This job needs ", Bytes(offload.needed_bytes),
                      " of GPU memory; the GPU has ", Bytes(offload.card_bytes));
}

std::string CarriedInWords(const OffloadFacts& offload) {
  if (!offload.carries_job) return "";
  if (IsLimited(offload)) {
    return absl::StrCat("This limit", LimitPlace(offload), " was reached, and ",
                        Bytes(offload.most_bytes), " were moved to the host. The job needs ",
                        Bytes(offload.needed_bytes), " of GPU memory; the GPU has ",
                        Bytes(offload.card_bytes), ".");
  }
  return IsTooSmall(offload) ? absl::StrCat("It went on because ", Bytes(offload.most_bytes),
                                            " were moved to the host.")
                             : "The GPU had no free memory for them when the job requested more.";
}

std::string MostMovedInWords(const OffloadFacts& offload) {
  constexpr size_t kMax = 3;
  std::string text;
  for (size_t i = 0; i < std::min(offload.sites.size(), kMax); ++i) {
    const OffloadSite& site = offload.sites[i];
    absl::StrAppend(
        &text, i == 0 ? "" : ", ", Bytes(site.bytes), " made at ", Printable(site.site),
        site.operation.empty() ? "" : absl::StrCat(" (", Printable(site.operation), ")"));
  }
  return text.empty() ? "" : text + "; all moves of the job together.";
}

std::string MovesCostInWords(const Facts& facts) {
  const std::optional<double>& cost = facts.offload.step_cost_seconds;
  if (!cost.has_value() || !facts.model_clock.known()) return "";
  const std::string usual = Time(Nanoseconds(facts.model_clock.step_seconds));
  const std::string mean = Time(Nanoseconds(facts.model_clock.mean_seconds));
  return absl::StrCat("Offload costs about ", Time(Nanoseconds(*cost)), " of the ", mean,
                      " that an iteration takes", mean == usual ? "." : " on average.");
}

std::string HandChangeInWords(const Facts& facts, size_t number) {
  const std::vector<HandChange>& changes = facts.offload.by_hand;
  if (!facts.offload.carries_job || number >= changes.size()) return "";
  const HandChange& change = changes[number];
  // The best change is reported even if the job would still need moves to the host with this
  // change.
  if (!change.fits && number > 0) return "";
  std::string text =
      absl::StrCat(ChangeInWords(change), ". The job then needs about ", Bytes(change.needed_bytes),
                   change.fits                ? ", which fits without offload (in vramstow's pool)."
                   : IsLimited(facts.offload) ? ", which is still more than the limit allows."
                                              : ", which is still more than the GPU has.");
  absl::StrAppend(&text, change.changes_numbers ? " It rounds numbers differently." : "",
                  TimeInWords(facts, change));
  return text;
}

std::string StepInWords(const ModelClockFacts& clock) {
  if (!clock.known()) return "";
  const bool is_uneven = clock.is_uneven();
  const std::string usual = Time(Nanoseconds(clock.step_seconds));
  std::string text =
      is_uneven ? absl::StrCat(
                      "Iterations differ: one takes ", Time(Nanoseconds(clock.mean_seconds)),
                      " on average by the model of the GPU, and half of them take at most ", usual)
                : absl::StrCat("An iteration takes ", usual, " by the model of the GPU");
  const uint64_t held_ns = Nanoseconds(is_uneven ? clock.mean_wait_seconds : clock.wait_seconds);
  if (held_ns != 0) {
    absl::StrAppend(&text, "; for ", Time(held_ns), " of ", is_uneven ? "the mean" : "this time",
                    " work waits while memory moves");
  }
  constexpr uint64_t kLeastShown = 1 << 20;  // a loss that the program reads takes some bytes
  const std::pair<uint64_t, const char*> moved[] = {
      {is_uneven ? clock.mean_link_read_bytes : clock.link_read_bytes,
       " are used directly on the host"},
      {is_uneven ? clock.mean_out_bytes : clock.out_bytes, " are copied to the host"},
      {is_uneven ? clock.mean_in_bytes : clock.in_bytes, " are copied to the GPU"}};
  std::vector<std::string> parts;
  for (const auto& [bytes, what] : moved) {
    if (bytes >= kLeastShown) parts.push_back(Bytes(bytes) + what);
  }
  if (parts.empty()) return text + ".";
  return absl::StrCat(text, is_uneven ? ". In a mean iteration " : ". In it ",
                      absl::StrJoin(parts, ", "), ".");
}

}  // namespace vramstow
