#pragma once

// Marks the symbols that libtrireme.so exports; all others are hidden. The static library consists
// of the same objects. To link it into a shared library without exporting its symbols, pass
// -Wl,--exclude-libs,ALL.
#define TRIREME_API __attribute__((visibility("default")))
