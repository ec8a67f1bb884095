// Names these ops: stop_gradient, when_training

#include "transforms/specialise.h"

#include "transforms/rewrite.h"

namespace trireme::transforms {

void specialise(ir::Program& program, bool training) {
  rewrite(program, [training](ir::Builder&, ir::Op& op) -> Replacement {
    if (op.name() == "when_training") return {{op.operands[training ? 0 : 1]}};
    if (op.name() == "stop_gradient") return {{op.operands[0]}};
    return std::nullopt;
  });
}

}  // namespace trireme::transforms
