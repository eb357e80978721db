// Each distinct text of a history once: users, queues, models, reasons. A Name is its number.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

namespace rota::history {

/// Number of a text in one NameTable. 0 is the empty text, which means "not told".
struct Name {
  std::uint32_t index = 0;
  [[nodiscard]] bool empty() const { return index == 0; }
  friend auto operator<=>(Name, Name) = default;
};

/// Texts and their numbers, in the order in which they were first met. Moving keeps Names and
/// views valid. At most 2^32 - 1 texts.
class NameTable {
 public:
  NameTable();
  NameTable(NameTable&&) = default;
  NameTable& operator=(NameTable&&) = default;
  NameTable(const NameTable&) = delete;
  NameTable& operator=(const NameTable&) = delete;

  /// The number of `text`, new or known; blanks stand for its control characters, which a terminal
  /// might take as commands. O(length).
  [[nodiscard]] Name intern(std::string_view text);
  /// Valid as long as the table.
  [[nodiscard]] std::string_view text(Name name) const { return texts_[name.index]; }
  /// Distinct texts, the empty one included.
  [[nodiscard]] std::size_t size() const { return texts_.size(); }

 private:
  [[nodiscard]] std::string_view keep(std::string_view text);
  void grow();

  std::vector<std::unique_ptr<char[]>> blocks_;
  std::size_t block_left_ = 0;
  char* block_at_ = nullptr;
  std::vector<std::string_view> texts_;
  std::vector<std::uint32_t> slots_;  // open addressing; 0: free
};

}  // namespace rota::history
