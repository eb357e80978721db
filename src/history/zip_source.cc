#include "history/zip_source.h"

#include <sys/stat.h>
#include <zip.h>

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text.h"
#include "history/words.h"

namespace rota::history {
namespace {

constexpr std::string_view kSnapshotMember = "snapshot.json";  // as the KAI scheduler names it
constexpr zip_int64_t kMembersMax = 100'000;
constexpr std::size_t kMembersNamed = 4;

struct CloseZip {
  void operator()(zip_t* archive) const { zip_discard(archive); }
};
struct CloseMember {
  void operator()(zip_file_t* member) const { zip_fclose(member); }
};
using Archive = std::unique_ptr<zip_t, CloseZip>;
using Member = std::unique_ptr<zip_file_t, CloseMember>;

Error damaged_zip(const std::string& name, const std::string& what) {
  return {ErrorCode::kCorruption,
          "'" + name + "': the zip " + what + "; was it copied whole? `unzip -t` tests it"};
}

class ZipSource : public ByteSource {
 public:
  ZipSource(Archive archive, Member member, const zip_stat_t& facts, std::int64_t whole,
            std::string name)
      : archive_(std::move(archive)), member_(std::move(member)), told_(facts.size),
        whole_(whole), name_(std::move(name)) {}

  Result<std::size_t> read(char* into, std::size_t size) override {
    const zip_int64_t got = zip_fread(member_.get(), into, size);
    if (got < 0) {
      return damaged_zip(name_, std::string("holds damaged data (") +
                                    zip_file_strerror(member_.get()) + ")");
    }
    given_ += static_cast<zip_uint64_t>(got);
    if (given_ > told_) return damaged_zip(name_, "holds more data than its directory says");
    if (got == 0 && given_ < told_) return damaged_zip(name_, "ends too early");
    return static_cast<std::size_t>(got);
  }

  /// What was unpacked, as its part of the file.
  [[nodiscard]] std::int64_t bytes_taken() const override {
    if (told_ == 0) return whole_;
    const long double part = static_cast<long double>(given_) / static_cast<long double>(told_);
    return static_cast<std::int64_t>(part * static_cast<long double>(whole_));
  }
  [[nodiscard]] std::int64_t bytes_whole() const override { return whole_; }

 private:
  Archive archive_;  // outlives the member
  Member member_;
  zip_uint64_t told_;
  zip_uint64_t given_ = 0;
  std::int64_t whole_;
  std::string name_;
};

Result<Archive> open_archive(std::FILE* file, const std::string& name) {
  zip_error_t error;
  zip_error_init(&error);
  zip_source_t* const source = zip_source_filep_create(file, 0, -1, &error);
  if (source == nullptr) {
    std::fclose(file);
    return damaged_zip(name, std::string("cannot be read (") + zip_error_strerror(&error) + ")");
  }
  Archive archive(zip_open_from_source(source, ZIP_RDONLY, &error));
  if (archive) return archive;
  zip_source_free(source);  // closes the file
  Error failed =
      damaged_zip(name, std::string("is not sound (") + zip_error_strerror(&error) + ")");
  zip_error_fini(&error);
  return failed;
}

/// The place of the member that is meant.
Result<zip_uint64_t> member_of(zip_t* archive, const std::string& name) {
  const zip_int64_t count = zip_get_num_entries(archive, 0);
  if (count > kMembersMax) return damaged_zip(name, "has more than 100,000 members");
  std::vector<std::string> files;
  std::optional<zip_uint64_t> found;
  std::int64_t several = 0;
  for (zip_int64_t i = 0; i < count; ++i) {
    const char* const text = zip_get_name(archive, static_cast<zip_uint64_t>(i), ZIP_FL_ENC_RAW);
    if (text == nullptr) return damaged_zip(name, "has a member without a name");
    const std::string_view member(text);
    if (member == kSnapshotMember) return static_cast<zip_uint64_t>(i);
    if (member.ends_with('/')) continue;
    found = static_cast<zip_uint64_t>(i);
    if (++several <= std::ssize(files) + 1 && files.size() < kMembersNamed) {
      files.push_back(without_control(member.substr(0, 60)));
    }
  }
  if (several == 1) return *found;
  if (several == 0) {
    return Error{ErrorCode::kUnsupported, "'" + name + "': the zip holds no file"};
  }
  return Error{ErrorCode::kUnsupported,
               "'" + name + "': the zip holds " + std::to_string(several) + " files (" +
                   join(files, ", ") + (std::ssize(files) < several ? ", ..." : "") +
                   "); expected one file or a snapshot.json. Unpack it with `unzip` and name the "
                   "files"};
}

}  // namespace

Result<std::unique_ptr<ByteSource>> open_zip(std::FILE* file, const std::string& name) {
  struct stat status {};
  const std::int64_t whole = fstat(fileno(file), &status) == 0 ? status.st_size : 0;
  auto archive = open_archive(file, name);
  if (!archive) return archive.error();
  const auto place = member_of(archive->get(), name);
  if (!place) return place.error();
  zip_stat_t facts;
  zip_stat_init(&facts);
  constexpr zip_uint64_t kNeeded = ZIP_STAT_SIZE | ZIP_STAT_ENCRYPTION_METHOD;
  if (zip_stat_index(archive->get(), *place, 0, &facts) != 0 ||
      (facts.valid & kNeeded) != kNeeded) {
    return damaged_zip(name, "has a damaged directory");
  }
  if (facts.encryption_method != ZIP_EM_NONE) {
    return Error{ErrorCode::kUnsupported,
                 "'" + name + "': the zip is encrypted; unpack it with `unzip` and its password "
                              "first"};
  }
  Member member(zip_fopen_index(archive->get(), *place, 0));
  if (!member) {
    const int code = zip_error_code_zip(zip_get_error(archive->get()));
    const std::string why = zip_strerror(archive->get());
    if (code != ZIP_ER_COMPNOTSUPP && code != ZIP_ER_ENCRNOTSUPP) {
      return damaged_zip(name, "is not sound (" + why + ")");
    }
    return Error{ErrorCode::kUnsupported, "'" + name + "': the zip is packed in a way that is not "
                                          "read (" + why + "); unpack it with `unzip` first"};
  }
  return std::unique_ptr<ByteSource>(
      new ZipSource(std::move(*archive), std::move(member), facts, whole, name));
}

}  // namespace rota::history
