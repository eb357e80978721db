// Scores of all nodes for the tasks that come again and again, kept in step with one ledger.
//
// A board belongs to a kind of task and is brought up to date when that kind is placed: only nodes
// that changed since are rated anew, all of them when the mix has changed. One ledger at a time has
// boards, that of the present; hypothetical ones that are asked now and then do without.
// Cost: O(log boards + changed nodes) ratings. Memory: eight bytes for each node and board, at most
// kKeysMax of them together; the board not used for longest goes first.
#pragma once

#include <cstdint>
#include <map>
#include <memory>

#include "engine/ledger.h"
#include "engine/score_board.h"
#include "model/job.h"

namespace rota::engine {

/// All that decides what a task may use on a node and how useful the rest is.
struct BoardKey {
  TaskShape task;
  std::int32_t model = 0;
  std::size_t models_named = 0;  // at most 2
  bool any_model = false;
  friend auto operator<=>(const BoardKey&, const BoardKey&) = default;
};

class FragmentBoards {
 public:
  /// The board of these tasks, up to date with the ledger; `rate` gives a node's key. `version`: of
  /// the mix. Null: this ledger has no boards, look at every node.
  template <class Rate>
  [[nodiscard]] const ScoreBoard* board(const Ledger& ledger, std::uint64_t version,
                                        const BoardKey& key, Rate&& rate) {
    if (!bind(ledger)) return nullptr;
    Board& board = find(key, ledger.nodes().size());
    const bool anew = board.nodes != ledger.nodes().size() || board.version != version ||
                      !pages_->reaches(board.read) ||
                      pages_->end() - board.read > ledger.nodes().size();
    if (anew) {
      board.scores.reset(ledger.nodes().size());
      const auto nodes = static_cast<std::int32_t>(ledger.nodes().size());
      for (std::int32_t n = 0; n < nodes; ++n) board.scores.set(n, rate(n));
    } else {
      for (std::uint64_t at = board.read; at < pages_->end(); ++at) {
        board.scores.set(pages_->node(at), rate(pages_->node(at)));
      }
    }
    board.nodes = ledger.nodes().size();
    board.version = version;
    board.read = pages_->end();
    return &board.scores;
  }

 private:
  static constexpr std::size_t kKeysMax = std::size_t{1} << 22;
  static constexpr std::int32_t kStrangersMax = 16;
  struct Board {
    ScoreBoard scores;
    std::size_t nodes = 0;      // 0: made from nothing yet
    std::uint64_t version = 0;
    std::uint64_t read = 0;     // of the ledger's log
    std::uint64_t used = 0;
  };
  bool bind(const Ledger& ledger);
  Board& find(const BoardKey& key, std::size_t nodes);

  std::map<BoardKey, Board> boards_;
  std::shared_ptr<const ChangeLog::Pages> pages_;  // of the ledger that has boards
  std::int32_t strangers_ = 0;                     // other ledgers asked since
  std::uint64_t uses_ = 0;
};

}  // namespace rota::engine
