#include "distributed/table/disk_tier.h"

#include <fmt/core.h>
#include <rocksdb/db.h>
#include <rocksdb/filter_policy.h>
#include <rocksdb/listener.h>
#include <rocksdb/sst_file_manager.h>
#include <rocksdb/table.h>

#include <array>
#include <atomic>
#include <filesystem>

#include "base/error.h"
#include "distributed/table/no_space.h"

namespace trireme::distributed {
namespace {

constexpr const char* kWrite = "write cold rows";
constexpr const char* kMakeRoom =
    "no row is lost, and the call had no effect: make room there and call again";

// Big-endian, so that keys are in the order of hashes, and with them of slots.
using Key = std::array<char, 8>;
Key disk_key(std::uint64_t hash) {
  Key key;
  for (std::size_t i = 0; i < 8; ++i) key[i] = static_cast<char>(hash >> (56 - 8 * i));
  return key;
}

rocksdb::Slice rocksdb_slice(std::string_view text) { return {text.data(), text.size()}; }
rocksdb::Slice rocksdb_slice(const Key& key) { return {key.data(), key.size()}; }

// After an error RocksDB looks every few seconds whether it may go on. write() tells it to, when
// there is need.
struct NoRecovery : rocksdb::EventListener {
  void OnErrorRecoveryBegin(rocksdb::BackgroundErrorReason, rocksdb::Status,
                            bool* automatic) override {
    *automatic = false;
  }
};

rocksdb::WriteOptions unlogged() {
  rocksdb::WriteOptions options;
  options.disableWAL = true;
  return options;
}

}  // namespace

struct DiskTier::Database {
  std::string table, folder;
  std::uint64_t write_buffer = 0;
  std::unique_ptr<rocksdb::DB> db;
  std::atomic<bool> full{false};

  // Room for what is in memory still. RocksDB is better not led to a full disk: there it takes a
  // second for each try, and a build of it with assertions, as Debian's, ends the process if it is
  // its list of files that does not fit.
  bool has_room() const {
    std::error_code error;
    const auto space = std::filesystem::space(folder, error);
    return error || space.available > 2 * write_buffer;  // of an error RocksDB tells more
  }

