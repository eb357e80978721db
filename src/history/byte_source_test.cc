#include "history/byte_source.h"

#include <gtest/gtest.h>
#include <zlib.h>
#include <zstd.h>

#include <fstream>
#include <vector>

#include "history/read.h"

namespace rota::history {
namespace {

std::string table() {
  std::string text = "id,submit,run,gpus\n";
  for (int i = 0; i < 60'000; ++i) text += std::to_string(i) + "," + std::to_string(i) + ",5,1\n";
  return text;
}

std::string gzipped(const std::string& text) {
  z_stream stream{};
  EXPECT_EQ(deflateInit2(&stream, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
  std::string packed(deflateBound(&stream, text.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  return packed;
}

std::string zstandard(const std::string& text) {
  std::string packed(ZSTD_compressBound(text.size()), '\0');
  packed.resize(ZSTD_compress(packed.data(), packed.size(), text.data(), text.size(), 3));
  return packed;
}

std::string file_of(const std::string& name, const std::string& bytes) {
  const std::string path = ::testing::TempDir() + name;
  std::ofstream(path, std::ios::binary) << bytes;
  return path;
}

TEST(ByteSource, PackedFilesAreReadAsTheyAre) {
  const std::string text = table();
  const std::string half = text.substr(0, text.size() / 2);
  const std::string rest = text.substr(text.size() / 2);
  const std::vector<std::string> forms{text, gzipped(text), zstandard(text),
                                       gzipped(half) + gzipped(rest),
                                       zstandard(half) + zstandard(rest)};
  for (const std::string& bytes : forms) {
    std::int64_t last = 0, whole = 0;
    const auto history = read_history({file_of("packed", bytes)}, {},
                                      [&](std::int64_t done, std::int64_t all) {
                                        EXPECT_GE(done, last);
                                        last = done;
                                        whole = all;
                                      });
    ASSERT_TRUE(history) << history.error().message;
    EXPECT_EQ(history->jobs().size(), 60'000U);
    EXPECT_EQ(whole, std::ssize(bytes));
    EXPECT_EQ(last, whole);
  }
}

TEST(ByteSource, DamagedAndCutFilesAreSaidToBeSo) {
  const std::string text = table();
  for (const std::string& packed : {gzipped(text), zstandard(text)}) {
    const auto cut = read_history({file_of("cut", packed.substr(0, packed.size() / 2))}, {});
    ASSERT_FALSE(cut);
    EXPECT_EQ(cut.error().code, ErrorCode::kCorruption);
    std::string damaged = packed;
    for (std::size_t i = packed.size() / 2; i < packed.size() / 2 + 64; ++i) damaged[i] = '\x55';
    const auto broken = read_history({file_of("damaged", damaged)}, {});
    ASSERT_FALSE(broken);
    EXPECT_EQ(broken.error().code, ErrorCode::kCorruption) << broken.error().message;
  }
}

TEST(ByteSource, OtherPackedFormsNameTheCommand) {
  const auto xz = open_bytes(file_of("a.xz", std::string("\xfd"
                                                         "7zXZ\0rest", 10)));
  ASSERT_FALSE(xz);
  EXPECT_NE(xz.error().message.find("unxz"), std::string::npos);
  const auto missing = open_bytes("/nowhere/at/all");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, ErrorCode::kNotFound);
  const auto folder = open_bytes(::testing::TempDir());
  ASSERT_FALSE(folder);
  EXPECT_NE(folder.error().message.find("folder"), std::string::npos);
}

TEST(InputText, LongLinesByteOrderMarksAndMissingLineEnds) {
  const std::string long_name(3 * 1024 * 1024, 'x');
  const auto history = read_history_text("\xef\xbb\xbfid,submit,run,name\r\n1,1,1," + long_name +
                                         "\r\n2,2,2,b", "t.csv", {});
  ASSERT_TRUE(history) << history.error().message;
  ASSERT_EQ(history->jobs().size(), 2U);
  EXPECT_EQ(history->text(history->jobs()[0].name).size(), long_name.size());
  const auto endless = read_history_text("id,submit,run\n" + std::string(17 << 20, 'y'), "t", {});
  ASSERT_FALSE(endless);
  EXPECT_NE(endless.error().message.find("longer than 16 MiB"), std::string::npos);
}

}  // namespace
}  // namespace rota::history
