#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>

#include "backend/local/shim/supervisor.h"
#include "backend/local/shim/system.h"

namespace rota::backend::shim {
namespace {

constexpr int kRetryMilliseconds = 500;
constexpr int kNotifyPatienceMilliseconds = 1000;
constexpr int kTriesMax = 20;

/// What people or the system mend some time.
bool may_pass(int error) {
  return error == ENOSPC || error == EDQUOT || error == EIO || error == EROFS || error == EMFILE ||
         error == ENFILE || error == ENOMEM;
}

}  // namespace

StatusWriter::StatusWriter(const std::string& attempt_dir, std::int64_t job, std::int64_t attempt,
                           std::int64_t task)
    : attempt_dir_(attempt_dir),
      task_(task),
      notify_path_(attempt_dir + "/../../notify"),
      line_(std::to_string(job) + " " + std::to_string(attempt) + " " + std::to_string(task)) {}

std::string StatusWriter::path_of(Phase phase) const {
  return attempt_dir_ + "/" + task_file(task_, file_of(phase));
}

bool StatusWriter::claim(const TaskStatus& status) {
  return create_file(path_of(Phase::kStarting), to_json(status).dump());
}

void StatusWriter::write(const TaskStatus& status) {
  const std::string text = to_json(status).dump();
  const std::string path = path_of(status.phase);
  const bool ended = status.phase == Phase::kEnded;
  if (!ended) {
    create_file(path, text);  // half a file reads as none
  } else {
    for (int tries = 0; !replace_file(path, text); ++tries) {
      if (errno == ENOENT || errno == ENOTDIR) break;  // gone: nobody wants to know any more
      if (errno == EISDIR) ::rename(path.c_str(), (path + ".folder").c_str());
      if (tries >= kTriesMax && !may_pass(errno)) break;
      ::poll(nullptr, 0, kRetryMilliseconds);
    }
  }
  const bool heard = notify(ended ? "ended" : "running");
  // A daemon that hears of it has it in its journal in a moment; else this file is all there is.
  if (ended && !heard) make_durable(path);
}

bool StatusWriter::notify(const char* word) const {
  const int fd = ::open(notify_path_.c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC);
  if (fd < 0) return false;  // no daemon now; it reads the files when it starts
  const std::string line = line_ + " " + word + "\n";
  pollfd wait{fd, POLLOUT, 0};
  const bool sent = ::poll(&wait, 1, kNotifyPatienceMilliseconds) > 0 && write_all(fd, line);
  ::close(fd);
  return sent;
}

}  // namespace rota::backend::shim