  void check(const rocksdb::Status& status, const char* doing, const char* advice) const {
    if (is_full(status)) throw NoSpace(text_of(doing, status.ToString(), advice));
    if (!status.ok()) fail_io(text_of(doing, status.ToString(), advice));
  }
  static bool is_full(const rocksdb::Status& status) {
    return status.IsNoSpace() || status.subcode() == rocksdb::Status::kSpaceLimit ||
           status.subcode() == rocksdb::Status::kNoSpace;
  }
  std::string text_of(const char* doing, const std::string& why, const char* advice) const {
    return fmt::format("sparse table '{}': cannot {} in {}: {}; {}", table, doing, folder, why,
                       advice);
  }
};

DiskTier::DiskTier(const std::string& table, const DiskOptions& options)
    : database_(std::make_unique<Database>()) {
  namespace fs = std::filesystem;
  const fs::path folder = fs::absolute(options.folder).lexically_normal();
  const fs::path named = folder.has_filename() ? folder : folder.parent_path();
  database_->table = table;
  database_->folder = named.string();
  database_->write_buffer = options.write_buffer;
  std::error_code ignored;
  if (!fs::is_directory(named.parent_path(), ignored)) {
    fail(ErrorKind::not_found,
         fmt::format("sparse table '{}': the folder {} for its cold rows is not there", table,
                     named.parent_path().string()));
  }
  rocksdb::Options db;
  db.create_if_missing = true;
  db.write_buffer_size = options.write_buffer;
  db.max_write_buffer_number = 2;
  db.compression = rocksdb::kNoCompression;  // floats that were trained do not compress
  db.info_log_level = rocksdb::WARN_LEVEL;
  db.keep_log_file_num = 2;
  db.max_background_jobs = 2;
  db.max_bgerror_resume_count = 0;
  db.listeners.push_back(std::make_shared<NoRecovery>());
  rocksdb::BlockBasedTableOptions blocks;
  blocks.filter_policy.reset();  // the index in memory knows which rows are here
  blocks.block_size = 4096;
  db.table_factory.reset(rocksdb::NewBlockBasedTableFactory(blocks));
  if (options.limit != 0) {
    db.sst_file_manager.reset(rocksdb::NewSstFileManager(rocksdb::Env::Default()));
    db.sst_file_manager->SetMaxAllowedSpaceUsage(options.limit);
  }
  // RocksDB deletes its own files alone, so a folder named by mistake loses nothing else.
  if (fs::exists(named / "CURRENT", ignored)) {
    database_->check(rocksdb::DestroyDB(database_->folder, db), "wipe the cold rows",
                     "is another process at work in it?");
  } else if (fs::exists(named, ignored) && !fs::is_empty(named, ignored)) {
    fail_usage(fmt::format(
        "sparse table '{}': the folder {} holds something else than cold rows: name another one",
        table, database_->folder));
  }
  rocksdb::DB* opened = nullptr;
  database_->check(rocksdb::DB::Open(db, database_->folder, &opened), "open the cold rows",
                   "is another process at work in it? may we write there?");
  database_->db.reset(opened);
}

DiskTier::~DiskTier() = default;

void DiskTier::write(std::span<const Write> writes) {
  if (!database_->has_room()) {
    database_->full = true;
    throw NoSpace(database_->text_of(kWrite,
                                     fmt::format("No space left on device: {} MB must be free",
                                                 (2 * database_->write_buffer >> 20) + 1),
                                     kMakeRoom));
  }
  rocksdb::WriteBatch batch;
  for (const Write& write : writes) {
    if (write.record.empty()) {
      batch.Delete(rocksdb_slice(disk_key(write.hash)));
    } else {
      batch.Put(rocksdb_slice(disk_key(write.hash)), rocksdb_slice(write.record));
    }
  }
  rocksdb::Status status = database_->db->Write(unlogged(), &batch);
  // After a full disk that other programs filled, RocksDB refuses writes until Resume().
  if (!status.ok() && database_->db->Resume().ok()) {
    status = database_->db->Write(unlogged(), &batch);
  }
  database_->full = Database::is_full(status);
  database_->check(status, kWrite, kMakeRoom);
}

bool DiskTier::is_full() const { return database_->full; }

void DiskTier::erase_range(std::uint64_t first, std::uint64_t last) {
  rocksdb::DB& db = *database_->db;
  const Key from = disk_key(first), to = disk_key(last);
  rocksdb::WriteBatch batch;
  batch.DeleteRange(db.DefaultColumnFamily(), rocksdb_slice(from), rocksdb_slice(to));
  batch.Delete(rocksdb_slice(to));  // the range ends before it
  database_->check(db.Write(unlogged(), &batch), "delete cold rows", "call again");
}

std::vector<std::string> DiskTier::read(std::span<const std::uint64_t> hashes, bool all) const {
  std::vector<Key> keys;
  keys.reserve(hashes.size());
  for (const std::uint64_t hash : hashes) keys.push_back(disk_key(hash));
  std::vector<rocksdb::Slice> slices;
  slices.reserve(keys.size());
  for (const Key& key : keys) slices.push_back(rocksdb_slice(key));
  std::vector<rocksdb::PinnableSlice> found(keys.size());
  std::vector<rocksdb::Status> statuses(keys.size());
  database_->db->MultiGet(rocksdb::ReadOptions(), database_->db->DefaultColumnFamily(), keys.size(),
                          slices.data(), found.data(), statuses.data(), true);
  std::vector<std::string> records;
  records.reserve(keys.size());
  for (std::size_t i = 0; i < keys.size(); ++i) {
    if (statuses[i].IsNotFound() && !all) {
      records.emplace_back();
      continue;
    }
    if (statuses[i].IsNotFound() || statuses[i].IsCorruption()) {
      fail_data(fmt::format("sparse table '{}': a cold row in {} is lost: {}; restore a checkpoint",
                            database_->table, database_->folder, statuses[i].ToString()));
    }
    database_->check(statuses[i], "read cold rows", "the call had no effect");
    records.push_back(found[i].ToString());
  }
  return records;
}

}  // namespace trireme::distributed
