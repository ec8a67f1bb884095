#include "judge.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "program.h"
#include "trireme/saved_model.h"

namespace trireme::chaos {

namespace {

constexpr std::int64_t kTask = kBatch * kTaskBatches;

// How often each record may be counted after the first time in each epoch.
std::vector<std::int64_t> again_by_record(const HandOuts& handed, std::size_t records,
                                          std::int64_t epochs) {
  const data::Dataset all = chaos::records(static_cast<std::int64_t>(records));
  std::vector<std::int64_t> again(records);
  for (std::int64_t epoch = 1; epoch <= epochs; ++epoch) {
    const std::vector<std::int64_t> order = all.order(epoch - 1);
    for (std::size_t at = 0; at < records; ++at) {
      again[static_cast<std::size_t>(order[at])] +=
          handed.again(epoch, static_cast<std::int64_t>(at) / kTask);
    }
  }
  return again;
}

}  // namespace

Saved saved_counts(const std::string& model, std::int64_t records) {
  Model loaded = load_model(model);
  Saved saved;
  Tensor ids(DType::i64, {records});
  std::iota(ids.data<std::int64_t>(), ids.data<std::int64_t>() + records, 0);
  const std::vector<Tensor> outputs = loaded.predict({{"id", ids}});
  for (std::int64_t record = 0; record < records; ++record) {
    saved.rows.push_back(outputs.at(0).data<float>()[2 * record]);
  }
  saved.steps = outputs.at(1).data<float>()[0];
  return saved;
}

Verdict judge(const Saved& saved, const HandOuts& handed, const Expected& expected) {
  const std::vector<std::int64_t> again =
      again_by_record(handed, saved.rows.size(), expected.epochs);
  Verdict verdict;
  for (std::size_t record = 0; record < saved.rows.size(); ++record) {
    const std::int64_t more = std::llround(saved.rows[record]) - expected.epochs;
    verdict.lost += more < 0 ? 1 : 0;
    verdict.doubled += more > 0 ? 1 : 0;
    verdict.beyond += more > again[record] ? 1 : 0;
  }
  const std::int64_t sum = std::llround(std::accumulate(saved.rows.begin(), saved.rows.end(), 0.0));
  const std::int64_t steps = std::llround(saved.steps), batches = sum / kBatch;
  const bool together = expected.mode == "synchronous" || expected.mode == "all_reduce";
  const std::int64_t least =
      together ? (batches + expected.max_trainers - 1) / expected.max_trainers : batches;
  verdict.sum_error = steps - std::clamp(steps, least, batches);
  return verdict;
}

std::vector<std::string> described(const Saved& saved, const Expected& expected) {
  std::map<std::int64_t, std::int64_t> records;  // by how often they were counted
  std::vector<std::int64_t> counts;
  for (const double row : saved.rows) {
    counts.push_back(std::llround(row));
    ++records[counts.back() - expected.epochs];
  }
  std::vector<std::string> lines;
  for (const auto& [more, count] : records) {
    lines.push_back(fmt::format("{} records were counted {:+} times", count, more));
  }
  const auto size = static_cast<std::int64_t>(counts.size());
  const data::Dataset all = chaos::records(size);
  for (std::int64_t epoch = 1; epoch <= expected.epochs; ++epoch) {
    const std::vector<std::int64_t> order = all.order(epoch - 1);
    for (const int sign : {-1, 1}) {
      std::string tasks;
      for (std::int64_t task = 0; task < size / kTask; ++task) {
        const auto first = order.begin() + task * kTask;
        const bool whole = std::all_of(first, first + kTask, [&](std::int64_t record) {
          return sign * (counts[static_cast<std::size_t>(record)] - expected.epochs) > 0;
        });
        if (whole) tasks += " " + std::to_string(task);
      }
      if (tasks.empty()) continue;
      lines.push_back(fmt::format("too {}: all records of the tasks{} of epoch {}",
                                  sign < 0 ? "rarely" : "often", tasks, epoch));
    }
  }
  return lines;
}

}  // namespace trireme::chaos
