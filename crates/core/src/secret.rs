//! Values that must not be shown, and how to recognise one.
