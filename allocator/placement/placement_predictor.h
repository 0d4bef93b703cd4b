// PlacementPredictor: predicts where the blocks of a repeating job lie from where they lay before.
//
// Idea: a training loop requests the same sizes in the same order again and again. If each block
// lies where it lay in the previous iteration, the iteration finds all its memory mapped. So the
// class records the sizes and addresses of a heap's requests in order. While the sizes repeat those
// of an earlier iteration (a round), it predicts that iteration's addresses. It detects the
// repetition from the sizes of the last few requests. A wrong prediction costs only a look-up,
// because an address in use is not used again.
//
// Ownership: none. Threads: the heap's lock. Errors: none. Units: bytes.
#ifndef VRAMSTOW_ALLOCATOR_PLACEMENT_PLACEMENT_PREDICTOR_H_
#define VRAMSTOW_ALLOCATOR_PLACEMENT_PLACEMENT_PREDICTOR_H_

#include <cstdint>

namespace vramstow {

class PlacementPredictor {
 public:
  // The name of a block that was served without a call of OnServed.
  static constexpr uint32_t kNoName = 0;

  // Returns the address that is predicted for the next request, or 0 if there is no prediction. It
  // is called before the request is served.
  uint64_t Predict(uint64_t size) {
    if (asked_ == next_) return predicted_;  // the same request once more
    asked_ = next_;
    given_up_ = false;
    if (follows_ != 0 && IsStored(follows_) && At(follows_).size == size) {
      predicted_ = At(follows_).address;
      // A run of blocks of one size is no evidence of repetition.
      if (size != before_[0]) ++run_;
      // A prediction that failed in one iteration may succeed in the next.
      if (next_ == renews_) {
        CountRound();
        Renew();
      }
    } else {
      run_ = 0;
      // The requests no longer follow the recorded order, or no order was found yet. Finds the last
      // time that these sizes came in this order.
      follows_ = LastLike(size);
      predicted_ = follows_ != 0 && IsStored(follows_) && At(follows_).size == size
                       ? At(follows_).address
                       : 0;
      if (predicted_ == 0) follows_ = 0;
      // The requests now repeat another iteration, or another part of it, so the count of
      // successful predictions (the trust) starts anew.
      if (follows_ != 0) Renew();
    }
    return predicted_;
  }

  // Returns the address that the predicted request had one iteration before the iteration that the
  // prediction uses, or 0. A block may be allocated before the block of the last iteration at the
  // same position is freed; it then alternates between two addresses.
  uint64_t Earlier() const {
    const uint64_t before = follows_ - round();
    if (follows_ == 0 || before > follows_ || !IsStored(before)) return 0;
    const Entry& earlier = entries_[before % kCapacity];
    return earlier.size == entries_[follows_ % kCapacity].size ? earlier.address : 0;
  }
  // True if it is worth effort to serve this request at its predicted address.
  bool Confident() const { return Repeating() && !given_up_; }
  // True if the recent requests have repeated earlier ones in the same order.
  bool Repeating() const { return run_ >= kConfidentRun && trust_ > 0 && rest_ == 0; }
  // The number of requests in an iteration, or 0 if none was found.
  uint64_t round() const { return follows_ != 0 ? next_ - follows_ : 0; }
  // The number of requests so far.
  uint64_t count() const { return next_; }
  // The number of requests during which the predicted block is expected to live.
  uint64_t Life() const { return LifeOf(follows_); }
  // Calls visit(size, address, from, to) for each request of an iteration. Requests are counted
  // from the predicted one, which has number 0. Each block lives during the requests [from, to).
  template <typename Visit>
  void VisitRound(Visit visit) const {
    if (follows_ == 0) return;
    for (uint64_t number = follows_; number < next_; ++number) {
      if (!IsStored(number)) continue;
      const Entry& entry = entries_[number % kCapacity];
      const uint64_t from = number - follows_;
      visit(entry.size, entry.address, from, from + LifeOf(number));
      // A block may alternate between two addresses (see Earlier), so the earlier one is visited,
      // too.
      const uint64_t before = number - round();
      if (before > number || !IsStored(before)) continue;
      const Entry& earlier = entries_[before % kCapacity];
      if (earlier.size != entry.size || earlier.address == entry.address) continue;
      visit(earlier.size, earlier.address, from, from + LifeOf(number));
    }
  }

