#include "module.h"

#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <numeric>
#include <utility>

#include "image.h"
#include "memory.h"

namespace simt {
namespace {

// Modules resolve simt_barrier and the rest in the global scope, but this library may have been loaded with RTLD_LOCAL.
// False: modules would bind to another library.
bool make_self_global() {
  static const bool found = [] {
    Dl_info info{};
    if (dladdr(reinterpret_cast<const void *>(&make_self_global), &info) && info.dli_fname)
      dlopen(info.dli_fname, RTLD_NOW | RTLD_NOLOAD | RTLD_GLOBAL);
    return dlsym(RTLD_DEFAULT, "simt_barrier") == reinterpret_cast<void *>(&simt_barrier);
  }();
  return found;
}

bool read_file(const char *path, std::string &content) {
  const FileDescriptor file(open(path, O_RDONLY | O_CLOEXEC));
  if (file.get() < 0) return false;
  char part[64 * 1024];
  for (;;) {
    const ssize_t n = read(file.get(), part, sizeof part);
    if (n <= 0) return n == 0;
    content.append(part, static_cast<std::size_t>(n));
  }
}

std::size_t thread_local_bytes_of(void *handle) {
  struct Query {
    ElfW(Addr) base;
    std::size_t bytes;
  } query{};
  link_map *map = nullptr;
  if (dlinfo(handle, RTLD_DI_LINKMAP, &map) != 0) return 0;
  query.base = map->l_addr;
  dl_iterate_phdr(
      [](dl_phdr_info *info, std::size_t, void *data) {
        auto &q = *static_cast<Query *>(data);
        if (info->dlpi_addr != q.base) return 0;
        for (unsigned i = 0; i < info->dlpi_phnum; ++i)
          if (info->dlpi_phdr[i].p_type == PT_TLS) q.bytes = info->dlpi_phdr[i].p_memsz;
        return 1;
      },
      &query);
  return query.bytes;
}

void append_quoted(std::string &out, const char *text) {
  out += '"';
  for (const char *p = text ? text : ""; *p; ++p) {
    const auto c = static_cast<unsigned char>(*p);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += *p;
    } else if (c < 0x20) {
      char escape[8];
      std::snprintf(escape, sizeof escape, "\\u%04x", c);
      out += escape;
    } else {
      out += *p;
    }
  }
  out += '"';
}

}  // namespace

Error Module::load(FileDescriptor file, std::uint64_t hash, std::unique_ptr<Module> &out) {
  static std::atomic<std::uint64_t> serials{0};
  if (!make_self_global())
    return fail(NotSupported,
                "module load: another library of this process exports simt_barrier: a second copy of the "
                "cpu runtime? Load one only");
  std::unique_ptr<Module> module(new Module);
  module->path_ = "/proc/self/fd/" + std::to_string(file.get());
  module->file_ = std::move(file);  // stays open: the dynamic loader identifies modules by this path
  module->hash_ = hash;
  module->serial_ = ++serials;
  module->handle_ = dlopen(module->path_.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!module->handle_) {
    std::string why = dlerror();
    // The file's number differs from run to run.
    if (why.compare(0, module->path_.size(), module->path_) == 0) why = "the image" + why.substr(module->path_.size());
    return fail(InvalidImage, "module load: %s", why.c_str());
  }

  const auto *version = static_cast<const unsigned *>(dlsym(module->handle_, "simt_abi_version"));
  const auto *rows = static_cast<const simt_kernel *>(dlsym(module->handle_, "simt_kernels"));
  const auto *count = static_cast<const unsigned *>(dlsym(module->handle_, "simt_kernel_count"));
  if (!version || !rows || !count)
    return fail(InvalidImage,
                "module load: the image has no kernel table; compile it with the cpu runtime's libhiprtc");
  if (*version != SIMT_ABI_VERSION)
    return fail(InvalidImage,
                "module load: the image was compiled for version %u of the cpu runtime, this is %d; "
                "compile it again",
                *version, SIMT_ABI_VERSION);
  module->read_kernels(rows, *count);
  module->thread_local_bytes_ = thread_local_bytes_of(module->handle_);
  module->write_json(rows, *count);
  out = std::move(module);
  return Success;
}

