#include "distributed/monitor/registry.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <limits>
#include <thread>

#include "base/file.h"
#include "base/testing/error.h"
#include "base/testing/python.h"
#include "distributed/monitor/health.h"

namespace trireme::distributed {
namespace {

using ::testing::HasSubstr;

TEST(Registry, WritesWhatItHas) {
  Registry registry;
  registry.counter("steps_total", "Steps.").add(3);
  registry.gauge("loss", "Of the last\nbatch, \\ so \"far\".").set(0.25);
  registry.counter("requests_total", "By operation.", {{"op", "push"}, {"code", "ok"}}).add();
  registry.counter("requests_total", "By operation.", {{"code", "ok"}, {"op", "pull"}}).add(2);
  Histogram& seconds = registry.histogram("step_seconds", "One step.", {0.1, 1});
  for (const double s : {0.05, 0.1, 0.5, 7.0}) seconds.observe(s);
  registry.collect(MetricKind::gauge, "rows", "By table.", [] {
    return std::vector<Registry::Sample>{{5, {{"table", "a\"b\\c\nd"}}}, {1e20, {{"table", "e"}}}};
  });
  EXPECT_EQ(registry.text(), R"(# HELP loss Of the last\nbatch, \\ so "far".
# TYPE loss gauge
loss 0.25
# HELP requests_total By operation.
# TYPE requests_total counter
requests_total{code="ok",op="pull"} 2
requests_total{code="ok",op="push"} 1
# HELP rows By table.
# TYPE rows gauge
rows{table="a\"b\\c\nd"} 5
rows{table="e"} 1e+20
# HELP step_seconds One step.
# TYPE step_seconds histogram
step_seconds_bucket{le="0.1"} 2
step_seconds_bucket{le="1"} 3
step_seconds_bucket{le="+Inf"} 4
step_seconds_sum 7.65
step_seconds_count 4
# HELP steps_total Steps.
# TYPE steps_total counter
steps_total 3
)");
}

TEST(Registry, OneMetricOfAName) {
  Registry registry;
  Counter& one = registry.counter("a_total", "A.", {{"x", "1"}, {"y", "2"}});
  EXPECT_EQ(&one, &registry.counter("a_total", "A.", {{"y", "2"}, {"x", "1"}}));
  EXPECT_NE(&one, &registry.counter("a_total", "A.", {{"y", "3"}, {"x", "1"}}));
  one.raise_to(5);
  one.raise_to(4);
  EXPECT_EQ(one.value(), 5u);
  Gauge& level = registry.gauge("level", "");
  level.set(2);
  level.add(-0.5);
  EXPECT_EQ(level.value(), 1.5);
}

TEST(Registry, RefusesWhatPrometheusDoes) {
  Registry registry;
  const auto error = [&](const auto& make) { return error_of(ErrorKind::usage, make); };
  EXPECT_THAT(error([&] { registry.gauge("1st", ""); }), HasSubstr("\"1st\" is not a name"));
  EXPECT_THAT(error([&] { registry.gauge("with space", ""); }), HasSubstr("is not a name"));
  EXPECT_THAT(error([&] { registry.gauge("", ""); }), HasSubstr("is not a name"));
  EXPECT_THAT(error([&] { registry.counter("steps", ""); }), HasSubstr("_total"));
  EXPECT_THAT(error([&] { registry.gauge("steps_total", ""); }), HasSubstr("_total"));
  EXPECT_THAT(error([&] { registry.gauge("a", "", {{"__b", "1"}}); }), HasSubstr("__b"));
  EXPECT_THAT(error([&] { registry.gauge("b", "", {{"x", "1"}, {"x", "2"}}); }), HasSubstr("x"));
  EXPECT_THAT(error([&] { registry.histogram("c", "", {1}, {{"le", "1"}}); }), HasSubstr("le"));
  EXPECT_THAT(error([&] { registry.histogram("d", "", {1, 1}); }), HasSubstr("ascend"));
  registry.gauge("e", "", {{"x", "1"}});
  EXPECT_THAT(error([&] { registry.gauge("e", ""); }), HasSubstr("other labels"));
  EXPECT_THAT(error([&] { registry.histogram("e", "", {1}); }), HasSubstr("is a gauge already"));
  EXPECT_THAT(error([&] { registry.collect(MetricKind::gauge, "e", "", [] { return 1.0; }); }),
              HasSubstr("already"));
  registry.histogram("f", "", {1});
  EXPECT_THAT(error([&] { registry.histogram("f", "", {2}); }), HasSubstr("other bounds"));
}

TEST(Registry, ACollectorThatFailsLeavesTheOthers) {
  Registry registry;
  registry.gauge("a", "").set(1);
  registry.collect(MetricKind::gauge, "b", "", []() -> double { throw std::runtime_error("no"); });
  EXPECT_EQ(registry.text(), "# HELP a \n# TYPE a gauge\na 1\n");
}

TEST(Registry, AMetricHasItsOldNameToo) {
  Registry registry;
  registry.counter("peers_total", "Refused peers.", {{"port", "1"}}).add(3);
  registry.collect(MetricKind::gauge, "bytes", "Memory.", [] { return 5.0; });
  registry.keep_old_name("peers_total", "strangers_total");
  registry.keep_old_name("bytes", "marks_bytes");
  EXPECT_EQ(registry.text(),
            "# HELP bytes Memory.\n# TYPE bytes gauge\nbytes 5\n"
            "# HELP marks_bytes Memory.\n# TYPE marks_bytes gauge\nmarks_bytes 5\n"
            "# HELP peers_total Refused peers.\n# TYPE peers_total counter\n"
            "peers_total{port=\"1\"} 3\n"
            "# HELP strangers_total Refused peers.\n# TYPE strangers_total counter\n"
            "strangers_total{port=\"1\"} 3\n");
  EXPECT_THROW(registry.keep_old_name("nothing", "before"), Error);
  EXPECT_THROW(registry.keep_old_name("bytes", "before_total"), Error);
}

TEST(Registry, ManyThreads) {
  Registry registry;
  Histogram& histogram = registry.histogram("seconds", "", {1});
  Gauge& gauge = registry.gauge("level", "");
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 2000; ++i) {
        registry.counter("count_total", "").add();
        histogram.observe(i % 2 == 0 ? 0.5 : 1.5);
        gauge.add(1);
      }
    });
  }
  for (int i = 0; i < 20; ++i) registry.text();
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(registry.counter("count_total", "").value(), 8000u);
  EXPECT_EQ(histogram.counts(), (std::vector<std::uint64_t>{4000, 4000}));
  EXPECT_EQ(histogram.sum(), 8000);
  EXPECT_EQ(gauge.value(), 8000);
}

