// vramstow replay: replays the requests of a recorded run with models of other allocators.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <future>
#include <limits>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/units.h"
#include "tools/base/link.h"
#include "tools/base/progress.h"
#include "tools/base/words.h"
#include "tools/commands/command.h"
#include "tools/commands/command_line.h"
#include "tools/commands/output_check.h"
#include "tools/inputs/open_input.h"
#include "tools/json/json_value.h"
#include "tools/replay/replay.h"
#include "tools/report/text_table.h"
#include "tools/terminal/output.h"
#include "tools/terminal/output_file.h"

namespace vramstow {
namespace {

using Align = Table::Align;

struct Result {
  Requests requests;
  uint64_t memory = 0;             // the limit of a model; 0 if there is none
  bool memory_is_of_card = false;  // the limit is from the recording of a failed job
  std::vector<ModelOutcome> models;
  std::vector<ModelOutcome> searched;  // the best model comes first
  ReplayBounds bounds;
};

// Runs two models at a time, because the machine also has other work.
std::vector<ModelOutcome> RunAll(const Requests& requests, const std::vector<ModelSpec>& specs,
                                 const ReplayOptions& options) {
  std::vector<ModelOutcome> outcomes;
  for (size_t i = 0; i < specs.size(); i += 2) {
    Progress::OfProcess().Begin(absl::StrCat("asking ", specs[i].name), i, specs.size());
    std::future<ModelOutcome> other;
    if (i + 1 < specs.size()) {
      other = std::async(std::launch::async,
                         [&, i] { return Replay(requests, specs[i + 1], options); });
    }
    outcomes.push_back(Replay(requests, specs[i], options));
    if (other.valid()) outcomes.push_back(other.get());
  }
  return outcomes;
}

bool IsBetter(const ModelOutcome& a, const ModelOutcome& b) {
  if (a.out_of_memory != b.out_of_memory) return a.out_of_memory < b.out_of_memory;
  if (a.peak_reserved != b.peak_reserved) return a.peak_reserved < b.peak_reserved;
  return a.device_calls < b.device_calls;
}

std::string ConfOf(const ModelOutcome& outcome) {
  const size_t colon = outcome.name.find(':');
  std::string conf = colon == std::string::npos ? "" : outcome.name.substr(colon + 1);
  if (outcome.name.starts_with("expandable")) {
    conf = absl::StrCat("expandable_segments:True", conf.empty() ? "" : ",", conf);
  }
  return conf;
}

void AddRows(const std::vector<ModelOutcome>& outcomes, uint64_t load, Table* table) {
  for (const ModelOutcome& outcome : outcomes) {
    table->AddRow({Printable(outcome.name), Bytes(outcome.peak_reserved),
                   Ratio(outcome.peak_reserved, load), Count(outcome.device_calls),
                   Time(outcome.stall_ns),
                   outcome.out_of_memory == 0
                       ? ""
                       : absl::StrCat(Count(outcome.out_of_memory), ", does not serve it")});
  }
}

// Returns a text about the memory that was transferred. The transfer time includes moves and reads.
std::string TrafficText(const std::vector<ModelOutcome>& outcomes) {
  Table table(
      {Align::kLeft, Align::kRight, Align::kRight, Align::kRight, Align::kRight, Align::kRight});
  table.AddRow({"policy", "moved out", "moved back", "read on the host", "touches there",
                "time on the link"});
  for (const ModelOutcome& outcome : outcomes) {
    if (!outcome.traffic) continue;
    const OffloadTraffic& traffic = *outcome.traffic;
    table.AddRow({Printable(outcome.name), Bytes(traffic.out_bytes), Bytes(traffic.in_bytes),
                  Bytes(traffic.read_bytes),
                  absl::StrCat(Count(traffic.reads), " of ", Count(traffic.touches)),
                  Time(LinkNs(traffic.bytes()))});
  }
  return absl::StrCat("\nLive memory on the host, at 24 GiB/s:\n", table.Text(0));
}

// Says to try the settings. Of those with an option that only newer releases of PyTorch have, the
// best ones without it are named, too. A trace does not tell the release.
std::string TryText(const Result& result, const ModelOutcome& outcome) {
  constexpr char kVariable[] = "PYTORCH_CUDA_ALLOC_CONF=";  // all releases read this name
  constexpr char kNewOption[] = "large_segment_size_mb";
  const auto is_new = [&](const ModelOutcome& one) {
    return absl::StrContains(ConfOf(one), kNewOption);
  };
  std::string text = absl::StrCat("Try: ", kVariable, ConfOf(outcome), "\n");
  if (!is_new(outcome)) return text;
  absl::StrAppend(&text, kNewOption, " needs PyTorch 2.11 or newer");
  const auto defaults = std::ranges::find_if(
      result.searched, [](const ModelOutcome& other) { return ConfOf(other).empty(); });
  const auto older = std::ranges::find_if(result.searched, [&](const ModelOutcome& other) {
    return other.out_of_memory == 0 && !is_new(other) && !ConfOf(other).empty() &&
           (defaults == result.searched.end() || IsBetter(other, *defaults));
  });
  if (older != result.searched.end()) {
    absl::StrAppend(&text, "; with an older one, try ", kVariable, ConfOf(*older));
  }
  return text + ".\n";
}

// Says which settings to try, according to the search. If the job ran out of memory, the settings
// that serve it are listed separately.
std::string WhatToTry(const Result& result) {
  const bool died = result.requests.failed > 0;
  const auto serves = [](const ModelOutcome& outcome) { return outcome.out_of_memory == 0; };
  const ModelOutcome& best = result.searched.front();
  if (!serves(best)) {
    return absl::StrCat("None of them serves all requests",
                        result.memory == 0 ? "" : absl::StrCat(" with ", Bytes(result.memory)),
                        ": at least ", Bytes(result.bounds.maximum_load),
                        " live at once. Try: a smaller batch, or vramstow run --offload.\n");
  }
  if (!died) return ConfOf(best).empty() ? "Try: the defaults\n" : TryText(result, best);
  const auto other = std::ranges::find_if(result.searched, [&](const ModelOutcome& outcome) {
    return serves(outcome) && !ConfOf(outcome).empty();
  });
  if (other != result.searched.end()) return TryText(result, *other);
  return "The defaults alone serve it here, but the job ran out of memory: something else used a "
         "part of\nthe GPU. vramstow analyze says what.\n";
}

// Says in a sentence which calls of empty_cache() are not sure; empty if all are.
std::string GuessesText(const Requests& requests) {
  const uint64_t guesses = requests.guessed_flushes;
  if (guesses == 0) return "";
  return absl::StrCat(
      "Cached memory was released ", Counted(guesses, "time"),
      " without a call stack. This counts as torch.cuda.empty_cache(), but an allocator with a "
      "limit may also have made room. vramstow run --stacks=all records who released it.");
}

std::string ReplayText(const Result& result) {
  const uint64_t memory = result.memory;
  const Requests& requests = result.requests;
  std::string text =
      absl::StrCat(Counted(requests.blocks, "allocation"), " on device ", requests.device, ", ",
                   requests.layer == Layer::kFramework ? "as the framework requested them"
                                                       : "as they reached the driver",
                   memory == 0 ? "" : absl::StrCat(", with ", Bytes(memory)),
                   result.memory_is_of_card ? " as the job had on its card" : "", "\n");
  if (requests.failed > 0) {
    absl::StrAppend(&text, "The job ran out of memory ", Counted(requests.failed, "time"),
                    memory == 0 ? "; the memory of the GPU is not known: give --memory.\n" : ".\n");
  }
  text += "\n";
  Table table(
      {Align::kLeft, Align::kRight, Align::kRight, Align::kRight, Align::kRight, Align::kRight});
  table.AddRow(
      {"model", "peak reserved", "÷ load", "driver calls", "stall (assumed)", "out of memory"});
  const uint64_t load = result.bounds.maximum_load;
  AddRows(result.models, load, &table);
  table.AddRow({"best static packing", Bytes(result.bounds.static_packing),
                Ratio(result.bounds.static_packing, load), "", "", ""});
  table.AddRow({"maximum load", Bytes(load), Ratio(load, load), "", "", ""});
  text += table.Text(0);
  const bool moves = std::ranges::any_of(
      result.models, [](const ModelOutcome& outcome) { return outcome.traffic.has_value(); });
  if (moves) text += TrafficText(result.models);
  if (!result.searched.empty()) {
    Table found(
        {Align::kLeft, Align::kRight, Align::kRight, Align::kRight, Align::kRight, Align::kRight});
    const size_t most = std::min<size_t>(result.searched.size(), 5);
    AddRows({result.searched.begin(), result.searched.begin() + static_cast<std::ptrdiff_t>(most)},
            load, &found);
    absl::StrAppend(&text, "\nBest settings of PyTorch's allocator among ", result.searched.size(),
                    " tried:\n", found.Text(0), WhatToTry(result));
  }
  if (const std::string guesses = GuessesText(requests); !guesses.empty()) {
    absl::StrAppend(&text, "\n", WrappedLines(guesses, 95), "\n");
  }
  if (requests.layer != Layer::kFramework) {
    text +=
        "\nThese are the requests that reached the driver. If the job's framework caches "
        "memory,\nrecord the requests to the framework: a memory snapshot of PyTorch contains "
        "them.\n";
  }
  return text;
}

JsonValue ModelJson(const ModelOutcome& outcome) {
  JsonValue calls = JsonValue::Object();
  for (int i = 0; i < kDeviceCalls; ++i) {
    calls[DeviceCallName(static_cast<DeviceCall>(i))] = outcome.calls[static_cast<size_t>(i)];
  }
  JsonValue json =
      JsonValue::Object({{"name", outcome.name},
                         {"peak_reserved_bytes", outcome.peak_reserved},
                         {"peak_allocated_bytes", outcome.peak_allocated},
                         {"allocated_bytes_at_peak_reserved", outcome.allocated_at_peak},
                         {"device_calls", outcome.device_calls},
                         {"calls", std::move(calls)},
                         {"assumed_stall_ns", outcome.stall_ns},
                         {"out_of_memory", outcome.out_of_memory},
                         {"first_out_of_memory_event", nullptr}});
  if (outcome.out_of_memory != 0) json["first_out_of_memory_event"] = outcome.first_out_of_memory;
  if (outcome.traffic) {
    const OffloadTraffic& traffic = *outcome.traffic;
    json["offload"] = JsonValue::Object({{"out_bytes", traffic.out_bytes},
                                         {"returned_bytes", traffic.in_bytes},
                                         {"read_bytes", traffic.read_bytes},
                                         {"touches_on_host", traffic.reads},
                                         {"touches", traffic.touches},
                                         {"link_ns", LinkNs(traffic.bytes())},
                                         {"gate_ns", traffic.gate_ns}});
  }
  return json;
}

JsonValue RequestsJson(const Requests& requests) {
  return JsonValue::Object({{"allocations", requests.blocks},
                            {"device", requests.device},
                            {"layer", LayerName(requests.layer)},
                            {"streams", requests.streams},
                            {"private_pools", requests.pools - 1},
                            {"failed", requests.failed},
                            {"touches", requests.touches},
                            {"frees_of_unseen", requests.frees_of_unseen},
                            {"on_other_devices", requests.other_devices}});
}

std::string ReplayJson(const Result& result) {
  JsonValue json = JsonValue::Object(
      {{"schema", JsonValue::Object({{"name", "vramstow.replay"}, {"version", 1}})},
       {"requests", RequestsJson(result.requests)},
       {"memory_bytes", nullptr},
       {"memory_is_of_card", result.memory_is_of_card},
       {"models", JsonValue::Array()},
       {"bounds", JsonValue::Object({{"maximum_load_bytes", result.bounds.maximum_load},
                                     {"static_packing_bytes", result.bounds.static_packing},
                                     {"searched", result.bounds.searched}})},
       {"missing", result.requests.missing}});
  if (result.memory != 0) json["memory_bytes"] = result.memory;
  if (const std::string guesses = GuessesText(result.requests); !guesses.empty()) {
    json["missing"].Append(guesses);
  }
  for (const ModelOutcome& outcome : result.models) json["models"].Append(ModelJson(outcome));
  if (!result.searched.empty()) {
    JsonValue& search = json["search"];
    search["settings"] = ConfOf(result.searched.front());
    search["serves"] = result.searched.front().out_of_memory == 0;
    search["models"] = JsonValue::Array();
    for (const ModelOutcome& outcome : result.searched) {
      search["models"].Append(ModelJson(outcome));
    }
  }
  return json.Dump() + "\n";
}

// Writes the steps of all models, one on each line.
bool WriteSteps(const std::string& path, const Result& result) {
  std::string text = "model,request,event,call,address,bytes,stream\n";
  for (const ModelOutcome& outcome : result.models) {
    for (const DeviceStep& step : outcome.steps) {
      absl::StrAppendFormat(&text, "\"%s\",%d,%d,%s,0x%x,%d,%d\n", outcome.name, step.request,
                            result.requests.list[step.request].event, DeviceCallName(step.call),
                            step.address, step.bytes, step.stream);
    }
  }
  return WriteOutputFile(path, text);
}

// Says in a sentence what a model needs and the recording lacks; empty if nothing.
std::string LackingFor(const std::vector<ModelSpec>& specs, const Requests& requests,
                       const ReplayOptions& how) {
  const bool offload = std::ranges::any_of(
      specs, [](const ModelSpec& spec) { return spec.kind == ModelKind::kOffload; });
  if (offload && how.memory_bytes == 0) {
    return "models with offload need the size of the device: give --memory.";
  }
  if (offload && requests.touches == 0) {
    return "the trace does not contain which blocks work used, and models with offload need that: "
           "record the job with vramstow run --pool=on --offload=explicit,touches.";
  }
  return "";
}

struct ReplayArguments {
  std::string file;
  std::string models = "all";
  std::string memory;
  std::string steps;
  int device = -1;
  bool search = false;
  bool thorough = false;
  bool json = false;
};

std::string ReplayFooter() {
  return "Models, as a list with commas; settings follow a colon, those of PyTorch as in its own "
         "variable:\n" +
         DescribeModels() +
         "\nExamples:\n  vramstow replay snapshot.pickle\n  vramstow replay snapshot.pickle "
         "--models native:max_split_size_mb:128,expandable\n  vramstow replay snapshot.pickle "
         "--memory 24GiB --search\n  vramstow replay job.stow --memory 24GiB --models "
         "offload\n\nExit status: 0, for all results; 1 if the result could not be written; 2 if "
         "the\ninput cannot be read.";
}

CommandLine LineFor(ReplayArguments* options) {
  return {.command = "replay",
          .summary = "Replays the requests of a recorded run with models of other allocators.",
          .footer = ReplayFooter(),
          .options = {
              {"INPUT", &options->file, "A file, as for vramstow analyze", {.required = true}},
              {"--models",
               &options->models,
               "The models, separated by commas; by default all",
               {.takes_no_file = true}},
              {"--memory",
               &options->memory,
               "The most memory that a model may reserve, for example 24GiB; by default there is "
               "no limit\nor, for a job that ran out of memory, the memory that it had on its GPU",
               {.takes_no_file = true}},
              {"--device",
               &options->device,
               "The device whose requests are replayed; by default the busiest",
               {.range = OptionRange{0, std::numeric_limits<int16_t>::max()}}},
              {"--steps", &options->steps,
               "Write the requests of each model to the device into this file, as CSV"},
              {"--search", &options->search, "Also try settings of PyTorch's allocator"},
              {"--thorough", &options->thorough,
               "Search for up to a minute for a better static packing, if there are few blocks"},
              {"--json", &options->json, "Print JSON on one line"}}};
}

}  // namespace

int ReplayCommand(const std::vector<std::string>& arguments) {
  ReplayArguments options;
  if (const auto status = ReadArguments(LineFor(&options), arguments)) return *status;
  const auto wrong = [](const std::string& sentence) {
    Complain("replay", sentence);
    return kExitUsage;
  };
  ReplayOptions how;
  how.keep_steps = !options.steps.empty();
  if (!options.memory.empty() &&
      (!ParseBytes(options.memory, &how.memory_bytes) || how.memory_bytes == 0)) {
    return wrong(
        absl::StrCat("'", Printable(options.memory), "' is not a size: write for example 24GiB."));
  }
  const std::string no_steps = WhyNotWrite(options.steps, {options.file}, "--steps");
  if (!no_steps.empty()) return wrong(no_steps);
  const auto specs = ParseModels(options.models);
  if (!specs.ok()) return wrong(Printable(std::string(specs.status().message())));
  BeginReading(options.file);
  auto source = OpenEvents(options.file);
  if (!source.ok()) return wrong(std::string(source.status().message()));
  const auto device = options.device < 0
                          ? std::nullopt
                          : std::optional<int16_t>(static_cast<int16_t>(options.device));
  auto requests = ReadRequests(source->get(), device);
  if (!requests.ok()) {
    return wrong(absl::StrCat(Printable(options.file), ": ", requests.status().message()));
  }
  // A job that ran out of memory is replayed on the card on which it did.
  const bool is_of_card = how.memory_bytes == 0 && requests->failed > 0;
  if (is_of_card) how.memory_bytes = requests->available_bytes;
  if (const std::string lacking = LackingFor(*specs, *requests, how); !lacking.empty()) {
    return wrong(absl::StrCat(Printable(options.file), ": ", lacking));
  }
  Result result{.requests = *std::move(requests),
                .memory = how.memory_bytes,
                .memory_is_of_card = is_of_card && how.memory_bytes != 0,
                .models = {},
                .searched = {},
                .bounds = {}};
  result.models = RunAll(result.requests, *specs, how);
  PackingBudget budget;
  if (options.thorough) budget.search_work *= 12;
  budget.wanted = how.memory_bytes;
  result.bounds = Bounds(result.requests, budget);
  if (options.search) {
    result.searched = RunAll(result.requests, SearchedModels(), how);
    std::ranges::stable_sort(result.searched, IsBetter);
  }
  if (!options.steps.empty() && !WriteSteps(options.steps, result)) {
    Complain("replay", absl::StrCat("cannot write ", options.steps, ": ", strerror(errno), "."));
    return kExitCannotWrite;
  }
  return PrintResult("replay", options.json ? ReplayJson(result) : ReplayText(result));
}

}  // namespace vramstow
