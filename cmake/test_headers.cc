// Its target holds the precompiled headers of all tests (TriremeRoom.cmake); the program does
// nothing.
int main() {}
