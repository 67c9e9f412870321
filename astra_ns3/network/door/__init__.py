"""The one door to cppyy: loads the native library, opens its session, and lets C++ call back; all backends share it."""
