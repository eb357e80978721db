// A thin, typed cover over one SQLite connection: prepared statements, errors as Result.
//
// Threads: one owner; SQLite is opened without its own locks. No function throws.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"

struct sqlite3;
struct sqlite3_stmt;

namespace rota::store {

/// A prepared statement, reusable after reset(). Parameters and columns count from 0.
class Statement {
 public:
  Statement() = default;
  Statement(sqlite3* database, sqlite3_stmt* statement);
  ~Statement();
  Statement(Statement&& other) noexcept;
  Statement& operator=(Statement&& other) noexcept;

  Statement& bind(int index, std::int64_t value);
  Statement& bind(int index, std::string_view text);
  Statement& bind_blob(int index, std::string_view bytes);

  /// True: a row is there. False: done. The statement is reset after false and after an error.
  Result<bool> step();
  /// For statements that give no row.
  Status run();
  void reset();

  [[nodiscard]] std::int64_t integer(int column) const;
  [[nodiscard]] std::string text(int column) const;  // text or blob

 private:
  sqlite3* database_ = nullptr;
  sqlite3_stmt* statement_ = nullptr;
};

class Database {
 public:
  /// Opens or makes the file. Error: kUnavailable, kCorruption (not a database).
  static Result<std::unique_ptr<Database>> open(const std::string& path);
  ~Database();
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  /// Runs SQL that gives no rows; may hold several statements.
  Status execute(const std::string& sql);
  Result<Statement> prepare(std::string_view sql);
  /// The first column of the first row; 0 when there is none.
  Result<std::int64_t> query_integer(std::string_view sql);
  Result<std::string> query_text(std::string_view sql);
  [[nodiscard]] bool in_transaction() const;
  /// Closing will not fold the write-ahead file into the main one, as it does otherwise.
  void leave_as_it_is();

 private:
  explicit Database(sqlite3* handle) : handle_(handle) {}
  sqlite3* handle_;
};

/// The last error of `database` in words, as kCorruption, kUnavailable (disk full, busy, input or
/// output error) or kUnavailable for all else.
[[nodiscard]] Error database_error(sqlite3* database);

}  // namespace rota::store