  // OnHit notes that the block was placed at the predicted address, and OnMiss that it was not.
  void OnHit() {
    if (trust_ < kMaxTrust) ++trust_;
  }
  void OnMiss() {
    if (trust_ > 0) --trust_;
  }
  // Notes that a request of a repeating iteration needed a driver call.
  void NeededDriver() { ++driven_; }
  // Notes that the predicted address is not available this time.
  void GiveUp() { given_up_ = true; }

  // Records where a request was served; Predict was called before it. Returns a name for OnFreed.
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
    if (IsStored(number)) At(number).freed = next_;
  }

 private:
  // Called at the end of an iteration. The order of the blocks may be such that, in many
  // iterations, their addresses cannot all be available. Predictions then bring no gain and are
  // suspended for some time.
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

  static constexpr uint64_t kCapacity = 8192;
  static constexpr uint64_t kHashes = 2048;
  static constexpr uint64_t kConfidentRun = 4;

  // Repeated sizes prove little if blocks are freed in another order. So the predictor also counts
  // which predictions succeeded (trust_).
  static constexpr int kMaxTrust = 256;
  static constexpr int kFirstTrust = 64;
  // An iteration has settled if fewer than one in this many of its requests need the driver.
  static constexpr uint64_t kSettled = 512;
  // After kPatience unsettled iterations in a row, predictions are suspended for kRest iterations.
  static constexpr int kPatience = 16;
  static constexpr int kRest = 128;

  struct Entry {
    uint64_t size;
    uint64_t address;
    uint64_t freed;  // the first request after the free; 0 while it is live
  };
  struct Last {
    uint32_t number;  // the lower half of the request's number
    uint32_t tag;
  };

  // Returns the number of requests during which a block lives. While a block still lives, the
  // number comes from the block at the same position of the previous iteration.
  uint64_t LifeOf(uint64_t number) const {
    constexpr uint64_t kForEver = uint64_t{1} << 32;
    const Entry& entry = entries_[number % kCapacity];
    if (entry.freed != 0) return entry.freed - number;
    const uint64_t before = number - round();
    if (before > number || !IsStored(before)) return kForEver;
    const Entry& earlier = entries_[before % kCapacity];
    return earlier.size == entry.size && earlier.freed != 0 ? earlier.freed - before : kForEver;
  }

  Entry& At(uint64_t number) { return entries_[number % kCapacity]; }
  bool IsStored(uint64_t number) const { return number + kCapacity > next_; }
  // Hashes the sizes of this request and the two before it.
  uint64_t Mix(uint64_t size) const {
    const uint64_t mixed = (before_[1] * 0x9E3779B97F4A7C15U ^ before_[0]) * 0xD6E8FEB86659FD93U;
    return (mixed ^ size * 0xC2B2AE3D27D4EB4FU) >> 19;
  }
  static uint32_t TagOf(uint64_t mixed) { return static_cast<uint32_t>(mixed / kHashes); }
  // Returns the number of the last request that came after the same sizes as this one, or 0 if
  // there is none. Only the tag is compared here. If the requests do not repeat, the tags differ,
  // and the entry of the request need not be read; reading it would be slow, because the
  // processor's caches would not contain it.
  uint64_t LastLike(uint64_t size) const {
    const uint64_t mixed = Mix(size);
    const Last& last = last_[mixed % kHashes];
    return last.tag == TagOf(mixed) ? WholeNumber(last.number) : 0;
  }
  // Restores the number of one of the last 2^32 requests from its low 32 bits.
  uint64_t WholeNumber(uint32_t low) const { return next_ - (static_cast<uint32_t>(next_) - low); }

  uint64_t next_ = 1;   // the number of the next request
  uint64_t asked_ = 0;  // the request for which Predict was called
  uint64_t predicted_ = 0;
  uint64_t follows_ = 0;  // the request that the next one repeats; 0 if unknown
  int trust_ = 0;
  uint64_t renews_ = 0;  // the request with which the next iteration begins
  uint64_t driven_ = 0;  // requests of this iteration that needed the driver
  uint64_t length_ = 0;  // length of the iterations that were counted
  int unsettled_ = 0;
  int rest_ = 0;
  uint64_t run_ = 0;  // how many requests in a row have repeated others
  bool given_up_ = false;
  uint64_t before_[2] = {};
  Last last_[kHashes] = {};
  Entry entries_[kCapacity] = {};
};

}  // namespace vramstow

#endif  // VRAMSTOW_ALLOCATOR_PLACEMENT_PLACEMENT_PREDICTOR_H_
