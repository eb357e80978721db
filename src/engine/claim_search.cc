#include "engine/claim_search.h"

#include <algorithm>
#include <limits>
#include <tuple>

namespace rota::engine {

namespace {

/// Negative: of two candidates of one queue, both whole jobs or both parts, a is taken before b;
/// 0: they are parts of one job. `ids` false leaves out the rule for ties.
inline int compare_in_queue(const Candidate& a, const Candidate& b, bool ids) {
  if (a.priority != b.priority) return a.priority < b.priority ? -1 : 1;
  if (a.lost != b.lost) return a.lost < b.lost ? -1 : 1;
  if (a.started != b.started) return a.started > b.started ? -1 : 1;
  if (a.job == b.job || !ids) return 0;
  return a.id > b.id ? -1 : 1;
}

/// So few are all counted before any is tried.
constexpr std::size_t kFewOffers = 256;

/// Candidates in the order in which they are taken: a single one, or those of a list, whose order
/// turns with time. Where they count the time since a checkpoint, the one that passed its own last
/// comes first, and those before it on the dial follow, once round.
class Stream {
 public:
  explicit Stream(const Candidate& single) : next_(single) {}
  Stream(const Wish& wish, const Offers::Run& run) : entries_(run.entries) {
    const std::int64_t hand = run.checkpoint > 0 ? wish.at.ns() % run.checkpoint
                                                 : std::numeric_limits<std::int64_t>::max();
    const std::int64_t passed = hand < 0 ? hand + run.checkpoint : hand;
    at_ = entries_->first_not([&](const Takeable::Entry& e) { return e.order <= passed; });
    left_ = entries_->size();
  }
  [[nodiscard]] const Candidate& next() const { return next_; }
  /// False: it was the last one.
  [[nodiscard]] bool advance(const Wish& wish) {
    while (left_ > 0) {
      --left_;
      at_ = entries_->before(at_ == entries_->begin() ? entries_->end() : at_);
      const Takeable::Entry& entry = (*entries_)[at_];
      if (!wish.useful(entry)) continue;
      next_ = wish.candidate(entry);
      return true;
    }
    return false;
  }

 private:
  Candidate next_;
  const Takeable::Entries* entries_ = nullptr;
  Takeable::Entries::Place at_;
  std::size_t left_ = 0;
};

/// Candidates of one queue, all whole jobs or all parts, all charged or none; the next one in
/// front. Shares allow either the first of them or none.
class VictimLane {
 public:
  bool whole = false;
  bool charge = false;
  QueueIndex queue = 0;
  int meets = 0;  // how far below the root its branch parts from the claimant's

  [[nodiscard]] bool empty() const { return heap_.empty(); }
  [[nodiscard]] const Candidate& next() const { return heap_.front().next(); }
  void add(const Stream& stream) { heap_.push_back(stream); }
  /// All have been added.
  void open() { std::make_heap(heap_.begin(), heap_.end(), TakenLater{}); }
  void pop(const Wish& wish) {
    if (heap_.size() == 1) {
      if (!heap_.front().advance(wish)) heap_.clear();
      return;
    }
    std::pop_heap(heap_.begin(), heap_.end(), TakenLater{});
    if (heap_.back().advance(wish)) {
      std::push_heap(heap_.begin(), heap_.end(), TakenLater{});
    } else {
      heap_.pop_back();
    }
  }
  /// Only its number tells another job of the lane from this one, which was taken before them.
  [[nodiscard]] bool ties_with(const Candidate& taken) const {
    if (heap_.empty() || compare_in_queue(next(), taken, false) != 0) return false;
    return std::any_of(heap_.begin(), heap_.end(), [&](const Stream& stream) {
      const Candidate& other = stream.next();
      return other.job != taken.job && compare_in_queue(other, taken, false) == 0;
    });
  }

