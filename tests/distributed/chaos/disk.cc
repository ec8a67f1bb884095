#include "disk.h"

#include <sys/mount.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <vector>

namespace trireme::chaos {

namespace fs = std::filesystem;

namespace {

constexpr const char* kSize = "size=16m,mode=0700";

void flip(const fs::path& path, std::streamoff at) {
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekg(at);
  const int byte = file.get();
  file.seekp(at);
  file.put(static_cast<char>(byte ^ 0x10));
}

// The parts of a checkpoint that are not empty.
std::vector<fs::path> parts_of(const fs::path& checkpoint) {
  std::vector<fs::path> parts;
  std::error_code ignored;
  for (const auto& file : fs::directory_iterator(checkpoint, ignored)) {
    if (file.path().extension() == ".part") parts.push_back(file.path());
  }
  std::sort(parts.begin(), parts.end());
  return parts;
}

}  // namespace

Disk::Disk(std::string folder)
    : folder_(std::move(folder)),
      mounted_(::mount("chaos", folder_.c_str(), "tmpfs", MS_NOSUID | MS_NODEV, kSize) == 0) {}

Disk::~Disk() {
  if (mounted_) ::umount2(folder_.c_str(), MNT_DETACH);
}

void Disk::fill() const {
  std::ofstream file(folder_ + "/filler", std::ios::binary);
  file << std::unitbuf;
  for (const std::string piece(4096, 'x'); file; file << piece) {
  }
}

void Disk::empty() const {
  std::error_code ignored;
  fs::remove(folder_ + "/filler", ignored);
}

bool Disk::damage_newest(Damage how) {
  std::vector<fs::path> committed;
  std::error_code ignored;
  for (const auto& checkpoint : fs::directory_iterator(checkpoints(), ignored)) {
    if (fs::exists(checkpoint.path() / "committed", ignored)) committed.push_back(checkpoint);
  }
  std::sort(committed.begin(), committed.end());
  if (committed.size() < 2 || damaged_.contains(committed[committed.size() - 2])) return false;
  const std::vector<fs::path> parts = parts_of(committed.back());
  if (parts.empty() || !damaged_.insert(committed.back()).second) return false;
  const auto middle = fs::file_size(parts[0], ignored) / 2;
  if (how == Damage::flip) flip(parts[0], static_cast<std::streamoff>(middle));
  else fs::resize_file(parts[0], middle, ignored);
  return true;
}

}  // namespace trireme::chaos
