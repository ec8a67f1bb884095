#include "kernel_ir/kernel.h"

#include <gtest/gtest.h>
