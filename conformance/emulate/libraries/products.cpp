#include "products.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <thread>
#include <type_traits>
#include <vector>

#include "common.h"
#include "numbers.h"

namespace emulated {
namespace {

constexpr std::int64_t tile_rows = 16, tile_columns = 4;
constexpr double worth_a_thread = 1 << 20;  // multiplications

struct Combination {
  Type ab, cd, compute;
};

// The products of real numbers that rocblas_gemm_ex documents, those of 8-bit floats apart.
constexpr Combination combinations[] = {
    {Type::F64, Type::F64, Type::F64},  {Type::F32, Type::F32, Type::F32}, {Type::F16, Type::F16, Type::F16},
    {Type::F16, Type::F16, Type::F32},  {Type::F16, Type::F32, Type::F32}, {Type::BF16, Type::BF16, Type::F32},
    {Type::BF16, Type::F32, Type::F32}, {Type::I8, Type::I32, Type::I32},
};

// `Sum` holds sums; those of halves are kept as floats that are halves.
template <bool halves, class Sum>
Sum kept(Sum sum) {
  if constexpr (halves) return wide(static_cast<Half>(sum));
  return sum;
}

template <class T>
auto number_at(const T *p) {
  if constexpr (std::is_integral_v<T>)
    return static_cast<std::uint32_t>(static_cast<std::int32_t>(*p));  // sums of integers wrap around
  else
    return wide(*p);
}

template <class Sum, class T>
T rounded(Sum sum) {
  if constexpr (std::is_integral_v<T>)
    return static_cast<T>(sum);
  else
    return narrow<T>(sum);
}

// What `Product` describes, with its types.
template <class In, class Out, class Sum, class Scalar, bool halves>
class Multiplier {
 public:
  explicit Multiplier(const Product &product) : product_(product) {
    alpha_ = number_at(static_cast<const Scalar *>(product.alpha));
    beta_ = number_at(static_cast<const Scalar *>(product.beta));
    // Without alpha nothing of A and B is read.
    depth_ = alpha_ == Sum{0} ? 0 : product.k;
  }

  void run() {
    const std::int64_t tiles = (product_.n + tile_columns - 1) / tile_columns, jobs = tiles * product_.batches;
    const double work = static_cast<double>(product_.m) * static_cast<double>(product_.n) *
                        static_cast<double>(std::max<std::int64_t>(depth_, 1)) * static_cast<double>(product_.batches);
    const double cores = std::max(1u, std::thread::hardware_concurrency());
    const auto threads = static_cast<std::size_t>(std::clamp(work / worth_a_thread, 1.0, cores));
    std::atomic<std::int64_t> next = 0;
    const auto take = [&] {
      for (std::int64_t job; (job = next++) < jobs;) columns(job / tiles, job % tiles * tile_columns);
    };
    std::vector<std::jthread> others;
    for (std::size_t i = 1; i < threads; ++i) others.emplace_back(take);
    take();
  }

 private:
  // Columns of the result, up to `tile_columns` from `column`.
  void columns(std::int64_t batch, std::int64_t column) {
    const In *const a = depth_ ? reinterpret_cast<const In *>(product_.a.matrix(batch)) : nullptr;
    const In *const b = depth_ ? reinterpret_cast<const In *>(product_.b.matrix(batch)) : nullptr;
    const std::int64_t width = std::min(tile_columns, product_.n - column);
    std::vector<Sum> right(static_cast<std::size_t>(depth_ * tile_columns)),
        left(static_cast<std::size_t>(depth_ * tile_rows));
    for (std::int64_t l = 0; l < depth_; ++l)
      for (std::int64_t j = 0; j < width; ++j)
        right[static_cast<std::size_t>(l * tile_columns + j)] =
            number_at(b + place(product_.transpose_b, l, column + j, product_.b.leading));
    for (std::int64_t row = 0; row < product_.m; row += tile_rows) {
      const std::int64_t height = std::min(tile_rows, product_.m - row);
      for (std::int64_t l = 0; l < depth_; ++l)
        for (std::int64_t i = 0; i < height; ++i)
          left[static_cast<std::size_t>(l * tile_rows + i)] =
              number_at(a + place(product_.transpose_a, row + i, l, product_.a.leading));
      store(batch, row, column, height, width, sums(left.data(), right.data()));
    }
  }

  static std::int64_t place(bool transposed, std::int64_t row, std::int64_t column, std::int64_t leading) {
    return transposed ? row * leading + column : column * leading + row;
  }

  using Tile = std::array<std::array<Sum, tile_rows>, tile_columns>;

  Tile sums(const Sum *left, const Sum *right) const {
    Tile tile{};
    for (std::int64_t l = 0; l < depth_; ++l, left += tile_rows, right += tile_columns)
      for (std::size_t j = 0; j < tile_columns; ++j)
        for (std::size_t i = 0; i < tile_rows; ++i)
          tile[j][i] = kept<halves>(tile[j][i] + kept<halves>(left[i] * right[j]));
    return tile;
  }

