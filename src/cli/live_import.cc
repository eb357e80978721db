#include "cli/live_import.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <utility>
#include <vector>

#include "base/text.h"
#include "cli/offline.h"
#include "cli/process.h"
#include "cli/time_text.h"
#include "cli/usage.h"
#include "history/csv/rota_csv.h"

namespace rota::cli {
namespace {

constexpr std::string_view kMark = "# rota import --from-slurm, read until ";
constexpr std::chrono::seconds kSacctPatience{3600};

/// Closes what it holds.
class OpenFile {
 public:
  OpenFile() = default;
  explicit OpenFile(int fd) : fd_(fd) {}
  OpenFile(OpenFile&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  OpenFile& operator=(OpenFile&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~OpenFile() {
    if (fd_ >= 0) ::close(fd_);
  }
  [[nodiscard]] int fd() const { return fd_; }

 private:
  int fd_ = -1;
};

Error cannot(const std::string& verb, const std::string& path) {
  return usage_error("--into: cannot " + verb + " '" + path + "': " + std::strerror(errno));
}

/// The new file beside the old one, until it has its place; an error takes it away.
class PartFile {
 public:
  PartFile(OpenFile file, std::string path) : file_(std::move(file)), path_(std::move(path)) {}
  PartFile(PartFile&& other) noexcept
      : file_(std::move(other.file_)), path_(std::exchange(other.path_, {})) {}
  PartFile& operator=(PartFile&&) = delete;
  ~PartFile() {
    if (!path_.empty()) ::unlink(path_.c_str());
  }
  [[nodiscard]] int fd() const { return file_.fd(); }
  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] Status take_place_of(const std::string& path) {
    if (::rename(path_.c_str(), path.c_str()) != 0) return cannot("replace", path);
    path_.clear();
    return {};
  }

 private:
  OpenFile file_;
  std::string path_;  // empty once it is no part any more
};

/// Opens it, locked against other imports. One that an import left behind
/// when it was killed is taken over.
Result<PartFile> open_part(const std::string& path) {
  for (int tries = 0; tries < 100; ++tries) {
    OpenFile part(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666));
    if (part.fd() < 0) return cannot("write", path);
    if (::flock(part.fd(), LOCK_EX | LOCK_NB) != 0) {
      return Error{ErrorCode::kConflict, "another import writes '" + path + "' at this moment"};
    }
    struct stat there {};
    struct stat held {};
    const bool same = ::stat(path.c_str(), &there) == 0 && ::fstat(part.fd(), &held) == 0 &&
                      there.st_ino == held.st_ino && there.st_dev == held.st_dev;
    if (same) return PartFile(std::move(part), path);  // else another import has just renamed it
  }
  return Error{ErrorCode::kConflict, "other imports write '" + path + "' all the time"};
}

struct KeptFile {
  bool exists = false;
  std::optional<std::int64_t> until;  // as its first line says
  mode_t mode = 0;
};

Result<KeptFile> look_at(const std::string& path) {
  KeptFile kept;
  struct stat facts {};
  if (::stat(path.c_str(), &facts) != 0) {
    if (errno == ENOENT) return kept;
    return cannot("read", path);
  }
  if (!S_ISREG(facts.st_mode)) return usage_error("--into '" + path + "' is no plain file");
  kept.exists = facts.st_size > 0;
  kept.mode = facts.st_mode & 07777;
  if (!kept.exists) return kept;
  std::ifstream input(path, std::ios::binary);
  std::string start(4096, '\0');
  input.read(start.data(), static_cast<std::streamsize>(start.size()));
  start.resize(static_cast<std::size_t>(std::max<std::streamsize>(input.gcount(), 0)));
  if (start.empty()) return cannot("read", path);
  if (!history::is_rota_csv(start)) {
    return usage_error("--into '" + path + "' is no history in Rota's own form and is left as it "
                       "is; name a new file, or one that `rota import` has written");
  }
  if (start.starts_with(kMark)) {
    const std::string line = start.substr(kMark.size(), start.find('\n') - kMark.size());
    kept.until = parse_iso_time(line);
  }
  return kept;
}

Result<std::int64_t> since_of(const SlurmImport& options, const KeptFile& kept,
                              std::int64_t now) {
  if (options.since) return *options.since;
  if (kept.until) return *kept.until - options.overlap.whole_seconds();
  if (kept.exists) {
    return usage_error("--into '" + options.into + "' does not say until when it was read; say "
                       "from when on sacct is to tell, like --since 7d");
  }
  return now - options.first.whole_seconds();
}

/// What sacct wrote to its errors, in one line.
std::string said(std::string text) {
  for (char& c : text) {
    if (static_cast<unsigned char>(c) < 32) c = ' ';
  }
  const std::size_t end = text.find_last_not_of(' ');
  text.resize(end == std::string::npos ? 0 : end + 1);
  return text.empty() ? "it said nothing" : "it said: " + text.substr(0, 600);
}

/// A temporary file without a name that holds what sacct tells since then, in UTC.
Result<OpenFile> run_sacct(std::int64_t since) {
  std::FILE* const unnamed = std::tmpfile();
  OpenFile output(unnamed == nullptr ? -1 : ::fcntl(::fileno(unnamed), F_DUPFD_CLOEXEC, 3));
  if (unnamed != nullptr) std::fclose(unnamed);
  if (output.fd() < 0) {
    return Error{ErrorCode::kUnavailable,
                 std::string("cannot make a temporary file: ") + std::strerror(errno)};
  }
  std::string from = iso_time(since);
  from.pop_back();  // sacct reads and writes the time of its zone, which is set to UTC
  const std::vector<std::string> argv{"sacct", "-a", "-D", "-P", "-o", "ALL", "-S", from};
  const auto end = run_program(argv, output.fd(),
                               {"TZ=UTC0", "LC_ALL=C", "SLURM_TIME_FORMAT", "SACCT_FORMAT"},
                               kSacctPatience);
  const std::string command = "`" + join(argv, " ") + "`";
  if (!end && end.error().code == ErrorCode::kNotFound) {
    return Error{ErrorCode::kNotFound,
                 "there is no program sacct on the PATH; run this where Slurm's commands are, or "
                 "bring an export here and read it with `rota import FILE`"};
  }
  if (!end) return end.error();
  if (end->code != 0) {
    return Error{ErrorCode::kUnavailable, command + " ended with " + std::to_string(end->code) +
                                              "; " + said(end->errors)};
  }
  struct stat facts {};
  if (::fstat(output.fd(), &facts) == 0 && facts.st_size == 0) {
    return Error{ErrorCode::kUnavailable, command + " told nothing, not even its columns; " +
                                              said(end->errors)};
  }
  return output;
}

/// Writes the part and puts it in the place of the file.
Status replace_file(const history::JobHistory& history, std::int64_t until, PartFile& part,
                    const std::string& path) {
  std::ofstream output(part.path(), std::ios::binary | std::ios::trunc);
  output << kMark << iso_time(until) << "\n";
  history::write_history_csv(history, output);
  output.close();
  if (!output || ::fsync(part.fd()) != 0) return cannot("write", part.path());
  if (auto status = part.take_place_of(path); !status) return status;
  const std::string folder = std::filesystem::path(path).parent_path().string();
  const OpenFile above(::open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_CLOEXEC));
  if (above.fd() >= 0) ::fsync(above.fd());
  return {};
}

/// The file itself where `path` is a symbolic link to it.
std::string followed(const std::string& path) {
  std::error_code error;
  const auto real = std::filesystem::canonical(path, error);
  return error ? path : real.string();
}

}  // namespace

