#include "distributed/checkpoint/catalog.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <filesystem>

#include "base/checksum.h"
#include "base/error.h"
#include "distributed/coordination/election.h"

namespace trireme::distributed::checkpoint {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kDigits = 12;
constexpr std::size_t kMaxAdopted = 100;  // one transaction's

// A whole number of `base`, or nothing.
std::optional<std::uint64_t> parse_number(std::string_view text, int base = 10) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (error != std::errc() || end != text.data() + text.size() || value > INT64_MAX) return {};
  return value;
}

std::int64_t id_in(const std::optional<Entry>& entry) {
  return entry ? static_cast<std::int64_t>(parse_number(entry->value).value_or(0)) : 0;
}

// Ids of the folders of checkpoints there are, whole or not.
std::vector<std::int64_t> ids_in(const std::string& folder) {
  std::vector<std::int64_t> ids;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    const auto id = name.size() == kDigits ? parse_number(name) : std::nullopt;
    if (id) ids.push_back(static_cast<std::int64_t>(*id));
  }
  return ids;
}

bool newer(const Committed& a, const Committed& b) { return a.id > b.id; }

std::optional<Entry> only(std::vector<Entry> entries) {
  if (entries.empty()) return {};
  return std::move(entries[0]);
}

}  // namespace

// "delta 10 11 4096 0f1e2d3c": kind, base, previous, bytes and CRC32C of the manifest.
std::string committed_text(const Committed& committed) {
  return fmt::format("{} {} {} {} {:08x}", committed.delta ? "delta" : "full", committed.base,
                     committed.previous, committed.manifest.bytes, committed.manifest.crc);
}

Committed parse_committed(std::int64_t id, std::string_view text) {
  std::vector<std::string_view> words;
  for (std::string_view rest = text;;) {
    const std::size_t space = rest.find(' ');
    words.push_back(rest.substr(0, space));
    if (space == std::string_view::npos) break;
    rest.remove_prefix(space + 1);
  }
  if (words.size() == 5 && (words[0] == "full" || words[0] == "delta")) {
    const auto base = parse_number(words[1]), previous = parse_number(words[2]),
               bytes = parse_number(words[3]), crc = parse_number(words[4], 16);
    if (base && previous && bytes && crc && *crc <= UINT32_MAX) {
      return {id,
              words[0] == "delta",
              static_cast<std::int64_t>(*base),
              static_cast<std::int64_t>(*previous),
              {*bytes, static_cast<std::uint32_t>(*crc)}};
    }
  }
  throw Damaged(fmt::format("what is known of checkpoint {} is damaged: \"{}\"", id, text));
}

Catalog::Catalog(Store& store, CatalogOptions options)
    : store_(store), options_(std::move(options)) {
  if (options_.folder.empty() || options_.prefix.empty() || options_.keep < 1) {
    fail_usage("checkpoints need a folder, a prefix of keys, and to keep at least 1");
  }
}

std::string Catalog::folder(std::int64_t id) const {
  return fmt::format("{}/{:012}", options_.folder, id);
}

std::string Catalog::key(std::int64_t id) const {
  return fmt::format("{}at/{:012}", options_.prefix, id);
}

Catalog::Keys Catalog::read() {
  Outcome outcome = store_.commit({.then = {Get{key("next")}, Get{key("latest")}}});
  Keys keys{only(std::move(outcome.got[0])), only(std::move(outcome.got[1])), {}, {}};
  const std::string prefix = key("at/");
  for (const Entry& entry : store_.list(prefix).entries) {
    const auto id = parse_number(std::string_view(entry.key).substr(prefix.size()));
    if (!id) continue;
    keys.ids.insert(static_cast<std::int64_t>(*id));
    try {
      keys.all.push_back(parse_committed(static_cast<std::int64_t>(*id), entry.value));
    } catch (const Damaged&) {  // as if it were not there
    }
  }
  std::sort(keys.all.begin(), keys.all.end(), newer);
  return keys;
}

Outcome Catalog::commit_guarded(Transaction transaction) {
  if (options_.guard) transaction.when.push_back(*options_.guard);
  return store_.commit(transaction);
}

// A Store that knows nothing, such as that of a local job started again, learns what the folder
// holds.
void Catalog::adopt() {
  std::vector<Committed> found;
  for (const std::int64_t id : ids_in(options_.folder)) {
    try {
      found.push_back(parse_committed(id, read_file(marker(id))));
    } catch (const Error&) {  // not committed
    }
  }
  std::sort(found.begin(), found.end(), newer);
  if (found.size() > kMaxAdopted) found.resize(kMaxAdopted);
  Transaction transaction{.when = {absent(key("next"))}};
  transaction.then.emplace_back(Put{key("next"), std::to_string(found.empty() ? 0 : found[0].id)});
  if (!found.empty())
    transaction.then.emplace_back(Put{key("latest"), std::to_string(found[0].id)});
  for (const Committed& one : found) {
    transaction.then.emplace_back(Put{key(one.id), committed_text(one)});
  }
  commit_guarded(std::move(transaction));  // refused: another process has done so, or is the leader
}

Catalog::Keys Catalog::read_or_adopt() {
  Keys keys = read();
  if (keys.next) return keys;
  adopt();
  return read();
}

std::vector<Committed> Catalog::list() { return read_or_adopt().all; }

