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

Status read_one(InputText& text, const ReadOptions& options, HistoryBuilder& builder,
                AllLaterRows& later) {
  Result<const HistoryFormat*> format = static_cast<const HistoryFormat*>(nullptr);
  if (options.format.empty()) {
    const auto sample = text.sample();
    if (!sample) return sample.error();
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
  for (const std::string& path : paths) {
    std::error_code error;
    const auto size = std::filesystem::file_size(path, error);
    if (!error) whole += static_cast<std::int64_t>(size);
  }
  std::int64_t before = 0;
  for (const std::string& path : paths) {
    auto source = open_bytes(path);
    if (!source) return source.error();
    std::int64_t done = 0;
    InputText text(std::move(*source), path == "-" ? "standard input" : path,
                   [&](std::int64_t of_this, std::int64_t) {
                     done = of_this;
                     expect_rest(builder, before + of_this, whole);
                     if (progress) progress(before + of_this, whole);
                   });
    if (auto status = read_one(text, options, builder, later); !status) return status.error();
    before += done;
  }
  return finished(builder, later, paths.empty() ? "" : paths.front());
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
