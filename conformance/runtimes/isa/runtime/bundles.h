// Clang's offload bundles: code objects for several targets in one, compressed or not.
#pragma once

#include <string>
#include <string_view>

#include "error.h"

namespace isa {

// Whether a bundle begins with `head`, of which the first bytes do.
bool is_bundle(std::string_view head);

// Sets `code` to the code object for `processor` (gfx942) in `bundle`; else returns the error, with the reason in
// `why`. A bundle in memory is as long as it says; one of a file has `bytes`.
simt::Error code_in_bundle(const char *bundle, const std::string &processor, std::string &code, std::string &why,
                           std::size_t bytes = ~std::size_t{0});

}  // namespace isa
