// A network of two layers: embeddings, norms, quantized products, rotary embedding, softmax. It loads its kernels from
// code objects by their names, as Candle does, and prints the sum of what comes out. With the headers of the folder
// cuda it is a program for NVIDIA GPUs.
//
//   network RIGHT.co [PLANTED.co KERNEL]     takes KERNEL from the second code object; of several there are commas
//   between
#include <hip/hip_runtime.h>

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

// Of hipBLAS, whose headers a machine without it does not have.
extern "C" {
int hipblasCreate(void **);
int hipblasDestroy(void *);
int hipblasSgemm(void *, int, int, int, int, int, const float *, const float *, int, const float *, int, const float *,
                 float *, int);
}

namespace {

constexpr int transposed = 112, plain = 111;  // hipblasOperation_t
constexpr int tokens = 4, width = 64, hidden = 128, classes = 40, padded = 512;

void check(hipError_t error, const char *what) {
  if (error == hipSuccess) return;
  std::printf("%s: %s\n", what, hipGetErrorName(error));
  std::exit(1);
}

// Memory on the device.
class Memory {
 public:
  explicit Memory(std::size_t bytes) { check(hipMalloc(&address_, bytes), "hipMalloc"); }
  template <class T>
  explicit Memory(const std::vector<T> &content) : Memory(content.size() * sizeof(T)) {
    check(hipMemcpy(address_, content.data(), content.size() * sizeof(T), hipMemcpyHostToDevice), "hipMemcpy");
  }
  ~Memory() { (void)hipFree(address_); }
  Memory(Memory &&other) noexcept : address_(std::exchange(other.address_, nullptr)) {}
  Memory &operator=(Memory &&) = delete;
  void *address() const { return address_; }

 private:
  void *address_ = nullptr;
};

class Modules {
 public:
  explicit Modules(const char *paths) {
    std::istringstream all(paths);
    for (std::string path; std::getline(all, path, ',');)
      check(hipModuleLoad(&modules_.emplace_back(), path.c_str()), path.c_str());
  }
  ~Modules() {
    for (const hipModule_t module : modules_) (void)hipModuleUnload(module);
  }
  Modules(const Modules &) = delete;
  Modules &operator=(const Modules &) = delete;
  hipFunction_t function(const char *name) const {
    hipFunction_t found = nullptr;
    hipError_t error = hipErrorUnknown;
    for (const hipModule_t module : modules_)
      if (error != hipSuccess) error = hipModuleGetFunction(&found, module, name);
    check(error, name);
    return found;
  }

 private:
  std::vector<hipModule_t> modules_;
};

class Network {
 public:
  Network(const char *right, const char *planted, const char *kernel)
      : right_(right), other_(planted ? planted : right), kernel_(planted ? kernel : "") {}

  double run() {
    const Memory ids(std::vector<std::uint32_t>{3, 0, 7, 5}), table(random(8 * width)), x(floats(width));
    const Memory info(std::vector<std::size_t>{tokens, 1});  // of the ids: Candle's kernel takes no null pointer here
    launch("is_u32_f32", 1, {1024, 1}, std::size_t{tokens * width}, std::size_t{1}, info.address(), ids.address(),
           table.address(), x.address(), std::size_t{1}, std::size_t{8}, std::size_t{tokens}, std::size_t{width});
    const Memory alpha(random(width)), beta(random(width)), normed(floats(width));
    launch("layernorm_f32", tokens, {32, 1}, x.address(), normed.address(), alpha.address(), beta.address(), width, 32,
           1e-5f);
    const Memory first = product(normed, width, hidden), bias(random(tokens * hidden)), sum(floats(hidden));
    launch("badd_f32", 1, {1024, 1}, std::size_t{tokens * hidden}, std::size_t{1}, nullptr, first.address(),
           bias.address(), sum.address());
    const Memory positive(floats(hidden)), scale(random(hidden)), again(floats(hidden));
    launch("urelu_f32", 1, {1024, 1}, std::size_t{tokens * hidden}, std::size_t{1}, nullptr, sum.address(),
           positive.address());
    launch("rmsnorm_f32", tokens, {32, 1}, positive.address(), again.address(), scale.address(), hidden, 32, 1e-5f);
    constexpr int heads = 2, head = hidden / heads;
    std::vector<float> cosines, sines;
    for (int n = 0; n < tokens * head / 2; ++n) {
      cosines.push_back(std::cos(0.1f * static_cast<float>(n)));
      sines.push_back(std::sin(0.1f * static_cast<float>(n)));
    }
    const Memory cosine(cosines), sine(sines), turned(floats(hidden)), scaled(floats(hidden));
    launch("rope_f32", 1, {1024, 1}, again.address(), cosine.address(), sine.address(), turned.address(),
           std::uint32_t{heads}, std::uint32_t{tokens * head}, std::uint32_t{head}, std::uint32_t{0});
    launch("affine_f32", 1, {1024, 1}, std::size_t{tokens * hidden}, std::size_t{1}, nullptr, turned.address(),
           scaled.address(), 0.5f, 0.25f);
    const Memory last = library_product(scaled, hidden, classes), answer(floats(classes));
    launch("softmax_f32", tokens, {1, 32}, last.address(), answer.address(), classes);
    std::vector<float> found(tokens * classes);
    check(hipMemcpy(found.data(), answer.address(), found.size() * sizeof(float), hipMemcpyDeviceToHost), "hipMemcpy");
    double total = 0;
    for (const float value : found) total += value;
    return total;
  }