Result<SlurmImported> import_from_slurm(Context& context, const SlurmImport& options) {
  const std::string path = followed(options.into);
  if (const auto before = look_at(path); !before) return before.error();
  auto part = open_part(path + ".part");
  if (!part) return part.error();
  const auto kept = look_at(path);  // again, now that nobody else replaces it
  if (!kept) return kept.error();
  SlurmImported imported;
  imported.until = context.now_seconds();
  const auto since = since_of(options, *kept, imported.until);
  if (!since) return since.error();
  imported.since = *since;
  const auto fresh = run_sacct(imported.since);
  if (!fresh) return fresh.error();
  Progress progress(context, "reading");
  auto read = history::continue_history(
      {.path = kept->exists ? path : "", .name = options.into, .format = "rota"},
      {.path = "/proc/self/fd/" + std::to_string(fresh->fd()), .name = "sacct", .format = "sacct"},
      [&](std::int64_t done, std::int64_t whole) {
        if (whole > 0) progress.show(std::min(done, whole), whole);
      });
  if (!read) return read.error();
  imported.history = std::move(read->history);
  imported.attempts_before = read->kept_rows;
  imported.untold = read->untold;
  if (kept->mode != 0) ::fchmod(part->fd(), kept->mode);
  if (auto status = replace_file(imported.history, imported.until, *part, path); !status) {
    return status.error();
  }
  return imported;
}

}  // namespace rota::cli
