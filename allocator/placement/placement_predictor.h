// PlacementPredictor: where the blocks of a repeating job lay the last time.
//
// Idea: a training loop asks for the same sizes in the same order again and again. If each block
// comes to lie where it lay in the round before, the round finds all memory mapped where it needs
// it. So the sizes and places of a heap's requests are kept in order; while the sizes go on as they
// did some requests ago, the places of then are predicted. Where a job begins to repeat is found by
// the sizes of the last few requests. Wrong guesses cost nothing but a look: a place that is taken
// is not used.
//
// Ownership: none. Threads: the heap's lock. Errors: none. Units: bytes.
#ifndef VRAMSTOW_ALLOCATOR_PLACEMENT_PLACEMENT_PREDICTOR_H_
#define VRAMSTOW_ALLOCATOR_PLACEMENT_PLACEMENT_PREDICTOR_H_

#include <cstdint>

namespace vramstow {

class PlacementPredictor {
 public:
  // Of a block that was served without a note.
  static constexpr uint32_t kNoName = 0;

  // Before a request is served: where it is expected to lie; 0: no idea.
  uint64_t Predict(uint64_t size) {
    if (asked_ == next_) return predicted_;  // the same request once more
    asked_ = next_;
    given_up_ = false;
    if (follows_ != 0 && Kept(follows_) && At(follows_).size == size) {
      predicted_ = At(follows_).address;
      // Many blocks of one size prove nothing.
      if (size != before_[0]) ++run_;
      // What goes wrong in one round may go right in the next.
      if (next_ == renews_) {
        CountRound();
        Renew();
      }
    } else {
      run_ = 0;
      // Lost, or not found yet: the last time that these sizes came in this order.
      follows_ = LastLike(size);
      predicted_ =
          follows_ != 0 && Kept(follows_) && At(follows_).size == size ? At(follows_).address : 0;
      if (predicted_ == 0) follows_ = 0;
      // Another round, or another part of it: what was learned of the one before counts no more.
      if (follows_ != 0) Renew();
    }
    return predicted_;
  }

  // Where a request that has been predicted lay in the round before that: a block that is made
  // before its like of the round before is freed has two places by turns. 0: no idea.
  uint64_t Earlier() const {
    const uint64_t before = follows_ - round();
    if (follows_ == 0 || before > follows_ || !Kept(before)) return 0;
    const Entry& earlier = entries_[before % kKept];
    return earlier.size == entries_[follows_ % kKept].size ? earlier.address : 0;
  }
  // Whether it is worth some effort to have this request where it is predicted.
  bool Confident() const { return Repeating() && !given_up_; }
  // Whether the requests of late have been such as came before, in the same order.
  bool Repeating() const { return run_ >= kConfidentRun && trust_ > 0 && rest_ == 0; }
  // Requests in a round; 0: there is none.
  uint64_t round() const { return follows_ != 0 ? next_ - follows_ : 0; }
  // Requests so far.
  uint64_t count() const { return next_; }
  // For how many requests the one that has been predicted lives.
  uint64_t Life() const { return LifeOf(follows_); }
  // Calls visit(size, address, from, to) for the requests of a round, this one, which has been
  // predicted, being number 0: each lives during the requests [from, to).
  template <typename Visit>
  void VisitRound(Visit visit) const {
    if (follows_ == 0) return;
    for (uint64_t number = follows_; number < next_; ++number) {
      if (!Kept(number)) continue;
      const Entry& entry = entries_[number % kKept];
      const uint64_t from = number - follows_;
      visit(entry.size, entry.address, from, from + LifeOf(number));
      // A block that is made before its like of the round before is freed has two places by turns.
      const uint64_t before = number - round();
      if (before > number || !Kept(before)) continue;
      const Entry& earlier = entries_[before % kKept];
      if (earlier.size != entry.size || earlier.address == entry.address) continue;
      visit(earlier.size, earlier.address, from, from + LifeOf(number));
    }
  }

  // Whether the block came to lie there.
  void OnHit() {
    if (trust_ < kMaxTrust) ++trust_;
  }
  void OnMiss() {
    if (trust_ > 0) --trust_;
  }
  // The driver had to be called to serve a request of a round that repeats.
  void NeededDriver() { ++driven_; }
  // It cannot be had there this time.
  void GiveUp() { given_up_ = true; }

