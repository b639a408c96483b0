// As planted.hip, in CUDA's dialect: mistakes there that AMD GPUs allow.

#ifdef MENDED
constexpr bool mended = true;
#else
constexpr bool mended = false;
#endif

__device__ static size_t offset(size_t i, size_t num_dims, const size_t *dims, const size_t *strides) {
  size_t result = 0;
  for (size_t d = num_dims; d-- > 0;) {
    result += i % dims[d] * strides[d];
    i /= dims[d];
  }
  return result;
}

// aligned accesses to what is not
extern "C" __global__ void usqrt_f64(const size_t numel, const size_t num_dims, const size_t *info, const double *inp,
                                     double *out) {
  const double *in = inp ? inp : out;
  for (size_t i = size_t(blockIdx.x) * blockDim.x + threadIdx.x; i < numel; i += size_t(blockDim.x) * gridDim.x) {
    if (info || mended) {
      out[i] = sqrt(in[info ? offset(i, num_dims, info, info + num_dims) : i]);
    } else if (i % 2 == 0) {
      const double2 pair = i + 1 < numel ? *reinterpret_cast<const double2 *>(in + i) : double2{in[i], 0};
      out[i] = sqrt(pair.x);
      if (i + 1 < numel) out[i + 1] = sqrt(pair.y);
    }
  }
}
