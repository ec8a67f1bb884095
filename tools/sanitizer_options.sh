# Sourced in the checkout's root by whatever runs tests or fuzz targets under sanitizers: what these
# are to look for, and what to leave out.
export TSAN_OPTIONS="suppressions=$PWD/tests/tsan.supp halt_on_error=1 history_size=7"
export ASAN_OPTIONS="detect_stack_use_after_return=1 strict_string_checks=1"
export LSAN_OPTIONS="suppressions=$PWD/tests/lsan.supp"
export UBSAN_OPTIONS="print_stacktrace=1"
