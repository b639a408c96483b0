// NVRTC has built in what device code asks of this header.
#pragma once
