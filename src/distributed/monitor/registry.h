#pragma once

// Numbers that a process counts about itself, and their text in the exposition format 0.0.4 of
// Prometheus.

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace trireme::distributed {

using Labels = std::vector<std::pair<std::string, std::string>>;

// Counter, Gauge and Histogram are thread-safe without locks.

class Counter {
 public:
  void add(std::uint64_t more = 1) { value_.fetch_add(more, std::memory_order_relaxed); }
  // For a number that is counted elsewhere: raises the counter to it.
  void raise_to(std::uint64_t value);
  std::uint64_t value() const { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<std::uint64_t> value_{0};
};

class Gauge {
 public:
  void set(double value) { value_.store(value, std::memory_order_relaxed); }
  void add(double more) { value_.fetch_add(more, std::memory_order_relaxed); }
  double value() const { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<double> value_{0};
};

class Histogram {
 public:
  // Upper bounds of the buckets in ascending order; one more bucket has no bound. Errors: usage.
  explicit Histogram(std::vector<double> bounds);

  void observe(double value);
  const std::vector<double>& bounds() const { return bounds_; }
  std::vector<std::uint64_t> counts() const;  // of each bucket alone
  double sum() const { return sum_.load(std::memory_order_relaxed); }

 private:
  const std::vector<double> bounds_;
  std::vector<std::atomic<std::uint64_t>> counts_;
  std::atomic<double> sum_{0};
};

// From half a millisecond to a minute, in seconds, for the time of steps and requests.
std::vector<double> time_bounds();

enum class MetricKind : std::uint8_t { counter, gauge, histogram };

// Thread-safe. Names follow the rules of Prometheus; only names of counters end in "_total". Errors
// of all functions: usage for invalid names, and for a name that already has another kind or other
// label names.
class Registry {
 public:
  Registry() = default;
  Registry(const Registry&) = delete;
  Registry& operator=(const Registry&) = delete;

  // Returns the metric of that name with these labels; makes a new one. It lives as long as the
  // registry.
  Counter& counter(const std::string& name, const std::string& help, const Labels& labels = {});
  Gauge& gauge(const std::string& name, const std::string& help, const Labels& labels = {});
  Histogram& histogram(const std::string& name, const std::string& help,
                       const std::vector<double>& bounds, const Labels& labels = {});

  // Numbers that are kept elsewhere. text() calls `read` on its own thread. It must not call the
  // registry, and what it reads must exist as long as text() is called. If it throws, these numbers
  // are omitted.
  struct Sample {
    double value = 0;
    Labels labels = {};
  };
  void collect(MetricKind kind, const std::string& name, const std::string& help,
               std::function<std::vector<Sample>()> read);
  void collect(MetricKind kind, const std::string& name, const std::string& help,
               std::function<double()> read);

  // text() also has the metric under its name of the previous version. Errors: usage if there is no
  // metric with that name.
  void keep_old_name(const std::string& name, const std::string& old_name);

  std::string text() const;

 private:
  struct Metric {
    std::unique_ptr<Counter> counter;
    std::unique_ptr<Gauge> gauge;
    std::unique_ptr<Histogram> histogram;
  };
  struct Family {
    MetricKind kind = MetricKind::counter;
    std::string help;
    std::vector<std::string> label_names;
    std::map<std::string, Metric> metrics;  // by their labels as text
    std::function<std::vector<Sample>()> read;
  };
  static std::string family_text(const std::string& name, const Family& family);
  Family& family(MetricKind kind, const std::string& name, const std::string& help);
  Metric& metric(MetricKind kind, const std::string& name, const std::string& help, Labels labels);

  mutable std::mutex mutex_;
  std::map<std::string, Family> families_;
  std::map<std::string, std::string> old_names_;  // by name
};

}  // namespace trireme::distributed
