#pragma once

// All of Trireme's public interface.

#include "trireme/attention.h"
#include "trireme/checkpoint.h"
#include "trireme/convolution.h"
#include "trireme/data.h"
#include "trireme/error.h"
#include "trireme/functions.h"
#include "trireme/image.h"
#include "trireme/inspect.h"
#include "trireme/job.h"
#include "trireme/metrics.h"
#include "trireme/models.h"
#include "trireme/nn.h"
#include "trireme/ops.h"
#include "trireme/optimizer.h"
#include "trireme/program.h"
#include "trireme/saved_model.h"
#include "trireme/session.h"
#include "trireme/tensor.h"
#include "trireme/trainer.h"
