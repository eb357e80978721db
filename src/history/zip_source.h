// The one file of a zip that a history stands in, unpacked while it is read.
#pragma once

#include <cstdio>
#include <memory>
#include <string>

#include "base/result.h"
#include "history/byte_source.h"

namespace rota::history {

/// Reads `snapshot.json` of the zip in `file`, or its only file when there is none of that name;
/// folders do not count. `file` can be positioned and belongs to the source from here on; `name`
/// is for messages. Nothing is written anywhere, so the names of members are only words.
/// Errors: kCorruption (no sound zip, cut, or not what its directory says; also from read(), which
/// checks length and checksum at the end), kUnsupported (encrypted, packed in a way that libzip
/// does not know, or several files of which none is meant). Memory: the zip's directory and one
/// buffer; a member is never held as a whole.
[[nodiscard]] Result<std::unique_ptr<ByteSource>> open_zip(std::FILE* file,
                                                           const std::string& name);

}  // namespace rota::history