 private:
  /// For heaps: the one to be taken first is at the front.
  struct TakenLater {
    bool operator()(const Stream& a, const Stream& b) const {
      const int order = compare_in_queue(a.next(), b.next(), true);
      return order != 0 ? order > 0 : a.next().part < b.next().part;
    }
  };
  std::vector<Stream> heap_;
};

/// Lanes in the order in which their kinds are taken: parts first, then uncharged jobs.
std::vector<VictimLane> lanes_of(const Wish& wish, const Offers& offers) {
  std::vector<VictimLane> lanes;
  const auto lane_of = [&](bool whole, bool charge, QueueIndex queue) -> VictimLane& {
    // Those of one queue come one after the other, mostly.
    for (std::size_t i = lanes.size(); i-- > 0;) {
      VictimLane& lane = lanes[i];
      if (lane.whole == whole && lane.charge == charge && lane.queue == queue) return lane;
    }
    VictimLane& lane = lanes.emplace_back();
    lane.whole = whole;
    lane.charge = charge;
    lane.queue = queue;
    return lane;
  };
  for (const Offers::Run& run : offers.runs) {
    Stream stream(wish, run);
    if (stream.advance(wish)) lane_of(true, run.group.charge, run.group.queue).add(stream);
  }
  for (const Candidate& c : offers.others) {
    lane_of(c.whole(), c.job->spec.charge, c.job->queue).add(Stream(c));
  }
  for (VictimLane& lane : lanes) lane.open();
  std::sort(lanes.begin(), lanes.end(), [](const VictimLane& a, const VictimLane& b) {
    return std::tie(a.whole, a.charge, a.queue) < std::tie(b.whole, b.charge, b.queue);
  });
  return lanes;
}

/// False when the claimant would not fit if all who are offered were gone.
bool enough_in_all(const Wish& wish, const Ledger& on, const Offers& offers) {
  const Request& request = wish.core.request(wish.claimant);
  if (request.kind != NeedKind::kWhole) return true;
  const std::int64_t need = wish.claimant.tasks_min();
  RoomBound room(request, on);
  for (const Candidate& c : offers.others) {
    if (room.tasks() >= need) return true;
    if (c.task.node != kNone) {
      room.free(c.task);
    } else {
      room.free(c.job->held);
    }
  }
  for (const Offers::Run& run : offers.runs) {
    const Takeable::Entries& entries = *run.entries;
    for (auto at = entries.begin(); at != entries.end(); at = entries.after(at)) {
      if (room.tasks() >= need) return true;
      const Takeable::Entry& entry = entries[at];
      if (!wish.useful(entry)) continue;
      if (entry.node != kNone) {
        room.free(WholeTask{entry.node, entry.devices, entry.cpus, entry.memory});
      } else {
        room.free(entry.job->held);
      }
    }
  }
  return room.tasks() >= need;
}

/// One victim on trial.
struct Taken {
  const JobRec* job = nullptr;
  bool whole = true;
  bool spared = false;       // not needed after all
  bool charge = true;
  QueueIndex queue = 0;
  int meets = 0;             // level at which its branch parts from the claimant's
  UserIndex user = kNone;
  std::int64_t milli = 0;
  WholeTask task;             // all that leaves, where that can be counted at once
  std::optional<Tasks> part;  // what leaves; absent: all the job holds

  [[nodiscard]] const Tasks& tasks() const { return part ? *part : job->held; }
};

/// Takes victims on a ledger under a checkpoint, with the holdings of queues kept in step, and
/// undoes everything at its end.
class ClaimSearch {
 public:
  ClaimSearch(Core& core, const Wish& wish, Ledger& on, TaskCount::Way way)
      : core_(core), wish_(wish), claimant_(wish.claimant), ledger_(on),
        count_(core.request(wish.claimant), on, way), mark_(on.checkpoint()) {}
  ~ClaimSearch() {
    hold_taken(1);
    ledger_.rollback(mark_);
  }
  ClaimSearch(const ClaimSearch&) = delete;
  ClaimSearch& operator=(const ClaimSearch&) = delete;

  [[nodiscard]] std::optional<Claim> find(const Offers& offers, ClaimAsks asks);
  /// Counting could not tell what a victim would leave free: the search must be on the ledger.
  [[nodiscard]] bool lost_count() const { return lost_count_; }

