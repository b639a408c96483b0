// v_cmp and v_cmpx.
#include "predicates.h"
#include "vector.h"

namespace isa {
namespace {

template <class T, auto f>
constexpr Run with = &compare<T, T, f, false>;
template <class T, auto f>
constexpr Run with_exec = &compare<T, T, f, true>;

// Named without its prefix: f_f32, lt_u64.
struct Row {
  const char *name;
  Run plain, to_exec;
};

#define ROW(name, T, ...)                                       \
  {name, with<T, [](T a, T b) -> bool { return __VA_ARGS__; }>, \
   with_exec<T, [](T a, T b) -> bool { return __VA_ARGS__; }>}
#define FLOAT(name, condition, type, T) ROW(name "_" type, T, condition)
#define FLOATS(type, T)                                                                                       \
  ROW("f_" type, T, a != a && a == b), FLOAT_PREDICATES(FLOAT, type, T), ROW("tru_" type, T, a == b || true), \
      ROW("t_" type, T, a == b || true)
#define INTEGERS(type, T)                                                                                            \
  ROW("f_" type, T, a == b && false), ROW("lt_" type, T, a < b), ROW("eq_" type, T, a == b),                         \
      ROW("le_" type, T, a <= b), ROW("gt_" type, T, a > b), ROW("ne_" type, T, a != b), ROW("ge_" type, T, a >= b), \
      ROW("t_" type, T, a == b || true)

constexpr Row compare_rows[] = {
    FLOATS("f16", f16),
    FLOATS("f32", f32),
    FLOATS("f64", f64),
    INTEGERS("i16", i16),
    INTEGERS("u16", u16),
    INTEGERS("i32", i32),
    INTEGERS("u32", u32),
    INTEGERS("i64", i64),
    INTEGERS("u64", u64),
    {"class_f16", &compare<f16, u16, in_class<f16>, false>, &compare<f16, u16, in_class<f16>, true>},
    {"class_f32", &compare<f32, u32, in_class<f32>, false>, &compare<f32, u32, in_class<f32>, true>},
    {"class_f64", &compare<f64, u32, in_class<f64>, false>, &compare<f64, u32, in_class<f64>, true>},
};

}  // namespace

Run find_compare(const char *name) {
  const bool to_exec = std::strncmp(name, "v_cmpx_", 7) == 0;
  if (!to_exec && std::strncmp(name, "v_cmp_", 6) != 0) return nullptr;
  for (const Row &row : compare_rows)
    if (std::strcmp(row.name, name + (to_exec ? 7 : 6)) == 0) return to_exec ? row.to_exec : row.plain;
  return nullptr;
}

}  // namespace isa

#undef ROW
#undef FLOAT
#undef FLOATS
#undef INTEGERS
