#include "tools/replay/torch_settings.h"

#include <algorithm>
#include <array>
#include <bit>

#include "tools/formats/text_helpers.h"

namespace vramstow {
namespace {

// Larger blocks get segments of their own; smaller ones share a segment of large_segment_size_mb.
constexpr uint64_t kLargestSharedBlock = 10 * kMiB;
constexpr int kSizeClasses = 16;  // 1 MiB, 2 MiB, … 32 GiB and more

// Settings that PyTorch accepts and that do not affect device memory.
constexpr std::array<std::string_view, 10> kWithoutEffect = {"backend",
                                                             "release_lock_on_cudamalloc",
                                                             "pinned_use_cuda_host_register",
                                                             "pinned_num_register_threads",
                                                             "pinned_use_background_threads",
                                                             "pinned_reserve_segment_size_mb",
                                                             "pinned_max_round_threshold_mb",
                                                             "pinned_max_cached_size_mb",
                                                             "throw_on_cudamalloc_oom",
                                                             "graph_capture_record_stream_reuse"};

absl::Status Wrong(std::string_view name, std::string_view value, std::string_view what) {
  return absl::InvalidArgumentError(Concat(Quoted(value), " is no value of ", name, ": ", what));
}

bool ReadMebibytes(std::string_view value, uint64_t* bytes) {
  const auto number = ParseNumber<uint64_t>(value);
  if (!number || *number == 0 || *number > (uint64_t{1} << 32)) return false;
  *bytes = *number * kMiB;
  return true;
}

absl::Status ReadDivisions(std::string_view value, TorchSettings* settings) {
  constexpr std::string_view kName = "roundup_power2_divisions";
  constexpr std::string_view kWhat =
      "a power of two, or a list like [256:4,512:2,>:1] of powers of two.";
  std::array<uint64_t, kSizeClasses> divisions = {};
  const auto power = [](std::string_view text, uint64_t* number) {
    *number = ParseNumber<uint64_t>(text).value_or(3);
    return *number == 0 || std::has_single_bit(*number);
  };
  uint64_t number = 0;
  if (!value.starts_with('[')) {
    if (!power(value, &number) || number == 0) return Wrong(kName, value, kWhat);
    divisions.fill(number);
  } else {
    if (!value.ends_with(']')) return Wrong(kName, value, kWhat);
    size_t last = 0;
    bool first = true;
    for (const std::string_view entry : SplitSettings(value.substr(1, value.size() - 2))) {
      const size_t colon = std::min(entry.find(':'), entry.size() - 1);
      const std::string_view from = entry.substr(0, colon);
      uint64_t boundary = 0;
      if (!power(entry.substr(colon + 1), &number)) return Wrong(kName, value, kWhat);
      if (from == ">") {
        // The entry ">" sets all size classes after the last one that was named.
        std::fill(divisions.begin() + static_cast<std::ptrdiff_t>(std::min<size_t>(last + 1, 16)),
                  divisions.end(), number);
        continue;
      }
      if (!power(from, &boundary) || boundary == 0) return Wrong(kName, value, kWhat);
      const size_t index =
          std::min<size_t>(static_cast<size_t>(std::bit_width(boundary)) - 1, kSizeClasses - 1);
      if (first) std::fill_n(divisions.begin(), index, number);
      first = false;
      divisions[index] = number;
      last = index;
    }
  }
  settings->divisions.clear();
  for (int i = 0; i < kSizeClasses; ++i) {
    settings->divisions.push_back(
        {.name = Concat(kName, ".", uint64_t{1} << i),
         .value = static_cast<int64_t>(divisions[static_cast<size_t>(i)])});
  }
  return absl::OkStatus();
}

absl::Status ReadOne(std::string_view name, std::string_view value, TorchSettings* settings) {
  if (name == "roundup_power2_divisions") return ReadDivisions(value, settings);
  constexpr std::string_view kMebibytes = "a number of MiB.";
  if (name == "max_split_size_mb") {
    if (!ReadMebibytes(value, &settings->max_split_bytes)) return Wrong(name, value, kMebibytes);
  } else if (name == "max_non_split_rounding_mb") {
    if (!ReadMebibytes(value, &settings->max_non_split_rounding_bytes)) {
      return Wrong(name, value, kMebibytes);
    }
    settings->sets_non_split_rounding = true;
  } else if (name == "large_segment_size_mb") {
    if (!ReadMebibytes(value, &settings->large_segment_bytes)) {
      return Wrong(name, value, kMebibytes);
    }
    if (settings->large_segment_bytes <= kLargestSharedBlock) {
      return Wrong(name, value, "a number of MiB that is greater than 10.");
    }
  } else if (name == "garbage_collection_threshold") {
    settings->garbage_collection_threshold = ParseNumber<double>(value).value_or(0);
    if (!(settings->garbage_collection_threshold > 0 &&
          settings->garbage_collection_threshold < 1)) {
      return Wrong(name, value, "a number greater than 0 and less than 1.");
    }
  } else if (name == "per_process_memory_fraction") {
    settings->memory_fraction = ParseNumber<double>(value).value_or(0);
    if (!(settings->memory_fraction > 0 && settings->memory_fraction <= 1)) {
      return Wrong(name, value, "a number greater than 0 and at most 1.");
    }
  } else if (name == "expandable_segments") {
    if (value != "True" && value != "False") return Wrong(name, value, "True or False.");
    settings->expandable_segments = value == "True";
  } else if (std::ranges::find(kWithoutEffect, name) == kWithoutEffect.end()) {
    return absl::InvalidArgumentError(
        Concat("PyTorch's allocator has no setting ", Quoted(name), "."));
  }
  return absl::OkStatus();
}

}  // namespace

std::vector<std::string_view> SplitSettings(std::string_view text) {
  std::vector<std::string_view> parts;
  int depth = 0;
  size_t begin = 0;
  for (size_t i = 0; i <= text.size(); ++i) {
    if (i < text.size() && text[i] == '[') ++depth;
    if (i < text.size() && text[i] == ']') --depth;
    if (i < text.size() && (text[i] != ',' || depth > 0)) continue;
    if (i > begin) parts.push_back(text.substr(begin, i - begin));
    begin = i + 1;
  }
  return parts;
}

absl::StatusOr<TorchSettings> ParseTorchSettings(std::string_view text, TorchSettings settings) {
  for (const std::string_view part : SplitSettings(text)) {
    const size_t colon = part.find(':');
    if (colon == std::string_view::npos) {
      return absl::InvalidArgumentError(
          Concat(Quoted(part), " is not a setting: settings are written name:value."));
    }
    if (const absl::Status status =
            ReadOne(part.substr(0, colon), part.substr(colon + 1), &settings);
        !status.ok()) {
      return status;
    }
  }
  return settings;
}

absl::Status CheckTorchSettings(const TorchSettings& settings) {
  const auto check = [&](std::string_view name, uint64_t bytes) {
    if (bytes >= settings.large_segment_bytes) return absl::OkStatus();
    return Wrong(
        name, Concat(bytes / kMiB),
        Concat("not less than large_segment_size_mb (", settings.large_segment_bytes / kMiB, ")."));
  };
  if (const absl::Status status = check("max_split_size_mb", settings.max_split_bytes);
      !status.ok()) {
    return status;
  }
  if (!settings.sets_non_split_rounding) return absl::OkStatus();
  return check("max_non_split_rounding_mb", settings.max_non_split_rounding_bytes);
}

}  // namespace vramstow