  // After it was served, Predict having been called. Returns a name for OnFreed.
  uint32_t OnServed(uint64_t size, uint64_t address) {
    asked_ = 0;
    const uint64_t mixed = Mix(size);
    last_[mixed % kHashes] = {static_cast<uint32_t>(next_), TagOf(mixed)};
    At(next_) = {size, address, 0};
    before_[1] = before_[0];
    before_[0] = size;
    ++next_;
    if (follows_ != 0) ++follows_;
    return static_cast<uint32_t>(next_ - 1);
  }
  void OnFreed(uint32_t name) {
    if (name == kNoName) return;
    const uint64_t number = WholeNumber(name);
    if (Kept(number)) At(number).freed = next_;
  }

 private:
  // At the end of a round. Where blocks come and go in such an order that round after round their
  // places cannot all be had, nothing is won by them, and for some time they are not asked for.
  void CountRound() {
    if (round() != length_) {
      length_ = round();
      unsettled_ = rest_ = 0;
    } else if (rest_ > 0) {
      --rest_;
    } else if (driven_ * kSettled < length_) {
      unsettled_ = 0;
    } else if (++unsettled_ == kPatience) {
      unsettled_ = 0;
      rest_ = kRest;
    }
    driven_ = 0;
  }
  void Renew() {
    renews_ = next_ + (next_ - follows_);
    if (trust_ < kFirstTrust) trust_ = kFirstTrust;
  }

  static constexpr uint64_t kKept = 8192;
  static constexpr uint64_t kHashes = 2048;
  static constexpr uint64_t kConfidentRun = 4;

  // Sizes that come as before prove little where blocks are freed in another order.
  static constexpr int kMaxTrust = 256;
  static constexpr int kFirstTrust = 64;
  // A round has settled when it needs the driver for less than one request in so many.
  static constexpr uint64_t kSettled = 512;
  // Rounds in a row that have not, and for how many nothing is tried then.
  static constexpr int kPatience = 16;
  static constexpr int kRest = 128;

  struct Entry {
    uint64_t size;
    uint64_t address;
    uint64_t freed;  // the first request after that; 0: it lives
  };
  struct Last {
    uint32_t number;  // the lower half
    uint32_t tag;
  };

  // How many requests the block lives. If it lives still, the block that it repeats, of the round
  // before, tells.
  uint64_t LifeOf(uint64_t number) const {
    constexpr uint64_t kForEver = uint64_t{1} << 32;
    const Entry& entry = entries_[number % kKept];
    if (entry.freed != 0) return entry.freed - number;
    const uint64_t before = number - round();
    if (before > number || !Kept(before)) return kForEver;
    const Entry& earlier = entries_[before % kKept];
    return earlier.size == entry.size && earlier.freed != 0 ? earlier.freed - before : kForEver;
  }

  Entry& At(uint64_t number) { return entries_[number % kKept]; }
  bool Kept(uint64_t number) const { return number + kKept > next_; }
  // Mixes the sizes of this request and the two before it.
  uint64_t Mix(uint64_t size) const {
    const uint64_t mixed = (before_[1] * 0x9E3779B97F4A7C15U ^ before_[0]) * 0xD6E8FEB86659FD93U;
    return (mixed ^ size * 0xC2B2AE3D27D4EB4FU) >> 19;
  }
  static uint32_t TagOf(uint64_t mixed) { return static_cast<uint32_t>(mixed / kHashes); }
  // The last request that came like this one; 0: none. Where nothing repeats, no entry is looked
  // at: by then it lies in no cache.
  uint64_t LastLike(uint64_t size) const {
    const uint64_t mixed = Mix(size);
    const Last& last = last_[mixed % kHashes];
    return last.tag == TagOf(mixed) ? WholeNumber(last.number) : 0;
  }
  // Of one of the last 2^32 requests.
  uint64_t WholeNumber(uint32_t low) const { return next_ - (static_cast<uint32_t>(next_) - low); }

  uint64_t next_ = 1;   // the number of the next request
  uint64_t asked_ = 0;  // for which a place was predicted
  uint64_t predicted_ = 0;
  uint64_t follows_ = 0;  // the request that the next one repeats; 0: none is known
  int trust_ = 0;
  uint64_t renews_ = 0;  // the request with which a round begins anew
  uint64_t driven_ = 0;  // requests of this round that needed the driver
  uint64_t length_ = 0;  // of the rounds that were counted
  int unsettled_ = 0;
  int rest_ = 0;
  uint64_t run_ = 0;  // how many requests in a row have repeated others
  bool given_up_ = false;
  uint64_t before_[2] = {};
  Last last_[kHashes] = {};
  Entry entries_[kKept] = {};
};

}  // namespace vramstow

#endif  // VRAMSTOW_ALLOCATOR_PLACEMENT_PLACEMENT_PREDICTOR_H_
