/* The old name of trireme/c.h. */
#ifndef TRIREME_H
#define TRIREME_H

#pragma GCC warning "trireme.h is the old name of this header; include trireme/c.h"
#include "trireme/c.h"

#endif
