#include "history/zip_source.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <zip.h>

#include <fstream>
#include <sstream>
#include <thread>
#include <utility>
#include <vector>

#include "history/read.h"

namespace rota::history {
namespace {

constexpr const char* kTable = "id,submit,run,gpus\n1,0,5,1\n2,1,5,2\n";

using Members = std::vector<std::pair<std::string, std::string>>;

/// A zip with these files; with a password if there is one.
std::string zip_of(const Members& members, const char* password = nullptr) {
  const std::string path = ::testing::TempDir() + "made.zip";
  int error = 0;
  zip_t* const archive = zip_open(path.c_str(), ZIP_CREATE | ZIP_TRUNCATE, &error);
  EXPECT_NE(archive, nullptr);
  for (const auto& [name, text] : members) {
    zip_source_t* const source = zip_source_buffer(archive, text.data(), text.size(), 0);
    const zip_int64_t at = name.ends_with('/')
                               ? zip_dir_add(archive, name.c_str(), 0)
                               : zip_file_add(archive, name.c_str(), source, 0);
    if (name.ends_with('/')) zip_source_free(source);
    if (password == nullptr) continue;
    EXPECT_EQ(zip_file_set_encryption(archive, static_cast<zip_uint64_t>(at), ZIP_EM_AES_256,
                                      password), 0);
  }
  if (members.empty()) {  // libzip writes none; this is what others write
    zip_discard(archive);
    const std::string empty = std::string("PK\x05\x06", 4) + std::string(18, '\0');
    std::ofstream(path, std::ios::binary) << empty;
    return path;
  }
  EXPECT_EQ(zip_close(archive), 0) << zip_strerror(archive);
  return path;
}

std::string bytes_of(const std::string& path) {
  std::ifstream input(path, std::ios::binary);
  std::ostringstream text;
  text << input.rdbuf();
  return text.str();
}

std::string file_with(const std::string& bytes) {
  const std::string path = ::testing::TempDir() + "changed.zip";
  std::ofstream(path, std::ios::binary) << bytes;
  return path;
}

Error error_of(const std::string& path) {
  const auto read = read_history({path}, {});
  EXPECT_FALSE(read) << path;
  return read ? Error{} : read.error();
}

TEST(ZipSource, TheOnlyFileOrTheSnapshotIsRead) {
  const std::vector<Members> readable{
      {{"../../etc/jobs.csv", kTable}},
      {{"data/", ""}, {"data/jobs.csv", kTable}},
      {{"notes.txt", "x"}, {"snapshot.json", kTable}, {"more.txt", "y"}}};
  for (const Members& members : readable) {
    std::int64_t done = 0;
    std::int64_t whole = 0;
    const auto read = read_history({zip_of(members)}, {}, [&](std::int64_t at, std::int64_t all) {
      EXPECT_GE(at, done);
      done = at;
      whole = all;
    });
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_EQ(read->jobs().size(), 2U);
    EXPECT_EQ(done, whole);
  }
}

TEST(ZipSource, WrongMembersAreNamed) {
  const Error several = error_of(zip_of({{"a.csv", kTable}, {"b\n.csv", kTable}}));
  EXPECT_EQ(several.code, ErrorCode::kUnsupported);
  EXPECT_NE(several.message.find("2 files (a.csv, b .csv)"), std::string::npos) << several.message;
  EXPECT_NE(several.message.find("snapshot.json"), std::string::npos);
  Members many;
  for (int i = 0; i < 6; ++i) many.emplace_back("m" + std::to_string(i), "x");
  EXPECT_NE(error_of(zip_of(many)).message.find("6 files (m0, m1, m2, m3, ...)"),
            std::string::npos);
  EXPECT_NE(error_of(zip_of({{"d/", ""}})).message.find("holds no file"), std::string::npos);
  EXPECT_EQ(error_of(zip_of({})).code, ErrorCode::kUnsupported);
}

TEST(ZipSource, EncryptedZipsSaySo) {
  const Error secret = error_of(zip_of({{"snapshot.json", kTable}}, "word"));
  EXPECT_EQ(secret.code, ErrorCode::kUnsupported);
  EXPECT_NE(secret.message.find("encrypted"), std::string::npos) << secret.message;
}

TEST(ZipSource, CutAndDamagedZipsSaySo) {
  const std::string good = bytes_of(std::string(ROTA_SOURCE_DIR) +
                                    "/tests/data/kubernetes/kai-snapshot.zip");
  for (const std::size_t length : {std::size_t{4}, good.size() / 2, good.size() - 1}) {
    EXPECT_EQ(error_of(file_with(good.substr(0, length))).code, ErrorCode::kCorruption) << length;
  }
  std::string damaged = good;
  for (std::size_t i = 400; i < 440; ++i) damaged[i] = '\x55';
  const Error broken = error_of(file_with(damaged));
  EXPECT_EQ(broken.code, ErrorCode::kCorruption) << broken.message;
  // One byte of the checksum in the directory: the data unpack, but are not what was packed.
  std::string other = good;
  other[good.rfind("PK\x01\x02") + 16] ^= 1;
  EXPECT_EQ(error_of(file_with(other)).code, ErrorCode::kCorruption);
}

TEST(ZipSource, ADirectoryThatLiesAboutTheLengthIsFoundOut) {
  const std::string good = bytes_of(zip_of({{"jobs.csv", std::string(kTable)}}));
  for (const int difference : {-3, 3}) {
    std::string lies = good;
    for (const char* mark : {"PK\x01\x02", "PK\x03\x04"}) {
      const std::size_t at = lies.rfind(mark) + (mark[2] == '\x01' ? 24 : 22);
      lies[at] = static_cast<char>(lies[at] + difference);
    }
    const Error found = error_of(file_with(lies));
    EXPECT_EQ(found.code, ErrorCode::kCorruption) << found.message;
  }
}

TEST(ZipSource, ABombIsStoppedWithoutHoldingIt) {
  const std::string endless = R"({"config":{},"rawObjects":{"pods":[{"x":")" +
                              std::string(70 << 20, 'a');
  const std::string path = zip_of({{"snapshot.json", endless}});
  struct stat facts {};
  ASSERT_EQ(stat(path.c_str(), &facts), 0);
  EXPECT_LT(facts.st_size, 1 << 20);
  const Error found = error_of(path);
  EXPECT_EQ(found.code, ErrorCode::kInvalidArgument);
  EXPECT_NE(found.message.find("64 MiB without the end of an item"), std::string::npos);
}

TEST(ZipSource, APipeIsReadToo) {
  const std::string path = ::testing::TempDir() + "zip.fifo";
  ::unlink(path.c_str());
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  const std::string bytes = bytes_of(zip_of({{"jobs.csv", kTable}}));
  std::thread writer([&] { std::ofstream(path, std::ios::binary) << bytes; });
  const auto read = read_history({path}, {});
  writer.join();
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->jobs().size(), 2U);
}

}  // namespace
}  // namespace rota::history
