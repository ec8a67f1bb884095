#include "distributed/placement/small_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "base/error.h"

namespace trireme::distributed {
namespace {

constexpr std::size_t kLargest = 64 * 1024;

[[noreturn]] void fail_with(const std::string& path, const std::string& what) {
  const int error = errno;
  fail(error == ENOENT ? ErrorKind::not_found : ErrorKind::io,
       path + " " + what + ": " + std::strerror(error));
}

class File {
 public:
  explicit File(int number) : number_(number) {}
  ~File() { ::close(number_); }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  operator int() const { return number_; }

 private:
  const int number_;
};

// Writes a synced file beside `path` and returns its name.
std::string write_beside(const std::string& path, const std::string& content) {
  std::string beside = path + ".XXXXXX";
  const int opened = ::mkostemp(beside.data(), O_CLOEXEC);  // with mode 0600
  if (opened < 0) {
    if (errno == ENOENT) errno = ENOTDIR;
    fail_with(path, "cannot be written");
  }
  const File file(opened);
  std::size_t done = 0;
  while (done < content.size()) {
    const ssize_t count = ::write(file, content.data() + done, content.size() - done);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) {
      const int error = errno;
      ::unlink(beside.c_str());
      errno = error;
      fail_with(path, "cannot be written");
    }
    done += static_cast<std::size_t>(count);
  }
  ::fsync(file);
  return beside;
}

}  // namespace

std::string read_small_file(const std::string& path) {
  const int opened = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (opened < 0) fail_with(path, "cannot be read");
  const File file(opened);
  std::string content;
  std::array<char, 4096> part;
  for (;;) {
    const ssize_t count = ::read(file, part.data(), part.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) fail_with(path, "cannot be read");
    if (count == 0) return content;
    content.append(part.data(), static_cast<std::size_t>(count));
    if (content.size() > kLargest) fail_usage(path + " is too large to be what it should be");
  }
}

bool create_small_file(const std::string& path, const std::string& content) {
  const std::string beside = write_beside(path, content);
  const int failed = ::link(beside.c_str(), path.c_str()) == 0 ? 0 : errno;
  ::unlink(beside.c_str());
  if (failed != 0 && failed != EEXIST) {
    errno = failed;
    fail_with(path, "cannot be written");
  }
  return failed == 0;
}

void make_private_folder(const std::string& path) {
  if (::mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) fail_with(path, "cannot be made");
  struct stat status{};
  if (::lstat(path.c_str(), &status) != 0 || !S_ISDIR(status.st_mode)) {
    fail_io(path + " is no folder");
  }
  if (status.st_uid != ::geteuid() || (status.st_mode & 077) != 0) {
    fail_io(path + " is open to others, and secrets of a job lie there");
  }
}

void replace_small_file(const std::string& path, const std::string& content) {
  const std::string beside = write_beside(path, content);
  if (::rename(beside.c_str(), path.c_str()) == 0) return;
  const int error = errno;
  ::unlink(beside.c_str());
  errno = error;
  fail_with(path, "cannot be written");
}

}  // namespace trireme::distributed
