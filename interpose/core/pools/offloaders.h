// Offloaders: what moves live memory of each pool to the host (--offload), and the gate in front of
// it.
//
// Idea: every call that submits work passes one gate for the whole process; each pool has an
// offloader of its own.
//
// Ownership: static storage; offloaders lie in pages of their own, which are kept like the pools'.
// Threads: any. Errors: the reason why nothing can move is logged once. Units: bytes.
#ifndef VRAMSTOW_INTERPOSE_CORE_POOLS_OFFLOADERS_H_
#define VRAMSTOW_INTERPOSE_CORE_POOLS_OFFLOADERS_H_

#include <atomic>
#include <cstdint>

#include "allocator/offload/gate.h"
#include "allocator/offload/offloader.h"
#include "allocator/pool/pool.h"
#include "interpose/core/runtime/core.h"
#include "interpose/core/runtime/settings.h"

namespace vramstow {

class Offloaders {
 public:
  static constexpr int kMax = 64;  // one for each place of a pool

  constexpr Offloaders(const Process& process, const Driver& driver)
      : process_(process), driver_(driver) {}
  Offloaders(const Offloaders&) = delete;
  Offloaders& operator=(const Offloaders&) = delete;

  // Whether the user wants it, in a process that has read its settings.
  bool wanted();
  // Whether that is known already; may be called before the settings are read.
  bool is_known_wanted() const { return wanted_.is_known_yes(); }
  // Whether memory is to move by itself, when the device is full; where it is wanted at all.
  bool automatic() const;

  // An offloader in pages of its own, not opened; null: not wanted, or no memory. Under the pools'
  // lock, once for each place of a pool.
  Offloader* Make();
  // For a pool that was opened with the offloader as its relief.
  void Open(Offloader* offloader, Pool* pool);

  // The process ends: nothing comes back any more, and who waits for that gives up soon.
  void StopBringingBack();

  // Whether memory is paused that a captured graph may use; for who has passed the gate.
  bool RefuseGraphs() const;

  // Counts a submission at each offloader that observes touches. True: there is one.
  bool CountSubmission();
  // True if an offloader wants to begin to copy quiet memory.
  bool AnyWantsToAdvance() const;
  // True if an offloader observes touches.
  bool AnyTracksTouches() const;

  // While it lives, this thread may submit work.
  class GateTicket {
   public:
    explicit GateTicket(Offloaders* offloaders);
    ~GateTicket() {
      if (gate_ != nullptr) gate_->Leave(lane_);
    }
    GateTicket(const GateTicket&) = delete;
    GateTicket& operator=(const GateTicket&) = delete;

   private:
    SubmissionGate* const gate_;  // null: without --offload nothing moves
    uint32_t lane_ = 0;
  };

  // While it lives, this thread, which may be inside the gate, waits for what who closes the gate
  // may hold.
  class Wait {
   public:
    explicit Wait(Offloaders* offloaders) : gate_(offloaders->gate_) { gate_.BeginWait(); }
    ~Wait() { gate_.EndWait(); }
    Wait(const Wait&) = delete;
    Wait& operator=(const Wait&) = delete;

   private:
    SubmissionGate& gate_;
  };

  // In a forked child, async-signal-safe.
  void AbandonAfterFork();

 private:
  void TellRefusal(DriverResult refusal, int device);

  const Process& process_;
  const Driver& driver_;
  SubmissionGate gate_;
  std::atomic<int> count_{0};
  std::atomic<Offloader*> offloaders_[kMax] = {};
  CachedOption wanted_;
  std::atomic<uint32_t> lanes_{0};
  std::atomic<bool> logged_{false};
};

}  // namespace vramstow

#endif  // VRAMSTOW_INTERPOSE_CORE_POOLS_OFFLOADERS_H_
