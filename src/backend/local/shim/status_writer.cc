#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include "backend/local/shim/supervisor.h"
#include "backend/local/shim/system.h"

namespace rota::backend::shim {
namespace {

constexpr int kRetryMilliseconds = 500;
constexpr int kNotifyPatienceMilliseconds = 1000;

}  // namespace

StatusWriter::StatusWriter(std::string attempt_dir, std::int64_t job, std::int64_t attempt,
                           std::int64_t task)
    : path_(attempt_dir + "/" + task_file(task, "status")),
      notify_path_(attempt_dir + "/../../notify"),
      line_(std::to_string(job) + " " + std::to_string(attempt) + " " + std::to_string(task)) {}

bool StatusWriter::claim(const TaskStatus& status) {
  const int fd = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (fd < 0) return false;
  const bool good = write_all(fd, to_json(status).dump());
  ::close(fd);
  return good;
}

void StatusWriter::write(const TaskStatus& status) {
  const std::string text = to_json(status).dump();
  const bool ended = status.phase == Phase::kEnded;
  while (!replace_file(path_, text)) {
    if (errno == ENOENT || !ended) break;  // the folder is gone: nobody wants to know any more
    ::poll(nullptr, 0, kRetryMilliseconds);
  }
  const bool heard = notify(ended ? "ended" : "running");
  // A daemon that hears of it has it in its journal in a moment; else this file is all there is.
  if (ended && !heard) make_durable(path_);
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