Module::~Module() {
  memory().remove_globals(globals_);
  if (!handle_) return;
  dlclose(handle_);
  // A module that the dynamic loader keeps (unique symbols) keeps its path too, which must not be reused.
  if (void *kept = dlopen(path_.c_str(), RTLD_NOW | RTLD_NOLOAD)) {
    dlclose(kept);
    file_.release();
  }
}

void Module::read_kernels(const simt_kernel *rows, unsigned count) {
  const auto number = [this](const char *name) {
    const auto *found = static_cast<const unsigned long *>(dlsym(handle_, name));
    return found ? *found : 0;
  };
  rows_ = rows;
  shared_variables_ = static_cast<const simt_shared_variable *>(dlsym(handle_, "simt_shared_variables"));
  shared_variable_count_ = number("simt_shared_variable_count");
  shared_uses_ = static_cast<const simt_shared_use *>(dlsym(handle_, "simt_shared_uses"));
  shared_use_count_ = number("simt_shared_use_count");
  all_variables_.resize(shared_variable_count_);
  std::iota(all_variables_.begin(), all_variables_.end(), 0u);
  all_variables_use_ = {nullptr, all_variables_.data(), shared_variable_count_};
  for (unsigned i = 0; i < count; ++i)
    if (rows[i].run) functions_.emplace(rows[i].name, Function{&rows[i], this, use_of(rows[i]), rows[i].most_threads});
  const auto *launched = static_cast<const simt_launched_kernel *>(dlsym(handle_, "simt_launched"));
  for (unsigned long i = 0; launched && i < number("simt_launched_count"); ++i)
    functions_.emplace(launched[i].symbol, Function{launched[i].row, this, use_of(*launched[i].row), 0});
}

const simt_shared_use *Module::use_of(const simt_kernel &row) const {
  const simt_shared_use *end = shared_uses_ + shared_use_count_;
  const simt_shared_use *use = std::find_if(shared_uses_, end, [&](const auto &u) { return u.run == row.run; });
  if (use != end) return use;
  return shared_variable_count_ ? &all_variables_use_ : nullptr;
}

const Function *Module::launched(const simt_kernel *row) {
  const auto known = std::find_if(functions_.begin(), functions_.end(),
                                  [&](const auto &one) { return one.second.kernel->run == row->run; });
  // The table knows how large its blocks may be; a template's kernel is not in it.
  const unsigned long most_threads = known == functions_.end() ? 0 : known->second.most_threads;
  return &launched_.emplace(row, Function{row, this, use_of(*row), most_threads}).first->second;
}

std::string Module::image() const {
  std::string content;
  return read_file(path_.c_str(), content) ? content : "";
}

std::size_t Module::offset_of(const void *pc) const {
  Dl_info of_code{}, of_table{};
  if (!pc || !dladdr(pc, &of_code) || !dladdr(rows_, &of_table) || of_code.dli_fbase != of_table.dli_fbase) return 0;
  return static_cast<std::size_t>(static_cast<const char *>(pc) - static_cast<const char *>(of_code.dli_fbase));
}

void *Module::symbol(const char *name) const { return dlsym(handle_, name); }

const Function *Module::function(std::string_view name) const {
  const auto it = functions_.find(name);
  return it == functions_.end() ? nullptr : &it->second;
}

Error Module::global(const char *name, void **address, std::size_t *bytes) {
  void *p = dlsym(handle_, name);
  Dl_info info{};
  ElfW(Sym) *symbol = nullptr;
  if (!p || !dladdr1(p, &info, reinterpret_cast<void **>(&symbol), RTLD_DL_SYMENT) || !symbol ||
      ELF64_ST_TYPE(symbol->st_info) != STT_OBJECT)
    return fail(NotFound, "the module has no global variable '%s'", name);
  memory().add_global(p, symbol->st_size, name);
  globals_.push_back(p);
  if (address) *address = p;
  if (bytes) *bytes = symbol->st_size;
  return Success;
}

std::size_t Function::static_shared_bytes() const {
  if (!module->compiled_by_clang()) return module->thread_local_bytes();
  std::size_t bytes = 0;
  for (unsigned long i = 0; shared && i < shared->count; ++i)
    bytes += module->shared_variables()[shared->variables[i]].bytes;
  return bytes;
}

