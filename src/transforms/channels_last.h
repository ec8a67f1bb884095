#pragma once

#include "ir/program.h"

namespace trireme::transforms {

// Chooses the layout of images. Ops with a `layout` attribute (convolutions, pooling) work on
// [batch, height, width, channels], and on the same order for volumes. The necessary transposes are
// pushed through the elementwise ops and reductions between these ops until they cancel. Only
// transposes at the ends of a chain of convolutions remain. In measurements this is as fast as the
// library's blocked layouts, and every kernel can read it; see docs/explanation/architecture.md.
void use_channels_last(ir::Program& program);

}  // namespace trireme::transforms
