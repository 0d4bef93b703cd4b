// Offloaders makes the offloader of each pool, which moves live memory to the host (--offload). It
// also owns the SubmissionGate, by which offloaders stop calls that submit work while memory moves.
//
// Idea: there is one gate for the whole process, and every call that submits work passes it. Each
// pool has its own offloader.
//
// Ownership: static storage; each offloader lies in separate pages, which are retained like those
// of the pools. Threads: any. Errors: the reason why nothing can move is logged once. Units: bytes.
#ifndef VRAMSTOW_INTERPOSE_CORE_POOLS_OFFLOADERS_H_
#define VRAMSTOW_INTERPOSE_CORE_POOLS_OFFLOADERS_H_

#include <atomic>
#include <cstdint>

#include "allocator/offload/gate.h"
#include "allocator/offload/offloader.h"
#include "allocator/pool/pool.h"
#include "interpose/core/pools/turn_gate.h"
#include "interpose/core/runtime/core.h"
#include "interpose/core/runtime/settings.h"

namespace vramstow {

class Offloaders {
 public:
  static constexpr int kMax = 64;  // one for each slot of a pool

  constexpr Offloaders(const Process& process, const Driver& driver, TurnGate& turns)
      : process_(process), driver_(driver), turns_(turns) {}
  Offloaders(const Offloaders&) = delete;
  Offloaders& operator=(const Offloaders&) = delete;

  TurnGate& turns() const { return turns_; }

  // True if the user asked for offloading and this process has read its settings.
  bool wanted();
  // True if wanted() has returned true before. May be called before the settings are read.
  bool is_known_wanted() const { return wanted_.is_known_yes(); }
  // True if memory is moved without a request when the device is full. Called only if offloading is
  // wanted.
  bool automatic() const;

  // Makes an offloader in separate pages, without opening it. Returns null if offloading is not
  // wanted or there is no memory. Called under the pools' lock, once for each slot that holds a
  // pool.
  Offloader* Make();
  // Opens the offloader for a pool. The pool was configured to call this offloader when memory is
  // lacking.
  void Open(Offloader* offloader, Pool* pool);

  // Called when the process ends. Nothing is restored from now on, and threads that wait for a
  // restore soon stop waiting.
  void StopBringingBack();

  // True if a captured graph may use memory that is paused (evicted on request of the program), so
  // that no graph may be launched. The caller holds a GateTicket.
  bool RefuseGraphs() const;

  // Counts a submission at each offloader that observes touches (which memory submitted work uses).
  // Returns true if there is such an offloader.
  bool CountSubmission();
  // True if an offloader wants to begin to copy quiet memory: memory that the program has promised
  // not to use for a while (vramstow_quiet).
  bool AnyWantsToAdvance() const;
  // True if an offloader observes touches (which memory submitted work uses).
  bool AnyTracksTouches() const;

  // While a GateTicket exists, its thread has passed the gate (SubmissionGate, which stops
  // submissions while memory moves) and may submit work. With --share it has waited for the turn of
  // this process before.
  class GateTicket {
   public:
    explicit GateTicket(Offloaders* offloaders);
    ~GateTicket() {
      if (gate_ != nullptr) gate_->Leave(lane_);
    }
    GateTicket(const GateTicket&) = delete;
    GateTicket& operator=(const GateTicket&) = delete;

   private:
    SubmissionGate* const gate_;  // null without --offload
    uint32_t lane_ = 0;
  };

  // Marks a wait of a thread that may hold a GateTicket. The thread waits for a lock, which may be
  // held by the thread that is closing the gate. That thread does not wait for this one: while a
  // Wait exists, it gives up closing the gate.
  class Wait {
   public:
    explicit Wait(Offloaders* offloaders) : gate_(offloaders->gate_) { gate_.BeginWait(); }
    ~Wait() { gate_.EndWait(); }
    Wait(const Wait&) = delete;
    Wait& operator=(const Wait&) = delete;

   private:
    SubmissionGate& gate_;
  };

  // Resets the gate and the offloaders. Called in a forked child; async-signal-safe.
  void AbandonAfterFork();

 private:
  void LogRefusal(DriverResult refusal, int device);

  const Process& process_;
  const Driver& driver_;
  TurnGate& turns_;
  SubmissionGate gate_;
  std::atomic<int> count_{0};
  std::atomic<Offloader*> offloaders_[kMax] = {};
  CachedOption wanted_;
  std::atomic<uint32_t> lanes_{0};
  std::atomic<bool> logged_{false};
};

}  // namespace vramstow

#endif  // VRAMSTOW_INTERPOSE_CORE_POOLS_OFFLOADERS_H_