char *Module::touch_thread_local() const {
  if (!thread_local_bytes_) return nullptr;
  if (auto touch = reinterpret_cast<void (*)()>(dlsym(handle_, "simt_touch"))) touch();
  void *base = nullptr;
  return dlinfo(handle_, RTLD_DI_TLS_DATA, &base) == 0 ? static_cast<char *>(base) : nullptr;
}

void Module::write_json(const simt_kernel *rows, unsigned count) {
  json_ = "[";
  for (unsigned i = 0; i < count; ++i) {
    const simt_kernel &k = rows[i];
    if (!k.run) continue;
    json_ += json_.size() > 1 ? ", {\"name\": " : "{\"name\": ";
    append_quoted(json_, k.name);
    json_ += ", \"file\": ";
    append_quoted(json_, k.file);
    json_ += ", \"line\": " + std::to_string(k.line) + ", \"params\": [";
    for (unsigned a = 0; a < k.nargs; ++a) {
      json_ += a ? ", {\"type\": " : "{\"type\": ";
      append_quoted(json_, k.types[a]);
      json_ += ", \"size\": " + std::to_string(k.sizes[a]) + ", \"align\": " + std::to_string(k.aligns[a]) + "}";
    }
    json_ += "]}";
  }
  json_ += "]";
}

Modules &modules() {
  static Modules &instance = *new Modules;  // never destroyed: kernels may run in other threads at exit
  return instance;
}

Error Modules::load(const void *image, Module **out) {
  if (!out) return fail(InvalidValue, "module load: the output pointer for the module is null");
  *out = nullptr;
  FileDescriptor file;
  std::uint64_t hash = 0;
  if (const Error error = copy_image(image, file, hash)) return error;
  std::unique_ptr<Module> module;
  if (const Error error = Module::load(std::move(file), hash, module)) return error;
  const std::lock_guard lock(mutex_);
  ++total_;
  for (const auto &[handle, other] : loaded_)
    if (other->hash() == hash) {
      ++duplicates_;
      break;
    }
  *out = module.get();
  for (const auto &[name, function] : module->functions()) functions_.insert(&function);
  loaded_.emplace(module.get(), std::move(module));
  return Success;
}

Error Modules::load_file(const char *path, Module **out) {
  if (!path) return fail(InvalidValue, "module load: the path is null");
  std::string image;
  if (!read_file(path, image)) return fail(FileNotFound, "module load: cannot read %s: %s", path, std::strerror(errno));
  image.resize(image.size() + sizeof(Elf64_Ehdr));  // a short file is an invalid image, not a short read
  return load(image.data(), out);
}

Error Modules::unload(Module *module) {
  std::unique_ptr<Module> unloaded;
  const std::lock_guard lock(mutex_);
  const auto it = loaded_.find(module);
  if (it == loaded_.end())
    return fail(InvalidHandle, "module unload: %s is not a loaded module",
                pointer_text(static_cast<void *>(module)).c_str());
  unloaded = std::move(it->second);
  for (const auto &[name, function] : unloaded->functions()) functions_.erase(&function);
  loaded_.erase(it);
  return Success;
}

Module *Modules::find(const void *handle) {
  const std::lock_guard lock(mutex_);
  const auto it = loaded_.find(handle);
  return it == loaded_.end() ? nullptr : it->second.get();
}

const Function *Modules::launched(const simt_kernel *rows, const simt_kernel *row) {
  const std::lock_guard lock(mutex_);
  for (const auto &[handle, module] : loaded_)
    if (module->rows() == rows) return module->launched(row);
  return nullptr;
}

const Function *Modules::function(const void *handle) {
  const std::lock_guard lock(mutex_);
  return functions_.count(handle) ? static_cast<const Function *>(handle) : nullptr;
}

void Modules::counts(unsigned long *total, unsigned long *duplicates) {
  const std::lock_guard lock(mutex_);
  if (total) *total = total_;
  if (duplicates) *duplicates = duplicates_;
}

void Modules::unload_all() {
  std::map<const void *, std::unique_ptr<Module>> unloaded;
  const std::lock_guard lock(mutex_);
  unloaded.swap(loaded_);
  functions_.clear();
}

}  // namespace simt
