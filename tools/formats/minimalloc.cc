#include "tools/formats/minimalloc.h"

#include <algorithm>
#include <tuple>

#include "tools/formats/csv.h"
#include "tools/formats/text_helpers.h"

namespace vramstow {
namespace {

struct Moment {
  int64_t time;
  bool is_birth;  // frees come first
  size_t buffer;
};

std::vector<Moment> Moments(const std::vector<MinimallocBuffer>& buffers) {
  std::vector<Moment> moments;
  moments.reserve(2 * buffers.size());
  for (size_t i = 0; i < buffers.size(); ++i) {
    moments.push_back({buffers[i].lower, true, i});
    moments.push_back({buffers[i].upper, false, i});
  }
  std::ranges::sort(moments, {}, [](const Moment& moment) {
    return std::tuple(moment.time, moment.is_birth, moment.buffer);
  });
  return moments;
}

}  // namespace

absl::StatusOr<std::vector<MinimallocBuffer>> ReadMinimalloc(const Input& input) {
  CsvReader csv(input.bytes());
  const int id = csv.Column("id");
  const int lower = csv.Column("lower");
  const int upper = csv.Column("upper");
  const int size = csv.Column("size");
  const int offset = csv.Column("offset");
  if (id < 0 || lower < 0 || upper < 0 || size < 0) {
    return absl::InvalidArgumentError(
        Concat(input.path(),
               " is not a minimalloc problem: its first line lacks id, lower, upper or size"));
  }
  if (!input.damage().empty()) {
    return absl::DataLossError(Concat(input.path(), ": ", input.damage()));
  }
  std::vector<MinimallocBuffer> buffers;
  while (csv.NextLine()) {
    const auto from = ParseNumber<int64_t>(csv.Field(lower));
    const auto to = ParseNumber<int64_t>(csv.Field(upper));
    const auto bytes = ParseNumber<uint64_t>(csv.Field(size));
    if (!from || !to || !bytes || *to <= *from) {
      return absl::InvalidArgumentError(
          Concat(input.path(), ", line ", csv.line(),
                 ": lower, upper and size must be numbers, and upper greater than lower"));
    }
    buffers.push_back({.id = std::string(csv.Field(id)),
                       .lower = *from,
                       .upper = *to,
                       .size = *bytes,
                       .offset = ParseNumber<uint64_t>(csv.Field(offset))});
  }
  return buffers;
}

uint64_t MaximumLoad(const std::vector<MinimallocBuffer>& buffers) {
  uint64_t load = 0;
  uint64_t most = 0;
  for (const Moment& moment : Moments(buffers)) {
    if (moment.is_birth) {
      load += buffers[moment.buffer].size;
      most = std::max(most, load);
    } else {
      load -= buffers[moment.buffer].size;
    }
  }
  return most;
}

EventList MinimallocEvents(const std::vector<MinimallocBuffer>& buffers) {
  EventList list;
  const std::vector<Moment> moments = Moments(buffers);
  list.events.reserve(moments.size());
  for (const Moment& moment : moments) {
    const MinimallocBuffer& buffer = buffers[moment.buffer];
    Event event;
    event.kind = moment.is_birth ? EventKind::kAllocate : EventKind::kFree;
    event.layer = Layer::kFramework;
    event.memory = MemoryKind::kDevice;
    event.device = 0;
    event.address = buffer.offset.value_or(moment.buffer + 1);
    event.object = moment.buffer + 1;
    event.size = event.requested = buffer.size;
    // The file's moments have no unit of time, so only their order is used.
    event.time_ns = static_cast<uint64_t>(moment.time) - static_cast<uint64_t>(moments[0].time);
    event.sequence = list.events.size() + 1;
    event.call = list.Call(moment.is_birth ? "lower" : "upper");
    list.events.push_back(event);
  }
  list.missing.emplace_back("moments are not times: they are shown as nanoseconds");
  return list;
}

}  // namespace vramstow
