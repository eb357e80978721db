#include "store/database.h"

#include <sqlite3.h>

#include <utility>

namespace rota::store {
namespace {

ErrorCode code_of(int primary) {
  return primary == SQLITE_CORRUPT || primary == SQLITE_NOTADB ? ErrorCode::kCorruption
                                                               : ErrorCode::kUnavailable;
}

std::string_view words_of(int primary) {
  switch (primary) {
    case SQLITE_FULL: return "the disk is full";
    case SQLITE_IOERR: return "the disk gave an input or output error";
    case SQLITE_READONLY: return "the file or its folder cannot be written";
    case SQLITE_CANTOPEN: return "the file cannot be opened";
    case SQLITE_BUSY: return "another process uses the file";
    case SQLITE_CORRUPT: return "the file is damaged";
    case SQLITE_NOTADB: return "the file is no journal";
    default: return "the journal gave an error";
  }
}

}  // namespace

Error database_error(sqlite3* database) {
  const int primary = sqlite3_extended_errcode(database) & 0xFF;
  return {.code = code_of(primary),
          .message = std::string(words_of(primary)) + " (" + sqlite3_errmsg(database) + ")"};
}

Statement::Statement(sqlite3* database, sqlite3_stmt* statement)
    : database_(database), statement_(statement) {}

Statement::~Statement() { sqlite3_finalize(statement_); }

Statement::Statement(Statement&& other) noexcept
    : database_(other.database_), statement_(std::exchange(other.statement_, nullptr)) {}

Statement& Statement::operator=(Statement&& other) noexcept {
  std::swap(database_, other.database_);
  std::swap(statement_, other.statement_);
  return *this;
}

Statement& Statement::bind(int index, std::int64_t value) {
  sqlite3_bind_int64(statement_, index + 1, value);
  return *this;
}

Statement& Statement::bind(int index, std::string_view text) {
  sqlite3_bind_text64(statement_, index + 1, text.data() == nullptr ? "" : text.data(),
                      text.size(), SQLITE_TRANSIENT, SQLITE_UTF8);
  return *this;
}

Statement& Statement::bind_blob(int index, std::string_view bytes) {
  sqlite3_bind_blob64(statement_, index + 1, bytes.data() == nullptr ? "" : bytes.data(),
                      bytes.size(), SQLITE_TRANSIENT);
  return *this;
}

Result<bool> Statement::step() {
  const int code = sqlite3_step(statement_);
  if (code == SQLITE_ROW) return true;
  if (code == SQLITE_DONE) {
    reset();
    return false;
  }
  const Error error = database_error(database_);
  reset();
  return error;
}

Status Statement::run() {
  const Result<bool> row = step();
  if (!row.ok()) return row.error();
  reset();
  return {};
}

void Statement::reset() {
  sqlite3_reset(statement_);
  sqlite3_clear_bindings(statement_);
}

std::int64_t Statement::integer(int column) const {
  return sqlite3_column_int64(statement_, column);
}

std::string Statement::text(int column) const {
  const void* bytes = sqlite3_column_blob(statement_, column);
  const auto size = static_cast<std::size_t>(sqlite3_column_bytes(statement_, column));
  return bytes == nullptr ? std::string() : std::string(static_cast<const char*>(bytes), size);
}

Result<std::unique_ptr<Database>> Database::open(const std::string& path) {
  sqlite3* handle = nullptr;
  const int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX;
  const int code = sqlite3_open_v2(path.c_str(), &handle, flags, nullptr);
  if (code != SQLITE_OK) {
    Error error = handle == nullptr ? Error{.code = ErrorCode::kUnavailable,
                                            .message = "no memory to open the journal"}
                                    : database_error(handle);
    sqlite3_close(handle);
    error.where = path;
    return error;
  }
  sqlite3_extended_result_codes(handle, 1);
  sqlite3_busy_timeout(handle, 5000);
  return std::unique_ptr<Database>(new Database(handle));
}

Database::~Database() { sqlite3_close_v2(handle_); }

Status Database::execute(const std::string& sql) {
  if (sqlite3_exec(handle_, sql.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK) {
    return database_error(handle_);
  }
  return {};
}

Result<Statement> Database::prepare(std::string_view sql) {
  sqlite3_stmt* statement = nullptr;
  const int code = sqlite3_prepare_v3(handle_, sql.data(), static_cast<int>(sql.size()),
                                      SQLITE_PREPARE_PERSISTENT, &statement, nullptr);
  if (code != SQLITE_OK) return database_error(handle_);
  return Statement(handle_, statement);
}

Result<std::int64_t> Database::query_integer(std::string_view sql) {
  Result<Statement> statement = prepare(sql);
  if (!statement.ok()) return statement.error();
  const Result<bool> row = statement->step();
  if (!row.ok()) return row.error();
  return *row ? statement->integer(0) : 0;
}

Result<std::string> Database::query_text(std::string_view sql) {
  Result<Statement> statement = prepare(sql);
  if (!statement.ok()) return statement.error();
  const Result<bool> row = statement->step();
  if (!row.ok()) return row.error();
  return *row ? statement->text(0) : std::string();
}

void Database::leave_as_it_is() {
  sqlite3_db_config(handle_, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr);
}

bool Database::in_transaction() const { return sqlite3_get_autocommit(handle_) == 0; }

}  // namespace rota::store
