// Which nodes of a ledger have changed, for those who keep something about its nodes.
//
// Nothing is noted until somebody watches. A watcher remembers how far it has read; one that fell
// behind what is kept must look at every node. A copied ledger is watched by nobody.
// Cost: O(1) for each change; memory at most kKept entries.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace rota::engine {

class ChangeLog {
 public:
  class Pages {
   public:
    /// Entries so far, also those that are no longer kept.
    [[nodiscard]] std::uint64_t end() const { return dropped_ + nodes_.size(); }
    /// True when all entries from `from` on are kept.
    [[nodiscard]] bool reaches(std::uint64_t from) const { return from >= dropped_; }
    /// The node of entry `at`, which is kept.
    [[nodiscard]] std::int32_t node(std::uint64_t at) const { return nodes_[at - dropped_]; }

   private:
    friend class ChangeLog;
    static constexpr std::size_t kKept = 8'192;
    std::vector<std::int32_t> nodes_;
    std::uint64_t dropped_ = 0;
  };

  ChangeLog() = default;
  ChangeLog(const ChangeLog& /*other*/) noexcept {}
  ChangeLog(ChangeLog&&) noexcept = default;
  ChangeLog& operator=(const ChangeLog& other) noexcept {
    if (this != &other) pages_ = nullptr;
    return *this;
  }
  ChangeLog& operator=(ChangeLog&&) noexcept = default;
  ~ChangeLog() = default;

  void note(std::int32_t node) {
    if (pages_ == nullptr) return;
    Pages& pages = *pages_;
    if (pages.nodes_.size() == Pages::kKept) drop_half(pages);
    pages.nodes_.push_back(node);
  }
  /// Null: nobody watches.
  [[nodiscard]] const Pages* pages() const { return pages_.get(); }
  /// Begins to note changes, if it does not yet.
  [[nodiscard]] std::shared_ptr<const Pages> watch() {
    if (pages_ == nullptr) pages_ = std::make_shared<Pages>();
    return pages_;
  }

 private:
  static void drop_half(Pages& pages) {
    const auto half = static_cast<std::ptrdiff_t>(Pages::kKept / 2);
    pages.nodes_.erase(pages.nodes_.begin(), pages.nodes_.begin() + half);
    pages.dropped_ += Pages::kKept / 2;
  }
  std::shared_ptr<Pages> pages_;
};

}  // namespace rota::engine
