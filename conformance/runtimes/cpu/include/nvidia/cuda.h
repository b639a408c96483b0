// CUDA's driver header, for the host: what device code may see of it.
#pragma once
#pragma GCC system_header

#ifndef CUDA_VERSION
#define CUDA_VERSION 13000
#endif

typedef struct CUstream_st *CUstream;
