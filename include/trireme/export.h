#pragma once

// Marks what libtrireme.so exports. Everything else is hidden. The same objects make the static library:
// who links it into a shared one and wants to export nothing of it says -Wl,--exclude-libs,ALL.
#define TRIREME_API __attribute__((visibility("default")))