 private:
  [[nodiscard]] bool allowed(const VictimLane& lane) const {
    return core_.within_share(claimant_, {lane.queue, lane.charge, lane.next().priority},
                              wish_.need());
  }
  void hold(const Taken& v, std::int64_t sign) {
    core_.owners.hold(v.queue, sign * v.milli, v.charge);
    if (v.user != kNone) core_.state.users[v.user].held += sign * v.milli;
  }
  void hold_taken(std::int64_t sign) {
    for (const Taken& v : taken_) {
      if (!v.spared) hold(v, sign);
    }
  }
  void open_lanes(const Offers& offers);
  [[nodiscard]] bool take(const Candidate& candidate, const VictimLane& lane);
  [[nodiscard]] bool take_next();
  [[nodiscard]] VictimLane* next_lane();
  void settle_turns();
  [[nodiscard]] bool ties_with_another(const VictimLane& best) const;
  /// Negative: the next of lane a is taken before the next of lane b.
  [[nodiscard]] int compare(const VictimLane& a, const VictimLane& b, bool ids) const;
  [[nodiscard]] Taken taken_from(const Candidate& candidate) const;
  /// Whether the claimant fits now; of a countable request without looking for the place.
  [[nodiscard]] bool fits();
  [[nodiscard]] bool weighs_on_claimant(const Taken& v) const;
  [[nodiscard]] int meeting_level(QueueIndex queue) const;
  [[nodiscard]] bool reachable_without(std::size_t index);
  [[nodiscard]] bool counted_at_once(const Taken& v) const {
    return count_.way() == TaskCount::Way::kByCounting && v.task.node != kNone;
  }
  void spare(std::size_t index);
  void find_place();
  [[nodiscard]] std::vector<Victim> victims() const;

