// Matrix products on the host, for rocBLAS and hipBLAS.
#pragma once

#include <cstddef>
#include <cstdint>

namespace emulated {

enum class Type { F16, BF16, F32, F64, I8, I32, Unknown };

std::size_t size_of(Type type);

// Matrices of a batch, column after column, `leading` elements apart. Either all in one array, `stride` elements apart,
// or each at the address that `each` has for it.
struct Matrices {
  const void *first;
  Type type;
  std::int64_t leading, stride = 0;
  const void *const *each = nullptr;

  char *matrix(std::int64_t batch) const;
};

// D = alpha * op(A) * op(B) + beta * C, of which op(A) has `m` rows and `k` columns, and op(B) `n` columns. C and D
// have one type. Sums are of the type `compute`, and so are `alpha` and `beta`.
struct Product {
  bool transpose_a, transpose_b;
  std::int64_t m, n, k, batches;
  const void *alpha, *beta;
  Matrices a, b, c, d;
  Type compute;
};

// Whether rocBLAS has a product of these types.
bool has_types(const Product &product);

// Whether the number at `scalar`, which can be read here, is 0. `type` is that of a product's sums.
bool is_zero(const void *scalar, Type type);

// Whether there is a pointer to each matrix that is read or written: without alpha A and B are not, without beta C is
// not. `alpha` and `beta` can be read here.
bool has_pointers(const Product &product);

// Whether a GPU can access all that the product reads and writes, as `has_pointers` has it; says what it cannot, by the
// name of `function`.
bool has_memory(const char *function, const Product &product);

// `product.alpha` and `product.beta` can be read here. Products are added in ascending order of k, each rounded to
// `compute` and added to the sum, which is rounded to it again: F32, F64, I32 or F16. The result is rounded once more
// to the type of D.
void multiply(const Product &product);

}  // namespace emulated
