#include "simulator/driver/event_sharing.h"

#include <string.h>
#include <unistd.h>

#include <algorithm>
#include <bit>

#include "simulator/driver/context.h"
#include "simulator/driver/host_worker.h"

namespace vramstow::simulator {
namespace {

using Slot = std::shared_ptr<ExportSlot>;

bool IsReached(const ExportSlot& slot, uint64_t record) { return slot.reached >= record; }

// Counts a record of this process as reached.
class Signal : public Work {
 public:
  Signal(Slot slot, uint64_t record) : slot_(std::move(slot)), record_(record) {}
  void Run(uint64_t /*time_ns*/) override {
    uint64_t before = slot_->reached;
    while (before < record_ && !slot_->reached.compare_exchange_weak(before, record_)) continue;
  }
  // Runs on the host thread, which also advances the clock while this process makes no calls, so
  // that the record is reached.
  bool OnHost() const override { return true; }

 private:
  Slot slot_;
  uint64_t record_;
};

// Waits for a record of another process.
class Outside : public Work {
 public:
  Outside(Slot slot, uint64_t id, uint64_t record)
      : slot_(std::move(slot)), id_(id), record_(record) {}
  void Run(uint64_t /*time_ns*/) override {}
  bool OnHost() const override { return true; }
  Poll MakePoll() override {
    return [this, polls = 0u]() mutable {
      if (IsReached(*slot_, record_) || slot_->id != id_) return true;
      // Whether the other process lives costs more to find out than whether it made progress.
      constexpr unsigned kPollsPerLook = 16;
      return ++polls % kPollsPerLook == 0 && ProcessStart(slot_->recorder) == 0;
    };
  }

 private:
  Slot slot_;
  uint64_t id_;
  uint64_t record_;
};

// True if another process made the latest record.
bool IsForeign(const Event& event) {
  return event.shared != nullptr && event.shared->slot->recorded > event.shared->own_record;
}

Mark ForeignMark(Call& call, SharedEvent* shared) {
  const uint64_t record = shared->slot->recorded;
  if (IsReached(*shared->slot, record) || shared->slot->id != shared->ticket.id) return {};
  if (shared->waited_record == record) return shared->waited_mark;
  shared->waited_record = record;
  shared->waited_mark = call.machine().timeline.Enqueue(
      Timeline::NewQueue(), std::make_shared<Outside>(shared->slot, shared->ticket.id, record), {},
      0);
  WakeHostWorker();
  return shared->waited_mark;
}

CUresult Share(Call& call, Event* event) {
  auto shared = std::make_shared<SharedEvent>();
  const int card = call.machine().spec().cards[event->context->device];
  if (!OwnExports().Offer(ExportKind::kEvent, card, &shared->ticket)) {
    return CUDA_ERROR_OUT_OF_MEMORY;
  }
  shared->slot = Slot(OwnExports().Slot(shared->ticket.slot), [](ExportSlot*) {});
  event->shared = std::move(shared);
  if (event->Recorded()) PublishRecord(call, event);
  return CUDA_SUCCESS;
}

}  // namespace

SharedEvent::~SharedEvent() {
  if (IsOwn(ticket)) OwnExports().Withdraw(ticket);
}

Exports& OwnExports() {
  static auto* exports = new Exports;  // until the process ends
  return *exports;
}

void PublishRecord(Call& call, Event* event) {
  SharedEvent* shared = event->shared.get();
  if (shared == nullptr) return;
  shared->slot->recorder = getpid();
  shared->own_record = ++shared->slot->recorded;
  std::vector<Mark> waits = event->more;
  waits.push_back(event->mark);
  call.machine().timeline.Enqueue(Timeline::NewQueue(),
                                  std::make_shared<Signal>(shared->slot, shared->own_record),
                                  std::move(waits), 0);
  WakeHostWorker();
}

std::vector<Mark> AwaitedMarks(Call& call, Event* event) {
  if (IsForeign(*event)) return {ForeignMark(call, event->shared.get())};
  std::vector<Mark> marks = event->more;
  marks.push_back(event->mark);
  return marks;
}

std::vector<Mark> PendingMarks(Call& call, Event* event) {
  std::vector<Mark> marks = AwaitedMarks(call, event);
  std::erase_if(marks, [](const Mark& mark) { return mark.Reached(); });
  return marks;
}

bool AskEvent(Call& call, Event* event) {
  Timeline& timeline = call.machine().timeline;
  if (IsForeign(*event)) {
    const ExportSlot& slot = *event->shared->slot;
    return IsReached(slot, slot.recorded) || slot.id != event->shared->ticket.id ||
           ProcessStart(slot.recorder) == 0;
  }
  bool reached = timeline.Ask(event->mark);
  for (const Mark& mark : event->more) reached &= timeline.Ask(mark);
  return reached;
}

}  // namespace vramstow::simulator

using namespace vramstow::simulator;  // NOLINT(google-build-using-namespace): the C ABI is global

extern "C" {

CUresult cuIpcGetEventHandle(CUipcEventHandle* handle, CUevent event_handle) {
  return Serve("cuIpcGetEventHandle", Needs::kContext, [&](Call& call) {
    if ((call.machine().spec().without & kIpc) != 0) return CUDA_ERROR_NOT_SUPPORTED;
    Event* event = call.state().events.Find(event_handle);
    if (handle == nullptr) return CUDA_ERROR_INVALID_VALUE;
    if (event == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    // As documented, only an event that was created for sharing is exported, and never an imported
    // one.
    if ((event->flags & CU_EVENT_INTERPROCESS) == 0) return CUDA_ERROR_INVALID_HANDLE;
    if (event->shared == nullptr) {
      const CUresult result = Share(call, event);
      if (result != CUDA_SUCCESS) return result;
    }
    if (!IsOwn(event->shared->ticket)) return CUDA_ERROR_INVALID_HANDLE;
    static_assert(sizeof(*handle) == sizeof(Ticket));
    memcpy(handle, &event->shared->ticket, sizeof(Ticket));
    return CUDA_SUCCESS;
  });
}

CUresult cuIpcOpenEventHandle(CUevent* out, CUipcEventHandle handle) {
  return Serve("cuIpcOpenEventHandle", Needs::kContext, [&](Call& call) {
    if ((call.machine().spec().without & kIpc) != 0) return CUDA_ERROR_NOT_SUPPORTED;
    if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
    auto shared = std::make_shared<SharedEvent>();
    const auto ticket = std::bit_cast<Ticket>(handle);
    if (ticket.kind != ExportKind::kEvent) return CUDA_ERROR_INVALID_HANDLE;
    if (IsOwn(ticket)) return CUDA_ERROR_INVALID_CONTEXT;  // only other processes may open it
    shared->slot = OpenSlot(ticket);
    if (shared->slot == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    shared->ticket = ticket;
    auto event = std::make_shared<Event>();
    event->context = call.context();
    event->id = static_cast<uint32_t>(++call.state().next_id);
    event->flags = CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING;
    event->shared = std::move(shared);
    *out = reinterpret_cast<CUevent>(AddEvent(&call.state(), std::move(event)));
    return CUDA_SUCCESS;
  });
}

}  // extern "C"