  Core& core_;
  const Wish& wish_;
  const JobRec& claimant_;
  Ledger& ledger_;
  TaskCount count_;
  Ledger::Mark mark_;
  std::vector<VictimLane> lanes_;
  bool take_turns_ = false;           // one lane's victims say nothing about the others' place
  std::vector<VictimLane*> turns_;    // then: a heap of those that may be taken from
  std::vector<Taken> taken_;
  std::optional<Tasks> place_;  // of the last fit that was not counted
  int meets_least_ = std::numeric_limits<int>::max();  // of charged ones taken
  bool by_tie_rule_ = false;
  bool lost_count_ = false;
};

int ClaimSearch::compare(const VictimLane& a, const VictimLane& b, bool ids) const {
  if (a.whole != b.whole) return a.whole ? 1 : -1;
  if (a.charge != b.charge) return a.charge ? 1 : -1;
  const auto excess = core_.owners.excess(a.queue, b.queue);
  if (excess != 0) return excess > 0 ? -1 : 1;
  return compare_in_queue(a.next(), b.next(), ids);
}

bool ClaimSearch::fits() {
  const std::int64_t tasks = claimant_.tasks_min();
  if (!count_.may_hold(tasks)) return false;
  if (core_.room_in_limits(claimant_, tasks) < tasks) return false;
  if (count_.exact()) return true;
  auto place = core_.placer.place(ledger_, core_.request(claimant_), tasks);
  if (!place) return false;
  place_ = std::move(place);
  return true;
}

Taken ClaimSearch::taken_from(const Candidate& candidate) const {
  const JobRec& job = *candidate.job;
  const bool as_it_is = wish_.gone.empty() && candidate.whole() && job.shape.min_tasks == 0;
  if (as_it_is) return {.job = &job, .milli = candidate.milli, .task = {}, .part = std::nullopt};
  Tasks left = wish_.left(job);
  if (!candidate.whole()) {
    Tasks one{std::move(left[static_cast<std::size_t>(candidate.part)])};
    return {.job = &job, .whole = false, .milli = candidate.milli, .task = {},
            .part = std::move(one)};
  }
  // Its surplus tasks may be gone already: only the rest is left to take.
  for (std::size_t i = 0; job.shape.min_tasks > 0 && i < taken_.size(); ++i) {
    if (taken_[i].job != &job) continue;
    const std::int32_t rank = taken_[i].tasks().front().rank;
    std::erase_if(left, [&](const TaskAlloc& t) { return t.rank == rank; });
  }
  const std::int64_t milli = milli_of(left);
  return {.job = &job, .milli = milli, .task = {}, .part = std::move(left)};
}

bool ClaimSearch::take(const Candidate& candidate, const VictimLane& lane) {
  const WholeTask& task = candidate.task;
  const bool at_once = task.node != kNone && count_.way() == TaskCount::Way::kByCounting &&
                       count_.plain(task.node);
  Taken victim = at_once ? Taken{.job = candidate.job, .milli = candidate.milli, .task = task,
                                 .part = std::nullopt}
                         : taken_from(candidate);
  victim.charge = lane.charge;
  victim.queue = lane.queue;
  victim.meets = lane.meets;
  if (victim.charge) meets_least_ = std::min(meets_least_, victim.meets);
  victim.user = candidate.user;
  if (at_once) {
    count_.give(task);
  } else if (!count_.give(victim.tasks())) {
    lost_count_ = true;
    return false;
  }
  hold(victim, -1);
  taken_.push_back(std::move(victim));
  return true;
}

/// Where all queues are siblings and no parts are taken, a victim changes the place of its own lane
/// among the others and of no other: its queue holds less, and the claimant's never more.
void ClaimSearch::open_lanes(const Offers& offers) {
  lanes_ = lanes_of(wish_, offers);
  for (VictimLane& lane : lanes_) lane.meets = meeting_level(lane.queue);
  const auto& queues = core_.state.queues;
  const QueueIndex parent = queues[claimant_.queue].parent;
  take_turns_ = core_.state.policy.order != Order::kPriority &&
                std::all_of(lanes_.begin(), lanes_.end(), [&](const VictimLane& lane) {
                  return lane.whole && queues[lane.queue].parent == parent;
                });
  if (!take_turns_) return;
  for (VictimLane& lane : lanes_) {
    if (!lane.empty() && allowed(lane)) turns_.push_back(&lane);
  }
  std::make_heap(turns_.begin(), turns_.end(), [this](const VictimLane* a, const VictimLane* b) {
    return compare(*a, *b, true) > 0;
  });
}

/// The lane in front has changed: brings the heap in order again.
void ClaimSearch::settle_turns() {
  const auto later = [this](const VictimLane* a, const VictimLane* b) {
    return compare(*a, *b, true) > 0;
  };
  VictimLane* const lane = turns_.front();
  const bool stays = !lane->empty() && allowed(*lane);
  if (stays && turns_.size() == 1) return;
  std::pop_heap(turns_.begin(), turns_.end(), later);
  if (stays) {
    std::push_heap(turns_.begin(), turns_.end(), later);
  } else {
    turns_.pop_back();
  }
}

/// The lane of the next victim among those that may be taken at this moment; null: there is none.
VictimLane* ClaimSearch::next_lane() {
  if (take_turns_) return turns_.empty() ? nullptr : turns_.front();
  VictimLane* best = nullptr;
  for (VictimLane& lane : lanes_) {
    if (lane.empty() || !allowed(lane)) continue;
    if (best == nullptr || compare(lane, *best, true) < 0) best = &lane;
  }
  return best;
}

/// Only its number tells the next of another lane from the next of the best one.
bool ClaimSearch::ties_with_another(const VictimLane& best) const {
  if (take_turns_) {
    for (std::size_t i = 1; i < std::min<std::size_t>(turns_.size(), 3); ++i) {
      if (compare(*turns_[i], best, false) == 0) return true;
    }
    return false;
  }
  return std::any_of(lanes_.begin(), lanes_.end(), [&](const VictimLane& lane) {
    return &lane != &best && !lane.empty() && allowed(lane) && compare(lane, best, false) == 0;
  });
}

/// False: there is no other victim.
bool ClaimSearch::take_next() {
  VictimLane* const lane = next_lane();
  if (lane == nullptr) return false;
  by_tie_rule_ = ties_with_another(*lane);
  const Candidate next = lane->next();
  lane->pop(wish_);
  by_tie_rule_ = by_tie_rule_ || lane->ties_with(next);
  if (!take(next, *lane)) return false;
  if (take_turns_) settle_turns();
  return true;
}

/// Whether sparing this victim could stop others from being taken lawfully: it counts in a branch
/// of the claimant that must stay within its share for another, whose own branch parts from it
/// further up. Elsewhere the others' queues hold only more without it.
bool ClaimSearch::weighs_on_claimant(const Taken& v) const {
  return v.charge && v.meets > meets_least_;
}

/// How far below the root the branches of the claimant and of that queue part.
int ClaimSearch::meeting_level(QueueIndex queue) const {
  int level = -1;
  QueueIndex meeting = queue;
  while (!core_.owners.contains(meeting, claimant_.queue)) {
    meeting = core_.state.queues[meeting].parent;
  }
  for (; meeting != kNone; meeting = core_.state.queues[meeting].parent) ++level;
  return level;
}

/// Whether the others that are taken could be, one after the other, each lawfully at its moment.
bool ClaimSearch::reachable_without(std::size_t index) {
  if (!weighs_on_claimant(taken_[index])) return true;
  hold_taken(1);
  std::vector<std::size_t> done;
  bool ok = true;
  for (std::size_t i = 0; i < taken_.size() && ok; ++i) {
    if (taken_[i].spared || i == index) continue;
    ok = core_.within_share(claimant_, *taken_[i].job, wish_.need());
    if (!ok) break;
    hold(taken_[i], -1);
    done.push_back(i);
  }
  for (const std::size_t i : done) hold(taken_[i], 1);
  hold_taken(-1);
  return ok;
}

/// Gives the victim its place back if the claimant fits without.
void ClaimSearch::spare(std::size_t index) {
  Taken& victim = taken_[index];
  const bool at_once = counted_at_once(victim);
  if (at_once && count_.tasks_without(victim.task) < claimant_.tasks_min()) return;
  if (!reachable_without(index)) return;
  const std::int64_t before = count_.tasks();
  const Ledger::Mark mark = ledger_.checkpoint();
  if (at_once) {
    count_.take(victim.task);
  } else {
    count_.take(victim.tasks());
  }
  hold(victim, 1);
  if (fits()) {
    ledger_.commit(mark);
    victim.spared = true;
    return;
  }
  hold(victim, -1);
  if (count_.way() == TaskCount::Way::kByCounting) {
    ledger_.commit(mark);
    if (at_once) {
      count_.give(victim.task);
    } else {
      ROTA_CHECK(count_.give(victim.tasks()));
    }
    return;
  }
  ledger_.rollback(mark);
  count_.reset(before);
}

/// Counting says that there is a place, and not where.
void ClaimSearch::find_place() {
  if (!count_.exact()) return;
  for (const Taken& v : taken_) {
    if (!v.spared && count_.way() == TaskCount::Way::kByCounting) ledger_.give(v.tasks());
  }
  place_ = core_.placer.place(ledger_, core_.request(claimant_), claimant_.tasks_min());
}

/// A job taken whole needs none of its surplus tasks named beside it.
std::vector<Victim> ClaimSearch::victims() const {
  std::vector<const JobRec*> whole;
  for (const Taken& v : taken_) {
    if (!v.spared && v.whole) whole.push_back(v.job);
  }
  std::sort(whole.begin(), whole.end());
  std::vector<Victim> out;
  for (const Taken& v : taken_) {
    if (v.spared) continue;
    if (v.whole) {
      out.push_back({v.job->id, v.job->held, true, milli_of(v.job->held)});
    } else if (!std::binary_search(whole.begin(), whole.end(), v.job)) {
      out.push_back({v.job->id, v.tasks(), false, v.milli});
    }
  }
  return out;
}

std::optional<Claim> ClaimSearch::find(const Offers& offers, ClaimAsks asks) {
  // Where all together are not enough, that is to be seen before many of them were tried.
  const std::size_t look_at = offers.count / 4;
  open_lanes(offers);
  while (!fits()) {
    const bool look = taken_.size() == look_at && offers.count > kFewOffers &&
                      asks != ClaimAsks::kMightFit;
    if (look && !enough_in_all(wish_, ledger_, offers)) return std::nullopt;
    if (!take_next()) return std::nullopt;
  }
  // It fits without those who are spared as well, so nothing more can go wrong.
  if (asks == ClaimAsks::kWhether || asks == ClaimAsks::kMightFit) return Claim{};
  // Spare, the last chosen first, whoever is not needed.
  for (std::size_t i = taken_.size(); i-- > 0;) spare(i);
  find_place();
  if (!place_) return std::nullopt;
  Claim claim;
  if (asks == ClaimAsks::kAll) claim.victims = victims();
  claim.tasks = std::move(*place_);
  if (by_tie_rule_) claim.tie_rule = "last in the file";
  return claim;
}

}  // namespace

std::optional<Claim> search_claim(Core& core, const Wish& wish, Ledger& on,
                                  const Offers& offers, ClaimAsks asks) {
  const bool look = offers.count <= kFewOffers && asks != ClaimAsks::kMightFit;
  if (look && !enough_in_all(wish, on, offers)) return std::nullopt;
  if (core.request(wish.claimant).countable) {
    ClaimSearch search(core, wish, on, TaskCount::Way::kByCounting);
    auto claim = search.find(offers, asks);
    if (!search.lost_count()) return claim;
  }
  ClaimSearch search(core, wish, on, TaskCount::Way::kOnLedger);
  return search.find(offers, asks);
}

}  // namespace rota::engine
