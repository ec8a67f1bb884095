#pragma once

#include "ir/program.h"

namespace trireme::transforms {

// Chooses the layout of images: ops with a `layout` attribute (convolutions, pooling) work on
// [batch, height, width, channels], those of volumes alike, and the transposes this needs are pushed through the elementwise
// ops and reductions between them until they meet and vanish. What is left are the borders of a
// chain of convolutions. Measured as fast as the library's blocked layouts, and any kernel reads it
// without knowing of blocks; see docs/explanation/architecture.md.
void use_channels_last(ir::Program& program);

}  // namespace trireme::transforms
