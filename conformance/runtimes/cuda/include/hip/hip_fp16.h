// CUDA's header of the same content; it is the toolkit's.
#pragma once
#include <cuda_fp16.h>
