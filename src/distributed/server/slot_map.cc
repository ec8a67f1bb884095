#include "distributed/server/slot_map.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "base/checksum.h"
#include "base/error.h"

namespace trireme::distributed {
namespace {

// As stored: little-endian, with a CRC-32C of all bytes before it at the end.
struct Head {
  char magic[4];
  std::uint32_t format, version, servers;
};
constexpr std::size_t kBytes = sizeof(Head) + 2 * kSlots + sizeof(std::uint32_t);

void check_servers(int servers) {
  if (servers < 1 || servers > kMaxServers) {
    fail_usage(fmt::format("slots are spread over 1 to {} servers, not {}", kMaxServers, servers));
  }
}

// The number of slots of server `place` of `servers`.
int share(int place, int servers) { return kSlots / servers + (place < kSlots % servers ? 1 : 0); }

}  // namespace

SlotMap SlotMap::balanced(int servers, std::uint32_t version) {
  check_servers(servers);
  SlotMap map;
  map.version_ = version;
  map.servers_ = servers;
  std::size_t slot = 0;
  for (int place = 0; place < servers; ++place) {
    for (int i = 0; i < share(place, servers); ++i)
      map.owners_[slot++] = static_cast<std::uint16_t>(place);
  }
  return map;
}

SlotMap SlotMap::moved_to(int servers) const {
  check_servers(servers);
  SlotMap next = *this;
  ++next.version_;
  next.servers_ = servers;
  std::vector<int> has(static_cast<std::size_t>(std::max(servers, servers_)));
  for (const std::uint16_t owner : owners_) {
    if (owner < has.size()) ++has[owner];
  }
  // Servers with most slots get the larger shares, so that no slot moves without need.
  std::vector<int> order(static_cast<std::size_t>(servers));
  for (int i = 0; i < servers; ++i) order[static_cast<std::size_t>(i)] = i;
  std::sort(order.begin(), order.end(), [&](int a, int b) {
    const int has_a = has[static_cast<std::size_t>(a)], has_b = has[static_cast<std::size_t>(b)];
    return has_a > has_b || (has_a == has_b && a < b);
  });
  std::vector<int> room(has.size(), 0);
  for (int i = 0; i < servers; ++i) {
    room[static_cast<std::size_t>(order[static_cast<std::size_t>(i)])] = share(i, servers);
  }
  std::vector<std::size_t> homeless;
  for (std::size_t slot = 0; slot < kSlots; ++slot) {
    const std::uint16_t owner = owners_[slot];
    if (owner < room.size() && room[owner] > 0) {
      --room[owner];
    } else {
      homeless.push_back(slot);
    }
  }
  std::size_t place = 0;
  for (const std::size_t slot : homeless) {
    while (room[place] == 0) ++place;
    --room[place];
    next.owners_[slot] = static_cast<std::uint16_t>(place);
  }
  return next;
}

SlotMap SlotMap::moved(int first, int last, int server) const {
  if (first < 0 || last < first || last > kSlots || server < 0 || server >= kMaxServers) {
    fail_usage(fmt::format("slots [{}, {}) cannot move to server {}", first, last, server));
  }
  SlotMap next = *this;
  ++next.version_;
  next.servers_ = std::max(servers_, server + 1);
  std::fill(next.owners_.begin() + first, next.owners_.begin() + last,
            static_cast<std::uint16_t>(server));
  return next;
}

std::string SlotMap::to_bytes() const {
  const Head head = {{'T', 'R', 'S', 'M'}, 1, version_, static_cast<std::uint32_t>(servers_)};
  std::string bytes(reinterpret_cast<const char*>(&head), sizeof head);
  bytes.append(reinterpret_cast<const char*>(owners_.data()), sizeof owners_);
  const std::uint32_t sum = crc32c(bytes);
  bytes.append(reinterpret_cast<const char*>(&sum), sizeof sum);
  return bytes;
}

SlotMap SlotMap::from_bytes(std::string_view bytes) {
  Head head{};
  std::uint32_t sum = 0;
  if (bytes.size() != kBytes) {
    fail_data(fmt::format("a slot map has {} bytes, not {}", kBytes, bytes.size()));
  }
  std::memcpy(&head, bytes.data(), sizeof head);
  std::memcpy(&sum, bytes.data() + kBytes - sizeof sum, sizeof sum);
  if (std::memcmp(head.magic, "TRSM", 4) != 0 || head.format != 1)
    fail_data("bytes that are no slot map");
  if (crc32c(bytes.substr(0, kBytes - sizeof sum)) != sum) fail_data("a slot map that is damaged");
  if (head.servers > kMaxServers) fail_data("a slot map of too many servers");
  SlotMap map;
  map.version_ = head.version;
  map.servers_ = static_cast<int>(head.servers);
  std::memcpy(map.owners_.data(), bytes.data() + sizeof head, sizeof map.owners_);
  for (const std::uint16_t owner : map.owners_) {
    if (owner != kNobody && owner >= head.servers)
      fail_data("a slot map that names a server it does not have");
  }
  return map;
}

}  // namespace trireme::distributed