  void store(std::int64_t batch, std::int64_t row, std::int64_t column, std::int64_t height, std::int64_t width,
             const Tile &tile) const {
    for (std::int64_t j = 0; j < width; ++j) {
      const Out *const before =
          beta_ == Sum{0} ? nullptr
                          : reinterpret_cast<const Out *>(product_.c.matrix(batch)) + (column + j) * product_.c.leading;
      Out *const after = reinterpret_cast<Out *>(product_.d.matrix(batch)) + (column + j) * product_.d.leading;
      for (std::int64_t i = row; i < row + height; ++i) {
        Sum sum = depth_ ? kept<halves>(alpha_ * tile[static_cast<std::size_t>(j)][static_cast<std::size_t>(i - row)])
                         : Sum{0};
        // With a beta of 0 what C holds has no part in it, not even NaN.
        if (beta_ != Sum{0}) sum = kept<halves>(sum + kept<halves>(beta_ * number_at(before + i)));
        after[i] = rounded<Sum, Out>(sum);
      }
    }
  }

  const Product &product_;
  Sum alpha_, beta_;
  std::int64_t depth_;
};

// Bytes from the first element of one matrix to behind the last.
std::size_t extent(const Matrices &all, std::int64_t rows, std::int64_t columns) {
  if (rows == 0 || columns == 0) return 0;
  return static_cast<std::size_t>((columns - 1) * all.leading + rows) * size_of(all.type);
}

bool is_there(const char *function, const char *role, const Matrices &all, std::int64_t rows, std::int64_t columns,
              std::int64_t batches) {
  const std::size_t bytes = extent(all, rows, columns);
  if (!all.each)
    return all_accessible(function, role, all.first, bytes, batches,
                          all.stride * static_cast<std::int64_t>(size_of(all.type)));
  if (!accessible(function, role, all.each, static_cast<std::size_t>(batches) * sizeof(void *))) return false;
  return std::all_of(all.each, all.each + batches,
                     [&](const void *one) { return accessible(function, role, one, bytes); });
}

}  // namespace

std::size_t size_of(Type type) {
  switch (type) {
    case Type::F16:
    case Type::BF16:
      return 2;
    case Type::F32:
    case Type::I32:
      return 4;
    case Type::F64:
      return 8;
    case Type::I8:
      return 1;
    case Type::Unknown:
      break;
  }
  return 0;
}

char *Matrices::matrix(std::int64_t batch) const {
  const void *const start = each ? each[batch] : first;
  const auto bytes = each ? 0 : batch * stride * static_cast<std::int64_t>(size_of(type));
  return static_cast<char *>(const_cast<void *>(start)) + bytes;
}

bool has_types(const Product &product) {
  return product.a.type == product.b.type && product.c.type == product.d.type &&
         std::any_of(std::begin(combinations), std::end(combinations), [&](const Combination &one) {
           return one.ab == product.a.type && one.cd == product.c.type && one.compute == product.compute;
         });
}

bool is_zero(const void *scalar, Type type) {
  switch (type) {
    case Type::F16:
      return *static_cast<const Half *>(scalar) == Half{0};
    case Type::F64:
      return *static_cast<const double *>(scalar) == 0;
    case Type::I32:
      return *static_cast<const std::int32_t *>(scalar) == 0;
    default:
      return *static_cast<const float *>(scalar) == 0;
  }
}

bool has_pointers(const Product &p) {
  const auto is_null = [](const Matrices &all) { return !all.first && !all.each; };
  const bool multiplies = p.k > 0 && !is_zero(p.alpha, p.compute), adds = !is_zero(p.beta, p.compute);
  return !(multiplies && (is_null(p.a) || is_null(p.b))) && !(adds && is_null(p.c)) && !is_null(p.d);
}

bool has_memory(const char *function, const Product &p) {
  const bool multiplies = !is_zero(p.alpha, p.compute), adds = !is_zero(p.beta, p.compute);
  if (multiplies && (!is_there(function, "A", p.a, p.transpose_a ? p.k : p.m, p.transpose_a ? p.m : p.k, p.batches) ||
                     !is_there(function, "B", p.b, p.transpose_b ? p.n : p.k, p.transpose_b ? p.k : p.n, p.batches)))
    return false;
  return (!adds || is_there(function, "C", p.c, p.m, p.n, p.batches)) &&
         is_there(function, "D", p.d, p.m, p.n, p.batches);
}

void multiply(const Product &p) {
  if (p.a.type == Type::F64)
    Multiplier<double, double, double, double, false>(p).run();
  else if (p.a.type == Type::F32)
    Multiplier<float, float, float, float, false>(p).run();
  else if (p.a.type == Type::I8)
    Multiplier<std::int8_t, std::int32_t, std::uint32_t, std::int32_t, false>(p).run();
  else if (p.compute == Type::F16)
    Multiplier<Half, Half, float, Half, true>(p).run();
  else if (p.a.type == Type::F16 && p.c.type == Type::F16)
    Multiplier<Half, Half, float, float, false>(p).run();
  else if (p.a.type == Type::F16)
    Multiplier<Half, float, float, float, false>(p).run();
  else if (p.c.type == Type::BF16)
    Multiplier<BrainFloat, BrainFloat, float, float, false>(p).run();
  else
    Multiplier<BrainFloat, float, float, float, false>(p).run();
}

}  // namespace emulated