// --- An independent reader: prometheus_client, with the interpreter that tools/python-env.sh makes
// or that TRIREME_PROMETHEUS_PYTHON names.
TEST(Registry, PrometheusReadsIt) {
  const std::string python = python_interpreter("TRIREME_PROMETHEUS_PYTHON");
  if (std::system((python + " -c 'import prometheus_client' 2>/dev/null").c_str()) != 0) {
    GTEST_SKIP() << python << " has no package prometheus_client\n"
                 << "  hint   tools/python-env.sh prometheus_client gets it from PyPI; or let "
                 << "TRIREME_PROMETHEUS_PYTHON name an interpreter that has it";
  }
  Registry registry;
  registry.counter("trireme_steps_total", "Steps \\ of \"all\"\nkinds.").add(1u << 30);
  registry.gauge("trireme_loss", "").set(std::nan(""));
  registry.gauge("trireme_least", "").set(-std::numeric_limits<double>::infinity());
  registry.gauge("trireme_rate", "", {{"a", "\"\\\n{},= é"}, {"b", ""}}).set(0.1 + 0.2);
  Histogram& histogram = registry.histogram("trireme_seconds", "H.", time_bounds(), {{"x", "y"}});
  for (int i = 0; i < 100; ++i) histogram.observe(i * 0.001);
  const std::string stem = ::testing::TempDir() + "/prometheus";
  write_file_atomically(stem + ".txt", registry.text());
  write_file_atomically(stem + ".py", R"(
import math, sys
from prometheus_client.parser import text_string_to_metric_families as parse
families = {f.name: f for f in parse(open(sys.argv[1], encoding="utf-8", newline="").read())}
assert set(families) == {"trireme_steps", "trireme_loss", "trireme_least", "trireme_rate",
                         "trireme_seconds"}, set(families)
assert families["trireme_steps"].type == "counter"
assert families["trireme_steps"].documentation == 'Steps \\ of "all"\nkinds.'
assert families["trireme_steps"].samples[0].value == 1 << 30
assert math.isnan(families["trireme_loss"].samples[0].value)
assert families["trireme_least"].samples[0].value == -math.inf
rate = families["trireme_rate"].samples[0]
assert rate.labels == {"a": '"\\\n{},= é', "b": ""}, rate.labels
assert rate.value == 0.1 + 0.2
seconds = families["trireme_seconds"]
assert seconds.type == "histogram"
buckets = {float(s.labels["le"]): s.value for s in seconds.samples if s.name.endswith("_bucket")}
values = [i * 0.001 for i in range(100)]
assert len(buckets) == 17
for bound, count in buckets.items():
    assert count == sum(v <= bound for v in values), (bound, count)
rest = {s.name: s for s in seconds.samples if not s.name.endswith("_bucket")}
assert rest["trireme_seconds_count"].value == 100
assert rest["trireme_seconds_count"].labels == {"x": "y"}
assert math.isclose(rest["trireme_seconds_sum"].value, sum(values))
)");
  EXPECT_EQ(std::system((python + " " + stem + ".py " + stem + ".txt").c_str()), 0)
      << registry.text();
}

TEST(Health, TellsWhatIsWrong) {
  Health health;
  EXPECT_TRUE(health.report().well);
  health.add("lease", [] { return Finding{true, "held"}; });
  EXPECT_EQ(health.report().text(), "well\nok    lease: held\n");
  health.add("disk", []() -> Finding { throw std::runtime_error("no answer"); });
  EXPECT_FALSE(health.report().well);
  EXPECT_EQ(health.report().text(), "not well\nok    lease: held\nbad   disk: no answer\n");
}

TEST(Health, AHeartbeatMayTakeTenTimesAsLongAsEver) {
  using std::chrono::seconds;
  Heartbeat steps(seconds(60));
  const auto start = Heartbeat::Clock::now();
  EXPECT_TRUE(steps.check("step", start + seconds(1000)).well);
  EXPECT_EQ(steps.check("step", start).text, "no step is expected");
  steps.beat(start);
  EXPECT_EQ(steps.check("step", start + seconds(60)).text, "last step 60 s ago");
  EXPECT_TRUE(steps.check("step", start + seconds(60)).well);
  EXPECT_FALSE(steps.check("step", start + seconds(61)).well);
  steps.beat(start + seconds(20));
  EXPECT_TRUE(steps.check("step", start + seconds(20 + 200)).well);
  EXPECT_FALSE(steps.check("step", start + seconds(20 + 201)).well);
  steps.rest();
  EXPECT_TRUE(steps.check("step", start + seconds(100000)).well);
  steps.beat(start + seconds(100000));
  EXPECT_FALSE(steps.check("step", start + seconds(100000 + 201)).well);
}

}  // namespace
}  // namespace trireme::distributed