 private:
  struct Block {
    unsigned x, y;
  };

  static std::size_t floats(int columns) { return sizeof(float) * tokens * static_cast<std::size_t>(columns); }
  std::vector<float> random(int count) {
    std::vector<float> values(static_cast<std::size_t>(count));
    for (float &value : values) value = static_cast<float>(random_() % 2001) / 1000.0f - 1.0f;
    return values;
  }
  // Weights of q4_0: a scale as a float16, and 32 halves of bytes.
  std::vector<std::uint8_t> weights(int rows, int columns) {
    std::vector<std::uint8_t> values(static_cast<std::size_t>(rows * columns / 32 * 18));
    for (std::size_t at = 0; at < values.size(); ++at) values[at] = static_cast<std::uint8_t>(random_());
    for (std::size_t at = 0; at < values.size(); at += 18) values[at + 1] = 0x20;  // about 0.01
    return values;
  }
  // The product of the tokens' rows of `columns` with weights of `rows`.
  Memory product(const Memory &x, int columns, int rows) {
    const Memory quants(std::vector<std::uint8_t>(tokens * padded / 32 * 36)), matrix(weights(rows, columns));
    Memory found(std::vector<float>(static_cast<std::size_t>(tokens * rows)));
    launch("quantize_q8_1", {padded / 256, tokens}, {256, 1}, x.address(), quants.address(), columns, padded);
    launch("mul_mat_vec_q4_0_q8_1_cuda4", (static_cast<unsigned>(rows) + 1) / 2, {32, 4}, matrix.address(),
           quants.address(), found.address(), columns, rows, padded, rows);
    return found;
  }

  // The same with weights of floats, by the library.
  Memory library_product(const Memory &x, int columns, int rows) {
    const Memory matrix(random(rows * columns));
    Memory found(floats(rows));
    const float one = 1, zero = 0;
    void *handle = nullptr;
    const auto *weights = static_cast<const float *>(matrix.address()),
               *values = static_cast<const float *>(x.address());
    int error = hipblasCreate(&handle);
    error = error ? error
                  : hipblasSgemm(handle, transposed, plain, rows, tokens, columns, &one, weights, columns, values,
                                 columns, &zero, static_cast<float *>(found.address()), rows);
    check(error ? hipErrorUnknown : hipSuccess, "hipblasSgemm");
    (void)hipblasDestroy(handle);
    return found;
  }

  template <class... Arguments>
  void launch(const char *name, Block grid, Block block, Arguments... arguments) {
    void *addresses[] = {&arguments...};
    const hipFunction_t function = (kernel_ == name ? other_ : right_).function(name);
    check(hipModuleLaunchKernel(function, grid.x, grid.y, 1, block.x, block.y, 1, 0, nullptr, addresses, nullptr),
          name);
    check(hipDeviceSynchronize(), name);
  }
  template <class... Arguments>
  void launch(const char *name, unsigned grid, Block block, Arguments... arguments) {
    launch(name, Block{grid, 1}, block, arguments...);
  }

  Modules right_, other_;
  std::string kernel_;
  std::mt19937 random_{1};
};

}  // namespace

int main(int count, char **words) {
  if (count != 2 && count != 4) {
    std::puts("usage: network RIGHT.co [PLANTED.co KERNEL]");
    return 2;
  }
  const double total = Network(words[1], count == 4 ? words[2] : nullptr, count == 4 ? words[3] : nullptr).run();
  std::printf("the probabilities add up to %.4f\n", total);
}
