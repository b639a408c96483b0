// Does not compile. The names of its kernels are not in the text.
#include "each.cuh"
#define BOTH(OP) UNARY(u##OP##_f32, float, missing_##OP(x)) UNARY(u##OP##_f64, double, OP(x))
BOTH(exp)
