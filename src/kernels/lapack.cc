// Linear algebra on stacks of matrices [..., m, n] by the LAPACK of OpenBLAS, in double. No
// attributes.
// cholesky: x, l. eigh: x, values, vectors. qr: x, q, r. slogdet: x, sign, log_abs. solve: a, b, x.
// svd: x, u, s, vh.

#include <algorithm>
#include <atomic>
#include <cmath>
#include <functional>
#include <limits>

#include "base/error.h"
#include "kernels/call.h"
#include "kernels/families.h"
#include "kernels/product.h"

// OpenBLAS has these functions of LAPACK but no header with them.
extern "C" {
void dgesv_(const int* n, const int* columns, double* a, const int* lda, int* pivots, double* b,
            const int* ldb, int* info);
void dgetrf_(const int* m, const int* n, double* a, const int* lda, int* pivots, int* info);
void dpotrf_(const char* part, const int* n, double* a, const int* lda, int* info);
void dsyevd_(const char* job, const char* part, const int* n, double* a, const int* lda, double* w,
             double* work, const int* work_size, int* iwork, const int* iwork_size, int* info);
void dgeqrf_(const int* m, const int* n, double* a, const int* lda, double* tau, double* work,
             const int* work_size, int* info);
void dorgqr_(const int* m, const int* n, const int* k, double* a, const int* lda, const double* tau,
             double* work, const int* work_size, int* info);
void dgesdd_(const char* job, const int* m, const int* n, double* a, const int* lda, double* s,
             double* u, const int* ldu, double* vt, const int* ldvt, double* work,
             const int* work_size, int* iwork, int* info);
}

namespace trireme::kernels {

namespace {

// One matrix in columns, as LAPACK wants it.
struct Columns {
  double* data = nullptr;
  int rows = 0, columns = 0;
  double& operator()(int i, int j) const {
    return data[static_cast<std::size_t>(j) * static_cast<std::size_t>(rows) +
                static_cast<std::size_t>(i)];
  }
  std::size_t size() const {
    return static_cast<std::size_t>(rows) * static_cast<std::size_t>(columns);
  }
};

// What one kernel computes for one matrix of the stack.
struct Method {
  const char* name = nullptr;
  const char* failure = "has no factors: LAPACK did not converge";  // if compute() returns false
  bool finite_only = false;  // numbers that are not finite are a failure; otherwise they give NaN
  std::size_t operands = 1;
  // Sizes of one matrix of each tensor.
  std::vector<Columns> tensors = {};
  std::size_t scratch = 0;  // doubles
  // tensors: all operands and results. Operands may be overwritten.
  std::function<bool(const std::vector<Columns>& tensors, double* scratch)> compute;
};

template <class T>
class Matrices : public KernelInstance {
 public:
  Matrices(std::int64_t count, Method method) : count_(count), method_(std::move(method)) {
    for (const Columns& matrix : method_.tensors) doubles_ += matrix.size();
    doubles_ = (doubles_ + method_.scratch + 7) / 8 * 8;  // 64 bytes
    prepare_products();
  }

  std::size_t workspace_bytes(int threads) const override {
    return doubles_ * sizeof(double) * static_cast<std::size_t>(threads);
  }

  void run(void* const* tensors, void* workspace, device::Device& device) override {
    std::atomic<std::int64_t> failed = count_;
    device.run(count_, 1, count_ > 1, [&](std::int64_t begin, std::int64_t end, int thread) {
      double* work = static_cast<double*>(workspace) + doubles_ * static_cast<std::size_t>(thread);
      for (std::int64_t i = begin; i < end; ++i) {
        if (run_one(tensors, i, work)) continue;
        std::int64_t first = failed;
        while (i < first && !failed.compare_exchange_weak(first, i)) {
        }
      }
    });
    if (failed == count_) return;
    const std::string which = count_ == 1 ? "the matrix" : "matrix " + std::to_string(failed);
    fail_data(std::string(method_.name) + ": " + which + " " + method_.failure);
  }

 private:
  bool run_one(void* const* tensors, std::int64_t i, double* work) const {
    std::vector<Columns> matrices = method_.tensors;
    for (Columns& matrix : matrices) {
      matrix.data = work;
      work += matrix.size();
    }
    bool finite = true;
    for (std::size_t t = 0; t < method_.operands; ++t) {
      const Columns& matrix = matrices[t];
      const T* from =
          static_cast<const T*>(tensors[t]) + i * static_cast<std::int64_t>(matrix.size());
      for (int row = 0; row < matrix.rows; ++row) {
        for (int column = 0; column < matrix.columns; ++column) {
          finite &= std::isfinite(*from);
          matrix(row, column) = static_cast<double>(*from++);
        }
      }
    }
    // LAPACK may fail or run forever on NaN.
    if (!finite && method_.finite_only) return false;
    if (finite && !method_.compute(matrices, work)) return false;
    for (std::size_t t = method_.operands; t < matrices.size(); ++t) {
      const Columns& matrix = matrices[t];
      T* to = static_cast<T*>(tensors[t]) + i * static_cast<std::int64_t>(matrix.size());
      for (int row = 0; row < matrix.rows; ++row) {
        for (int column = 0; column < matrix.columns; ++column) {
          *to++ =
              finite ? static_cast<T>(matrix(row, column)) : std::numeric_limits<T>::quiet_NaN();
        }
      }
    }
    return true;
  }