Begun Catalog::begin(bool delta) {
  make_directories(options_.folder);
  const Keys keys = read_or_adopt();
  Begun begun;
  begun.id = id_in(keys.next);
  for (const std::int64_t id : ids_in(options_.folder)) begun.id = std::max(begun.id, id);
  ++begun.id;
  begun.previous = id_in(keys.latest);
  const auto latest = std::find_if(keys.all.begin(), keys.all.end(),
                                   [&](const Committed& one) { return one.id == begun.previous; });
  begun.delta = delta && latest != keys.all.end();
  begun.base = begun.delta ? latest->base : begun.id;
  begun.folder = folder(begun.id);
  const bool given =
      keys.next && commit_guarded({.when = {unchanged(*keys.next)},
                                   .then = {Put{key("next"), std::to_string(begun.id)}}})
                       .succeeded;
  if (!given) fail_refused(store_, options_.guard, "no checkpoint was begun: another one was, too");
  std::error_code error;
  if (!fs::create_directory(begun.folder, error)) {
    fail_io(fmt::format("cannot create {}: {}", begun.folder,
                        error ? error.message() : "it is there already"));
  }
  sync_name(begun.folder);
  collect(begun.id, keys);
  return begun;
}

void Catalog::commit(const Manifest& manifest) {
  if (const std::string problem = problem_of(manifest); !problem.empty()) {
    fail_usage(fmt::format("checkpoint {} cannot be committed: {}", manifest.id, problem));
  }
  const std::string text = manifest_text(manifest);
  const std::string value = committed_text(
      {manifest.id, manifest.delta, manifest.base, manifest.previous, {text.size(), crc32c(text)}});
  const std::optional<Entry> before = store_.get(key(manifest.id));
  if (!before) {
    check_parts(manifest);
    write_file_atomically(folder(manifest.id) + "/" + kManifestFile, text);
  }
  if ((before && before->value != value) || !put(manifest, value)) {
    fail_refused(store_, options_.guard,
                 fmt::format("checkpoint {} was not committed: another one was since it was begun",
                             manifest.id));
  }
  try {
    retire();
  } catch (const Error&) {  // the checkpoint is committed all the same
  }
}

void Catalog::check_parts(const Manifest& manifest) const {
  for (const Part& part : manifest.parts) {
    const std::string path = folder(manifest.id) + "/" + part.file;
    std::error_code error;
    if (fs::file_size(path, error) != part.sum.bytes || error) {
      throw Damaged(fmt::format("{} is not there in its length of {} bytes", path, part.sum.bytes));
    }
  }
}

// False if the guard does not hold, or another one was committed meanwhile.
bool Catalog::put(const Manifest& manifest, const std::string& value) {
  const std::string latest = key("latest");
  const Outcome outcome = commit_guarded(
      {.when = {absent(key(manifest.id)),
                manifest.previous == 0 ? absent(latest)
                                       : is_value(latest, std::to_string(manifest.previous))},
       .then = {Put{key(manifest.id), value}, Put{latest, std::to_string(manifest.id)}},
       .otherwise = {Get{key(manifest.id)}}});
  return outcome.succeeded || (!outcome.got[0].empty() && outcome.got[0][0].value == value);
}

void Catalog::rewind(std::int64_t id) {
  const Keys keys = read();
  if (id != 0 && !keys.ids.contains(id)) {
    fail_usage(fmt::format("there is no checkpoint {} to go back to", id));
  }
  std::vector<std::int64_t> gone(keys.ids.upper_bound(id), keys.ids.end());
  do {
    Transaction transaction;
    if (id == 0) transaction.then.emplace_back(Erase{key("latest")});
    else transaction.then.emplace_back(Put{key("latest"), std::to_string(id)});
    for (; !gone.empty() && transaction.then.size() < kMaxActions; gone.pop_back()) {
      transaction.then.emplace_back(Erase{key(gone.back())});
    }
    if (!commit_guarded(std::move(transaction)).succeeded) {
      fail_refused(store_, options_.guard, "no checkpoint was forgotten");
    }
  } while (!gone.empty());
}

Manifest Catalog::manifest(const Committed& committed) const {
  const std::string path = folder(committed.id) + "/" + kManifestFile;
  std::string text;
  try {
    text = read_file(path);
  } catch (const Error& error) {
    throw Damaged(error.what());
  }
  if (FileSum{text.size(), crc32c(text)} != committed.manifest) {
    throw Damaged(path + " is damaged: its checksum is another");
  }
  Manifest manifest = parse_manifest(text, path);
  if (manifest.id != committed.id) throw Damaged(path + " is of another checkpoint");
  return manifest;
}

// The folder says which checkpoints are committed, too, for a Store that knows nothing.
void Catalog::mark(const std::vector<Committed>& all) const {
  std::error_code ignored;
  for (const Committed& one : all) {
    if (fs::exists(folder(one.id), ignored) && !fs::exists(marker(one.id), ignored)) {
      write_file_atomically(marker(one.id), committed_text(one));
    }
  }
}

void Catalog::retire() {
  Keys keys = read();
  mark(keys.all);
  int full = 0;
  Transaction transaction;
  for (const Committed& one : keys.all) {
    const bool goes = full >= options_.keep;
    if (!one.delta) ++full;
    if (goes && transaction.then.size() < kMaxActions) {
      transaction.then.emplace_back(Erase{key(one.id)});
    }
  }
  if (!transaction.then.empty() && !commit_guarded(std::move(transaction)).succeeded) return;
  keys = read();
  collect(id_in(keys.latest), keys);
}

// Removes folders of checkpoints before this one that are not committed.
void Catalog::collect(std::int64_t before, const Keys& keys) const {
  for (const std::int64_t id : ids_in(options_.folder)) {
    if (id >= before || keys.ids.contains(id)) continue;
    std::error_code ignored;
    fs::remove(marker(id), ignored);
    fs::remove_all(folder(id), ignored);
  }
}

}  // namespace trireme::distributed::checkpoint
