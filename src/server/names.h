// Which texts may be names: of jobs, queues and in comments. Pure.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "model/queue.h"

namespace rota::server {

constexpr std::size_t kJobNameBytesMax = 200;
constexpr std::size_t kQueueNameBytesMax = 128;

/// False for what changes how the text around it is shown, or breaks its line: control characters
/// of ASCII and Latin-1 (U+0080 to U+009F), line and paragraph separators, and those that turn the
/// direction of writing.
[[nodiscard]] bool is_plain_text(std::string_view text);

/// At most 200 bytes of plain text, not blanks alone. Error: kInvalidArgument.
[[nodiscard]] Status check_job_name(const std::string& name);
/// `text` with what is_plain_text() refuses made `_`, and at most 200 bytes of whole characters: a
/// name for a job that was given none.
[[nodiscard]] std::string plain_job_name(std::string_view text);
/// Plain text in any number of lines. Error: kInvalidArgument.
[[nodiscard]] Status check_comment(const std::string& comment);

/// Letters, digits, `.`, `_` and `-`, in levels with `/` between them; 128 characters at most; no
/// level is empty, begins with `-` or consists of dots. Error: kInvalidArgument.
[[nodiscard]] Status check_queue_name(const std::string& name);
/// A quota is no more than its limit. Error: kInvalidArgument.
[[nodiscard]] Status check_queue_amounts(const QueueSpec& queue);

}  // namespace rota::server
