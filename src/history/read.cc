#include "history/read.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <map>
#include <memory>
#include <system_error>
#include <utility>

#include "history/builder.h"
#include "history/importer.h"

namespace rota::history {
namespace {

class TextSource : public ByteSource {
 public:
  explicit TextSource(std::string text) : text_(std::move(text)) {}
  Result<std::size_t> read(char* into, std::size_t size) override {
    const std::size_t got = std::min(size, text_.size() - at_);
    std::memcpy(into, text_.data() + at_, got);
    at_ += got;
    return got;
  }
  [[nodiscard]] std::int64_t bytes_taken() const override { return static_cast<std::int64_t>(at_); }
  [[nodiscard]] std::int64_t bytes_whole() const override { return std::ssize(text_); }

 private:
  std::string text_;
  std::size_t at_ = 0;
};

/// By format, in the order of their names.
using AllLaterRows = std::map<std::string_view, std::unique_ptr<LaterRows>>;

/// Texts that no format is written in, told by their first bytes.
Status check_encoding(std::string_view sample, const std::string& file) {
  const std::string_view start = sample.substr(0, 256);
  const auto nuls = static_cast<std::size_t>(std::count(start.begin(), start.end(), '\0'));
  if (start.starts_with("\xff\xfe") || start.starts_with("\xfe\xff") ||
      (start.size() >= 8 && nuls * 3 >= start.size() && nuls < start.size())) {
    return Error{ErrorCode::kInvalidArgument,
                 "this is UTF-16 or no text at all; UTF-16 becomes readable with "
                 "`iconv -f UTF-16 -t UTF-8`",
                 file + ":1:1"};
  }
  const bool one_line = sample.find('\n') == std::string_view::npos;
  const std::size_t carriage = sample.find('\r');
  if (one_line && carriage != std::string_view::npos && carriage + 1 < sample.size()) {
    return Error{ErrorCode::kInvalidArgument,
                 "lines end with carriage returns alone here; put them right with "
                 "`tr '\\r' '\\n'`",
                 file + ":1:" + std::to_string(carriage + 1)};
  }
  return {};
}

Status read_one(InputText& text, const ReadOptions& options, HistoryBuilder& builder,
                AllLaterRows& later) {
  Result<const HistoryFormat*> format = static_cast<const HistoryFormat*>(nullptr);
  const auto sample = text.sample();
  if (!sample) return sample.error();
  if (auto status = check_encoding(*sample, text.name()); !status) return status;
  if (options.format.empty()) {
    format = detect_history_format(*sample, text.name(), options.map);
  } else {
    format = history_format_named(options.format);
  }
  if (!format) return format.error();
  builder.notes().files.push_back(text.name());
  builder.notes().formats.emplace_back((*format)->name);
  ImportRun run{.text = text, .builder = builder, .map = options.map,
                .later = later[(*format)->name]};
  return (*format)->import(run);
}

/// From the first rows and the bytes that they took, how many there will be.
void expect_rest(HistoryBuilder& builder, std::int64_t done, std::int64_t whole) {
  constexpr std::int64_t kFirstRows = 50'000;
  const auto rows = static_cast<std::int64_t>(builder.job_count());
  if (rows < kFirstRows || done <= 0 || whole < done) return;
  builder.expect(static_cast<std::int64_t>(Int128{rows} * whole / done * 13 / 10));
}

/// Reads one file behind `before` bytes of others, of `whole` in all. Value: its bytes.
Result<std::int64_t> read_file(const HistorySource& source, ReadOptions options,
                               HistoryBuilder& builder, AllLaterRows& later, std::int64_t before,
                               std::int64_t whole, const ImportProgress& progress) {
  auto bytes = open_bytes(source.path);
  if (!bytes) return bytes.error();
  std::int64_t done = 0;
  const std::string& name = source.name.empty() ? source.path : source.name;
  InputText text(std::move(*bytes), name == "-" ? "standard input" : name,
                 [&](std::int64_t of_this, std::int64_t) {
                   done = of_this;
                   expect_rest(builder, before + of_this, whole);
                   if (progress) progress(before + of_this, whole);
                 });
  if (!source.format.empty()) options.format = source.format;
  if (auto status = read_one(text, options, builder, later); !status) return status.error();
  return done;
}

std::int64_t bytes_in(const std::string& path) {
  std::error_code error;
  const auto size = std::filesystem::file_size(path, error);
  return error ? 0 : static_cast<std::int64_t>(size);
}

Result<JobHistory> finished(HistoryBuilder& builder, AllLaterRows& later,
                            const std::string& name) {
  for (auto& [format, rows] : later) {
    if (rows) rows->add_all();
  }
  JobHistory history = builder.finish();
  if (!history.jobs().empty()) return history;
  std::string message = "there is no job in it";
  for (const RowKind& kind : history.notes().kinds) {
    message += "; " + std::to_string(kind.count) + " rows: " + kind.kind;
    if (!kind.places.empty()) message += " (" + kind.places.front() + ")";
  }
  return Error{ErrorCode::kInvalidArgument, std::move(message), name};
}

}  // namespace

Result<JobHistory> read_history(const std::vector<std::string>& paths, const ReadOptions& options,
                                const ImportProgress& progress) {
  HistoryBuilder builder;
  AllLaterRows later;
  std::int64_t whole = 0;
  for (const std::string& path : paths) whole += bytes_in(path);
  std::int64_t before = 0;
  for (const std::string& path : paths) {
    const auto done = read_file({.path = path, .name = {}, .format = {}}, options, builder, later,
                                before, whole, progress);
    if (!done) return done.error();
    before += *done;
  }
  return finished(builder, later, paths.empty() ? "" : paths.front());
}

Result<Continued> continue_history(const HistorySource& kept, const HistorySource& fresh,
                                   const ImportProgress& progress) {
  HistoryBuilder builder;
  AllLaterRows later;
  const std::int64_t whole = bytes_in(kept.path) + bytes_in(fresh.path);
  std::int64_t before = 0;
  std::uint32_t kept_rows = 0;
  for (const HistorySource* source : {&kept, &fresh}) {
    if (source->path.empty()) continue;
    const auto done = read_file(*source, {}, builder, later, before, whole, progress);
    if (!done) return done.error();
    before += *done;
    if (source == &kept) kept_rows = builder.row_count();
  }
  for (auto& [format, rows] : later) {
    if (rows) rows->add_all();
  }
  builder.forget_waiting_groups(kept_rows);
  Continued continued{.history = builder.finish(), .kept_rows = kept_rows};
  for (const AttemptRecord& attempt : continued.history.attempts()) {
    const bool open = !attempt.ended && !has_ended(attempt.outcome);
    if (open && attempt.row <= kept_rows) ++continued.untold;
  }
  return continued;
}

Result<JobHistory> read_history_text(std::string text, const std::string& name,
                                     const ReadOptions& options) {
  HistoryBuilder builder;
  AllLaterRows later;
  InputText input(std::make_unique<TextSource>(std::move(text)), name, {});
  if (auto status = read_one(input, options, builder, later); !status) return status.error();
  return finished(builder, later, name);
}

}  // namespace rota::history
