#pragma once

// Marks what libtrireme.so exports. Everything else is hidden.
#if defined(TRIREME_STATIC)
#define TRIREME_API
#else
#define TRIREME_API __attribute__((visibility("default")))
#endif
