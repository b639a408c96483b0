// The comparisons of floats that vector and scalar instructions have alike: a name and what it says of `a` and `b`.
#pragma once

#define FLOAT_PREDICATES(ROW, ...)                                                                               \
  ROW("lt", a < b, __VA_ARGS__), ROW("eq", a == b, __VA_ARGS__), ROW("le", a <= b, __VA_ARGS__),                 \
      ROW("gt", a > b, __VA_ARGS__), ROW("lg", a<b || a> b, __VA_ARGS__), ROW("ge", a >= b, __VA_ARGS__),        \
      ROW("o", a == a && b == b, __VA_ARGS__), ROW("u", a != a || b != b, __VA_ARGS__),                          \
      ROW("nge", !(a >= b), __VA_ARGS__), ROW("nlg", !(a < b || a > b), __VA_ARGS__),                            \
      ROW("ngt", !(a > b), __VA_ARGS__), ROW("nle", !(a <= b), __VA_ARGS__), ROW("neq", !(a == b), __VA_ARGS__), \
      ROW("nlt", !(a < b), __VA_ARGS__)
