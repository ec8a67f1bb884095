// Known data sets from their public origins, by the program curl: it has TLS, proxies, redirections
// and progress, and no program that does not download loads a library for it.

#include <fcntl.h>
#include <fmt/core.h>
#include <fmt/ranges.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "base/error.h"
#include "base/file.h"
#include "base/sha256.h"
#include "data/blob.h"
#include "data/find.h"
#include "trireme/known_data.h"

extern "C" char** environ;

namespace trireme::data {
namespace {

struct RemoteFile {
  std::string file;  // name on this machine
  std::string url;
  std::string sha256;  // of the unpacked content, since servers pack in several ways
};

struct RemoteDataset {
  std::string name;
  std::vector<RemoteFile> files;
};

std::vector<RemoteFile> idx_files(const std::string& origin,
                                  const std::vector<std::string>& digests) {
  std::vector<RemoteFile> files;
  for (const char* stem : {"train-images-idx3-ubyte.gz", "train-labels-idx1-ubyte.gz",
                           "t10k-images-idx3-ubyte.gz", "t10k-labels-idx1-ubyte.gz"}) {
    files.push_back({stem, origin + stem, digests[files.size()]});
  }
  return files;
}

std::vector<RemoteDataset> make_remote() {
  const std::string github = "https://raw.githubusercontent.com/";
  const std::string nltk = github + "nltk/nltk_data/gh-pages/packages/corpora/";
  const std::string banking = github + "PolyAI-LDN/task-specific-datasets/master/banking_data/";
  const std::string frappe = github + "hexiangnan/neural_factorization_machine/master/data/frappe/";
  return {
      {"banking77",
       {{"banking77.train.csv", banking + "train.csv",
         "b06e26ac675513959a63135f11b94ea7786ed02da65db93a5650d8838cbc664b"},
        {"banking77.test.csv", banking + "test.csv",
         "d12d6e3bc4c3103966ae786dc435913c0c563dfa328f5a3646d0e62cfeeb474d"}}},
      {"california_housing",
       {{"california_housing.csv",
         github + "ageron/handson-ml2/master/datasets/housing/housing.csv",
         "8a3727f4cf54ac1a327f69b1d5b4db54c5834ea81c6e4efc0d163300022a685e"}}},
      {"clinc150",
       {{"clinc150.json", github + "clinc/oos-eval/master/data/data_full.json",
         "36923c3705a59e08fe9c3883d8bc2dd966ef93e22cb78ac41171782a698d56e0"}}},
      {"fashion_mnist",
       idx_files("http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/",
                 {"c59f468a2f672dc815687fe0f83887768d799fd8a3f3276145d20f83aa44d888",
                  "bad3541b69d912435c50bb6ba87bec294ff4f6a2e1246121d8633921760443d9",
                  "5b4141f0afbad91edebe8549f8fcffe087ea10ca49f1dbef5c9a5cd8815ce37b",
                  "0402a96d92fd2663957122ceb108a494c5af83dab82d92729df917d7dec38c34"})},
      {"frappe",
       {{"frappe.validation.libfm", frappe + "frappe.validation.libfm",
         "fdf4be563a7dd9b15f7a6e8b32671e90e6e7a2a2bd3af4e10bf13c5ad7e76e9e"},
        {"frappe.test.libfm", frappe + "frappe.test.libfm",
         "a2ebaef3a9af8e55f8bb0d08bc4923965e42e43760ebd7635ac2f8c5db99e097"}}},
      {"mnist", idx_files("https://ossci-datasets.s3.amazonaws.com/mnist/",
                          {"ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db",
                           "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5",
                           "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7",
                           "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2"})},
      {"movie_reviews",
       {{"movie_reviews.zip", nltk + "movie_reviews.zip",
         "a41211ae685019137410268134db6a1a14428c89b671eb83056151a878539008"}}},
      {"sentence_polarity",
       {{"sentence_polarity.zip", nltk + "sentence_polarity.zip",
         "6e1ed4405b65c7eabf1d199a7f7c437091ac21da0ea7467b410a74062574566b"}}},
      {"tiny_shakespeare",
       {{"tinyshakespeare.txt", github + "karpathy/char-rnn/master/data/tinyshakespeare/input.txt",
         "86c4e6aa9db7c042ec79f339dcb96d42b0075e16b8fc2e86bf0ca57e2dc565ed"}}},
  };
}

const std::vector<RemoteDataset>& remote_datasets() {
  static const std::vector<RemoteDataset> all = make_remote();
  return all;
}

const RemoteDataset& remote_dataset(std::string_view name) {
  const std::vector<std::string> known = downloadable_datasets();
  for (const RemoteDataset& dataset : remote_datasets()) {
    if (dataset.name == name) return dataset;
  }
  for (const KnownPlace& place : known_places()) {
    if (place.name != name) continue;
    fail_usage(
        fmt::format("download: no public origin of {} is known\n  hint   {}", name, place.advice));
  }
  const std::string near = nearest(std::string(name), known);
  fail_usage(fmt::format("download: there is no data set \"{}\"; {}", name,
                         near.empty() ? fmt::format("there are {}", fmt::join(known, ", "))
                                      : "did you mean \"" + near + "\"?"));
}

// The output of a child process on stderr, and its end.
struct ChildResult {
  int status = 0;
  std::string errors;
};

std::string read_all(int fd) {
  std::string text;
  char part[4096];
  for (;;) {
    const ssize_t count = ::read(fd, part, sizeof part);
    if (count > 0) text.append(part, static_cast<std::size_t>(count));
    else if (count == 0 || errno != EINTR) break;
  }
  return text;
}

// Runs curl. `progress`: it writes to our stderr itself.
ChildResult run_curl(std::vector<std::string> arguments, bool progress) {
  arguments.insert(arguments.begin(), "curl");
  std::vector<char*> pointers;
  for (std::string& argument : arguments) pointers.push_back(argument.data());
  pointers.push_back(nullptr);
  int ends[2] = {-1, -1};
  if (::pipe2(ends, O_CLOEXEC) != 0) {
    fail_io(fmt::format("download: cannot make a pipe: {}", std::strerror(errno)));
  }
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  if (!progress) posix_spawn_file_actions_adddup2(&actions, ends[1], 2);
  pid_t child = 0;
  const int failure = ::posix_spawnp(&child, "curl", &actions, nullptr, pointers.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  ::close(ends[1]);
  ChildResult result;
  if (failure == 0) {
    result.errors = read_all(ends[0]);
    while (::waitpid(child, &result.status, 0) < 0 && errno == EINTR) {
    }
  }
  ::close(ends[0]);
  if (failure != 0) {
    fail_io(fmt::format("download: cannot run curl: {}\n  hint   apt-get install curl",
                        std::strerror(failure)));
  }
  return result;
}

std::string last_line(std::string text) {
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text.substr(text.rfind('\n') + 1);
}

void fetch(const std::string& url, const std::string& path, bool progress) {
  const ChildResult curl = run_curl({"--fail",
                                     "--location",
                                     "--show-error",
                                     progress ? "--progress-bar" : "--silent",
                                     "--proto",
                                     "=http,https,file",
                                     "--proto-redir",
                                     "=http,https",
                                     "--connect-timeout",
                                     "20",
                                     "--speed-time",
                                     "60",
                                     "--speed-limit",
                                     "1",
                                     "--retry",
                                     "2",
                                     "--output",
                                     path,
                                     "--url",
                                     url},
                                    progress);
  if (curl.status == 0) return;
  const std::string cause = last_line(curl.errors);
  fail_io(
      fmt::format("download: cannot get {}{}\n  hint   check the network, or set https_proxy, "
                  "or name a mirror",
                  url, cause.empty() ? "" : ": " + cause));
}

std::string content_digest(const std::string& path) { return sha256(read_blob(path).bytes); }

bool is_correct(const std::string& path, const std::string& digest) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) return false;
  try {
    return content_digest(path) == digest;
  } catch (const Error&) {
    return false;  // damaged
  }
}

std::string address_of(const RemoteFile& file, const DownloadOptions& options) {
  if (options.mirror.empty()) return file.url;
  return options.mirror + (options.mirror.ends_with('/') ? "" : "/") + file.file;
}

void download_file(const RemoteFile& file, const std::string& path,
                   const DownloadOptions& options) {
  const std::string url = address_of(file, options);
  Temporary::remove_stale(path);
  try {
    Temporary temporary = Temporary::file(path);
    if (options.before_file) options.before_file(url, path);
    fetch(url, temporary.path(), options.progress);
    const std::string digest = content_digest(temporary.path());
    if (digest != file.sha256) {
      fail_data(
          fmt::format("download: {} has other content than expected: SHA-256 {}, not {}\n"
                      "  hint   the file has changed at its origin, or on the way",
                      url, digest, file.sha256));
    }
    std::filesystem::permissions(temporary.path(), std::filesystem::perms(0644));
    if (::fsync(temporary.fd()) != 0) throw std::system_error(errno, std::generic_category());
    std::filesystem::rename(temporary.path(), path);
    temporary.keep();
  } catch (const std::system_error& error) {
    fail_io(fmt::format("download: cannot write {}: {}", path, error.code().message()));
  }
  sync_name(path);
}

std::string target_directory(const DownloadOptions& options) {
  if (!options.directory.empty()) return options.directory;
  if (const char* root = std::getenv("TRIREME_DATA"); root != nullptr && *root != '\0') {
    return root;
  }
  fail_usage(
      "download: no directory\n  hint   name one, or set TRIREME_DATA, where data sets are "
      "looked for");
}

}  // namespace

std::vector<std::string> downloadable_datasets() {
  std::vector<std::string> names;
  for (const RemoteDataset& dataset : remote_datasets()) names.push_back(dataset.name);
  return names;
}

std::vector<std::string> download(std::string_view name, const DownloadOptions& options) {
  const RemoteDataset& dataset = remote_dataset(name);
  const std::filesystem::path folder =
      std::filesystem::path(target_directory(options)) / known_place(name).folders.front();
  make_directories(folder.string());
  std::vector<std::string> paths;
  for (const RemoteFile& file : dataset.files) {
    paths.push_back((folder / file.file).string());
    if (!is_correct(paths.back(), file.sha256)) download_file(file, paths.back(), options);
  }
  return paths;
}

}  // namespace trireme::data