  std::int64_t count_;
  Method method_;
  std::size_t doubles_ = 0;
};

// The last two axes of operand t.
Columns matrix_of(const char* kernel, const Call& call, std::size_t t) {
  const Sizes& shape = call.tensors[t].shape;
  if (shape.size() < 2) fail_call(kernel, call, "an operand is no matrix");
  constexpr std::int64_t kLargest = 30000;  // workspaces of 2 n^2 fit an int
  if (std::max(shape.end()[-1], shape.end()[-2]) > kLargest) {
    fail_usage(std::string(kernel) + ": a matrix has more than 30000 rows or columns");
  }
  return {nullptr, static_cast<int>(shape.end()[-2]), static_cast<int>(shape.end()[-1])};
}

std::unique_ptr<KernelInstance> prepare(const Call& call, Method method) {
  require_tensors(method.name, call, method.tensors.size());
  const Sizes& shape = call.tensors[0].shape;
  const std::int64_t count = elements(Sizes(shape.begin(), shape.end() - 2));
  for (std::size_t t = 0; t < call.tensors.size(); ++t) {
    const auto each = static_cast<std::int64_t>(method.tensors[t].size());
    if (elements(call.tensors[t].shape) != count * each ||
        call.tensors[t].dtype != call.tensors[0].dtype) {
      fail_call(method.name, call, "the shapes or dtypes do not fit");
    }
  }
  switch (call.tensors[0].dtype) {
    case DType::f32: return std::make_unique<Matrices<float>>(count, std::move(method));
    case DType::f64: return std::make_unique<Matrices<double>>(count, std::move(method));
    default: fail_call(method.name, call, "matrices are f32 or f64");
  }
}

std::size_t doubles_for_ints(std::size_t count) { return (count + 1) / 2; }
int* as_ints(double* scratch) { return reinterpret_cast<int*>(scratch); }

void copy(const Columns& from, const Columns& to) {
  std::copy(from.data, from.data + from.size(), to.data);
}

void make_symmetric(const Columns& x) {
  for (int i = 0; i < x.rows; ++i) {
    for (int j = 0; j < i; ++j) x(i, j) = x(j, i) = x(i, j) / 2 + x(j, i) / 2;
  }
}

// Returns -1 if the element with the largest absolute value of a column is negative, otherwise 1.
double sign_of(const Columns& x, int column) {
  int largest = 0;
  for (int i = 1; i < x.rows; ++i) {
    if (std::abs(x(i, column)) > std::abs(x(largest, column))) largest = i;
  }
  return x.rows > 0 && x(largest, column) < 0 ? -1 : 1;
}

bool solve(const std::vector<Columns>& t, double* scratch) {
  const Columns &a = t[0], &b = t[1];
  if (b.size() == 0) return true;
  int info = 0;
  dgesv_(&a.rows, &b.columns, a.data, &a.rows, as_ints(scratch), b.data, &b.rows, &info);
  copy(b, t[2]);
  return info == 0;
}

bool cholesky(const std::vector<Columns>& t, double*) {
  const Columns &x = t[0], &l = t[1];
  if (x.rows == 0) return true;
  make_symmetric(x);
  int info = 0;
  dpotrf_("L", &x.rows, x.data, &x.rows, &info);
  for (int j = 0; j < x.rows; ++j) {
    for (int i = 0; i < x.rows; ++i) l(i, j) = i < j ? 0 : x(i, j);
  }
  return info == 0;
}

bool slogdet(const std::vector<Columns>& t, double* scratch) {
  const Columns& x = t[0];
  int* pivots = as_ints(scratch);
  int info = 0;
  if (x.rows > 0) dgetrf_(&x.rows, &x.rows, x.data, &x.rows, pivots, &info);
  double &sign = *t[1].data, &log_abs = *t[2].data;
  sign = 1;
  log_abs = 0;
  for (int i = 0; i < x.rows; ++i) {
    if (pivots[i] != i + 1) sign = -sign;
    sign *= x(i, i) < 0 ? -1 : x(i, i) > 0 ? 1 : 0;
    log_abs += std::log(std::abs(x(i, i)));
  }
  if (sign == 0) log_abs = -std::numeric_limits<double>::infinity();
  return true;
}

bool eigh(const std::vector<Columns>& t, double* scratch) {
  const Columns &x = t[0], &values = t[1], &vectors = t[2];
  const int n = x.rows;
  if (n == 0) return true;
  make_symmetric(x);
  const int work_size = 1 + 6 * n + 2 * n * n, iwork_size = 3 + 5 * n;
  int info = 0;
  dsyevd_("V", "L", &n, x.data, &n, values.data, scratch, &work_size, as_ints(scratch + work_size),
          &iwork_size, &info);
  for (int j = 0; j < n; ++j) {
    const double sign = sign_of(x, j);
    for (int i = 0; i < n; ++i) vectors(i, j) = sign * x(i, j);
  }
  return info == 0;
}

bool qr(const std::vector<Columns>& t, double* scratch) {
  const Columns &x = t[0], &q = t[1], &r = t[2];
  const int n = x.columns, work_size = 32 * n;
  if (x.size() == 0) return true;
  int info = 0;
  double* work = scratch + n;
  dgeqrf_(&x.rows, &n, x.data, &x.rows, scratch, work, &work_size, &info);
  for (int j = 0; j < n; ++j) {
    for (int i = 0; i < n; ++i) r(i, j) = i > j ? 0 : x(i, j);
  }
  copy(x, q);
  dorgqr_(&x.rows, &n, &n, q.data, &x.rows, scratch, work, &work_size, &info);
  for (int k = 0; k < n; ++k) {
    if (!(r(k, k) < 0)) continue;
    for (int j = k; j < n; ++j) r(k, j) = -r(k, j);
    for (int i = 0; i < x.rows; ++i) q(i, k) = -q(i, k);
  }
  return info == 0;
}

std::size_t svd_work(std::size_t m, std::size_t n) {
  const std::size_t k = std::min(m, n), l = std::max(m, n);
  return 4 * k * k + 7 * k + 64 * (k + l);
}

bool svd(const std::vector<Columns>& t, double* scratch) {
  const Columns &x = t[0], &u = t[1], &s = t[2], &vh = t[3];
  if (x.size() == 0) return true;
  const std::size_t size =
      svd_work(static_cast<std::size_t>(x.rows), static_cast<std::size_t>(x.columns));
  const int work_size = static_cast<int>(std::min<std::size_t>(size, 0x7fffffff));
  int info = 0;
  dgesdd_("S", &x.rows, &x.columns, x.data, &x.rows, s.data, u.data, &u.rows, vh.data, &vh.rows,
          scratch, &work_size, as_ints(scratch + size), &info);
  for (int j = 0; j < u.columns; ++j) {
    if (sign_of(u, j) > 0) continue;
    for (int i = 0; i < u.rows; ++i) u(i, j) = -u(i, j);
    for (int i = 0; i < vh.columns; ++i) vh(j, i) = -vh(j, i);
  }
  return info == 0;
}

}  // namespace

std::unique_ptr<KernelInstance> prepare_solve(const Call& call) {
  require_tensors("solve", call, 3);
  const Columns a = matrix_of("solve", call, 0), b = matrix_of("solve", call, 1);
  return prepare(call, {.name = "solve",
                        .failure = "is singular",
                        .operands = 2,
                        .tensors = {a, b, b},
                        .scratch = doubles_for_ints(static_cast<std::size_t>(a.rows)),
                        .compute = solve});
}

std::unique_ptr<KernelInstance> prepare_cholesky(const Call& call) {
  require_tensors("cholesky", call, 2);
  const Columns x = matrix_of("cholesky", call, 0);
  return prepare(call, {.name = "cholesky",
                        .failure = "is not positive definite",
                        .finite_only = true,
                        .tensors = {x, x},
                        .compute = cholesky});
}

std::unique_ptr<KernelInstance> prepare_slogdet(const Call& call) {
  require_tensors("slogdet", call, 3);
  const Columns x = matrix_of("slogdet", call, 0), one{nullptr, 1, 1};
  return prepare(call, {.name = "slogdet",
                        .tensors = {x, one, one},
                        .scratch = doubles_for_ints(static_cast<std::size_t>(x.rows)),
                        .compute = slogdet});
}

std::unique_ptr<KernelInstance> prepare_eigh(const Call& call) {
  require_tensors("eigh", call, 3);
  const Columns x = matrix_of("eigh", call, 0);
  const auto n = static_cast<std::size_t>(x.rows);
  return prepare(call, {.name = "eigh",
                        .tensors = {x, {nullptr, x.rows, 1}, x},
                        .scratch = 1 + 6 * n + 2 * n * n + doubles_for_ints(3 + 5 * n),
                        .compute = eigh});
}

std::unique_ptr<KernelInstance> prepare_qr(const Call& call) {
  require_tensors("qr", call, 3);
  const Columns x = matrix_of("qr", call, 0);
  return prepare(call, {.name = "qr",
                        .tensors = {x, x, {nullptr, x.columns, x.columns}},
                        .scratch = 33 * static_cast<std::size_t>(x.columns),
                        .compute = qr});
}

std::unique_ptr<KernelInstance> prepare_svd(const Call& call) {
  require_tensors("svd", call, 4);
  const Columns x = matrix_of("svd", call, 0);
  const int k = std::min(x.rows, x.columns);
  const std::size_t work =
      svd_work(static_cast<std::size_t>(x.rows), static_cast<std::size_t>(x.columns));
  return prepare(call,
                 {.name = "svd",
                  .tensors = {x, {nullptr, x.rows, k}, {nullptr, k, 1}, {nullptr, k, x.columns}},
                  .scratch = work + doubles_for_ints(8 * static_cast<std::size_t>(k)),
                  .compute = svd});
}

}  // namespace trireme::kernels
